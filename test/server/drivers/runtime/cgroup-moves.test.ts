// Keeping the kernel ready for cgroup moves: it ends by itself, moves nothing, and is optional.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readCgroupTree } from '../../../../server/drivers/runtime/cgroup/cgroup.ts';
import { GroupMoves } from '../../../../server/drivers/runtime/cgroup/group-moves.ts';
import { until } from '../../../support/until.ts';

const missing =
  process.getuid?.() === 0 && readCgroupTree().roots.size > 0 ? undefined : 'it needs root and control groups';
if (missing !== undefined) console.log(`skipped: moves between control groups: ${missing}`);

/** Cgroup files that this process has open. */
const held = (): readonly string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.endsWith('/cgroup.procs') ? [path] : [];
    } catch {
      return [];
    }
  });
const groups = (): string => readFileSync('/proc/self/cgroup', 'utf8');

test.skipIf(missing !== undefined)(
  'keeping ready writes for a short time, one write at a time, and moves nothing',
  async () => {
    const before = groups();
    const end = Date.now() + 20_000;
    const moves = new GroupMoves(readCgroupTree());
    // Polled repeatedly: on a busy machine the moment may be over before the first poll.
    const isHeld = async (): Promise<boolean> => {
      moves.expect();
      await setImmediate();
      const count = held().length;
      expect(count).toBeLessThan(2);
      return count === 1 || (Date.now() < end && isHeld());
    };
    expect(await isHeld()).toBe(true);
    await until(() => held().length === 0);
    expect(groups()).toBe(before);
    expect(await isHeld()).toBe(true);
    moves.close();
    await until(() => held().length === 0);
  },
);

test('a host without such files, or that refuses, changes nothing', async () => {
  for (const roots of [new Map<string, string>(), new Map([['memory', '/no/such/place']])]) {
    const moves = new GroupMoves({ version: 1, roots });
    moves.expect();
    moves.expect();
    moves.close();
  }
  await until(() => held().length === 0);
});
