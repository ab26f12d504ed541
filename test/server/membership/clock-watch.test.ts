// A member whose clock differs from the others' reports it; one other member with a wrong clock does not cause a report.
import { expect, test } from 'vitest';
import { ClockWatch, clockProblem } from '../../../server/membership/clock-watch.ts';
import type { Member } from '../../../server/membership/members.ts';

const minute = 60_000;

test('a clock that is ten minutes wrong is reported, one that differs by seconds is not', () => {
  expect(clockProblem([10 * minute, 10 * minute - 900])).toMatch(/is (599|600) s ahead of those of other members/);
  expect(clockProblem([-10 * minute])).toContain('is 600 s behind');
  expect(clockProblem([2_000, -1_000, 900])).toBeUndefined();
  expect(clockProblem([])).toBeUndefined();
});

test('one of three others with a wrong clock is outvoted', () => {
  expect(clockProblem([10 * minute, 500, -300])).toBeUndefined();
});

test('one of two others with a wrong clock is outvoted by the other and this member', () => {
  expect(clockProblem([minute, 200])).toBeUndefined();
  expect(clockProblem([minute, minute + 200])).toContain('is 60 s ahead');
});

test('three of many others are asked, silent ones are ignored, and a corrected clock ends the report', async () => {
  const others = Array.from({ length: 50 }, (_, index) => ({ name: `m${index}`, number: index }) as unknown as Member);
  const world = { asked: 0, nowMs: 100 * minute };
  const watch = new ClockWatch({
    others: () => others,
    clockOf: async () => {
      world.asked += 1;
      if (world.asked === 1) throw new Error('it does not answer');
      return 90 * minute;
    },
    nowMs: () => world.nowMs,
    random: () => 0.5,
  });
  await watch.look();
  expect([world.asked, watch.problem]).toEqual([3, expect.stringContaining('600 s ahead')]);
  world.nowMs = 90 * minute;
  await watch.look();
  expect(watch.problem).toBeUndefined();
});
