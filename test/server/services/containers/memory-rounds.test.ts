// Rounds of copying memory: what the keys ask for, when it is enough, and the rounds on a simulated container.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { copyMemory, isEnough, roundSettings } from '../../../../server/services/migration/memory-rounds.ts';

const never = new AbortController().signal;

describe('memory in rounds', () => {
  it.each([
    [{}, undefined],
    [{ 'migration.incremental.memory': 'false' }, undefined],
    [{ 'migration.incremental.memory': 'yes' }, { goal: 70, iterations: 10 }],
    [
      {
        'migration.incremental.memory': 'true',
        'migration.incremental.memory.goal': '95',
        'migration.incremental.memory.iterations': '3',
      },
      { goal: 95, iterations: 3 },
    ],
    [
      { 'migration.incremental.memory': '1', 'migration.incremental.memory.goal': '' },
      { goal: 70, iterations: 10 },
    ],
  ])('of the keys %j come the settings %j', (config, settings) => {
    expect(roundSettings(config)).toEqual(settings);
  });

  it.each([
    [[], false],
    [[0], false],
    [[0, 69], false],
    [[0, 70], true],
    [[0, 20, 40], false],
    [[0, 20, 40, 40], true],
    [[0, 50, 40], true],
    [[0, 1, 2, 3, 4], true],
  ])('after the percentages %j of at most 5 rounds to 70: enough is %j', (percentages, enough) => {
    expect(isEnough({ goal: 70, iterations: 5 }, percentages)).toBe(enough);
  });

  it('no rounds at all make no directory', async () => {
    const none = { prepare: () => Promise.reject(new Error('not to be called')) };
    expect(await copyMemory(none, 'c', '/nowhere', { goal: 70, iterations: 0 }, () => {}, never)).toBeUndefined();
  });

  it('each goes on from the one before, and the last is what the checkpoint goes on from', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'gantry-rounds-'));
    try {
      const asked: (string | undefined)[] = [];
      const told: string[] = [];
      const answers = [0, 40, 80];
      const stateful = {
        prepare: (_name: string, options: { readonly dir: string; readonly previous?: string }) => {
          asked.push(options.previous);
          return Promise.resolve({ unchangedPercent: answers[asked.length - 1] ?? 100 });
        },
      };
      const last = await copyMemory(stateful, 'c', dir, { goal: 70, iterations: 9 }, (text) => told.push(text), never);
      expect(last).toBe(join(dir, 'round-2'));
      expect(asked).toEqual([undefined, join(dir, 'round-0'), join(dir, 'round-1')]);
      expect((await readdir(dir)).toSorted()).toEqual(['round-0', 'round-1', 'round-2']);
      expect(told.at(-1)).toBe('round 3: 80% of memory in place');
      const failing = { prepare: () => Promise.reject(new Error('no memory tracking')) };
      await rm(join(dir, 'round-0'), { recursive: true });
      await expect(copyMemory(failing, 'c', dir, { goal: 70, iterations: 2 }, () => {}, never)).rejects.toThrow(
        'tracking',
      );
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });
});
