// How often a running container is copied before it stops.
import { expect, test } from 'vitest';
import { copyUntilShort } from '../../../../reconciler/cli/verbs/moving/copy-passes.ts';

/** The passes that are made when they take so many seconds each. */
async function passesOf(seconds: readonly number[]): Promise<number> {
  let [passes, now] = [0, 0];
  const copy = async (): Promise<void> => {
    now += (seconds[passes] ?? 0) * 1000;
    passes += 1;
  };
  await copyUntilShort(copy, () => now);
  return passes;
}

test.each([
  ['one that is short at once', [4], 1],
  ['passes that become short', [300, 40, 3, 1], 3],
  ['passes that stay long', [300, 290, 3], 2],
  ['passes that only halve', [1000, 490, 240, 110, 50, 20], 5],
])('a running container is copied until a pass is short: %s', async (_what, seconds, passes) => {
  expect(await passesOf(seconds)).toBe(passes);
});

test('a pass that fails ends the copy', async () => {
  const fails = (): Promise<void> => Promise.reject(new Error('gone'));
  await expect(copyUntilShort(fails, () => 0)).rejects.toThrow('gone');
});
