// Checks often while a change is likely, rarely at rest, never if there is nothing to check.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Rest, RestlessLoop } from '../../../server/lib/restless-loop.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => vi.useRealTimers());

function loopOf(answers: (n: number) => Rest): { readonly loop: RestlessLoop; readonly looks: () => number } {
  let looks = 0;
  const loop = new RestlessLoop({
    look: () => Promise.resolve(answers((looks += 1))),
    everyMs: { restless: 1_000, settled: 10_000 },
    restlessMs: 5_000,
  });
  return { loop, looks: () => looks };
}

test('it checks at once, often for a while, then rarely, and often again after soon', async () => {
  const { loop, looks } = loopOf(() => 'settled');
  loop.soon();
  expect(looks()).toBe(1);
  await vi.advanceTimersByTimeAsync(5_500);
  expect(looks()).toBe(6);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(looks()).toBe(9);
  loop.soon();
  loop.soon();
  expect(looks()).toBe(10);
  await vi.advanceTimersByTimeAsync(3_500);
  expect(looks()).toBe(13);
  await loop.stop();
});

test('it keeps checking often while the result says so', async () => {
  const { loop, looks } = loopOf((n) => (n < 30 ? 'restless' : 'settled'));
  loop.soon();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(looks()).toBeGreaterThanOrEqual(32);
  expect(looks()).toBeLessThan(35);
  await loop.stop();
});

test('it checks soon again if soon is called during a check that lasts longer than the time for frequent checks', async () => {
  let looks = 0;
  const loop = new RestlessLoop({
    look: async () => {
      looks += 1;
      await new Promise((resolve) => setTimeout(resolve, 8_000));
      return 'settled';
    },
    everyMs: { restless: 1_000, settled: 100_000 },
    restlessMs: 5_000,
  });
  loop.soon();
  await vi.advanceTimersByTimeAsync(1_000);
  loop.soon();
  await vi.advanceTimersByTimeAsync(8_500);
  expect(looks).toBe(2);
  await vi.advanceTimersByTimeAsync(50_000);
  expect(looks).toBe(2);
  await loop.stop();
});

test('it ends if there is nothing to check, and when it is stopped', async () => {
  const over = loopOf(() => 'over');
  over.loop.soon();
  await vi.advanceTimersByTimeAsync(60_000);
  over.loop.soon();
  expect(over.looks()).toBe(1);
  const stopped = loopOf(() => 'restless');
  stopped.loop.soon();
  await stopped.loop.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(stopped.looks()).toBe(1);
});
