// Rounds of copying memory: their settings in the config, when they suffice, and their directories.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  isEnough,
  memoryRounds,
  roundSettings,
} from '../../../../../server/services/transfer/migration/memory-rounds.ts';

const never = new AbortController().signal;

describe('memory in rounds', () => {
  test.each([
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
  ])('the keys %j give the settings %j', (config, settings) => {
    expect(roundSettings(config)).toEqual(settings);
  });

  test.each([
    [[], false],
    [[0], false],
    [[0, 69], false],
    [[0, 70], true],
    [[0, 20, 40], false],
    [[0, 20, 40, 40], true],
    [[0, 50, 40], true],
    [[0, 1, 2, 3, 4], true],
  ])('after the percentages %j of at most 5 rounds to 70 the decision to stop is %j', (percentages, enough) => {
    expect(isEnough({ goal: 70, iterations: 5 }, percentages)).toBe(enough);
  });

  const config = { 'migration.incremental.memory': 'true' };
  const quiet = { warn: () => {} };
  const volume = (): Promise<string> => mkdtemp(join(tmpdir(), 'gantry-rounds-'));

  test.each([{}, { ...config, 'migration.incremental.memory.iterations': '0' }])(
    'the config %j disables them',
    async (none) => {
      const checkpoints = { prepare: () => Promise.reject(new Error('not to be called')) };
      const rounds = memoryRounds(checkpoints, { name: 'c', volumeDir: '/nowhere', config: none }, quiet);
      expect(await rounds.copy(never)).toBeUndefined();
    },
  );

  test('each round builds on the one before, and the checkpoint on the last', async () => {
    const volumeDir = await volume();
    const asked: (string | undefined)[] = [];
    const answers = [0, 40, 80];
    const checkpoints = {
      prepare: (_name: string, { previous }: { readonly dir: string; readonly previous?: string }) => {
        asked.push(previous);
        return Promise.resolve({ unchangedPercent: answers[asked.length - 1] ?? 100 });
      },
    };
    const rounds = memoryRounds(checkpoints, { name: 'c', volumeDir, config }, quiet);
    const round = (number: number): string => join(volumeDir, `state-round-${number}`);
    expect(await rounds.copy(never)).toBe(round(2));
    expect(asked).toEqual([undefined, round(0), round(1)]);
    expect(await readdir(volumeDir)).toHaveLength(3);
    await rounds.remove();
    expect(await readdir(volumeDir)).toEqual([]);
    await rm(volumeDir, { recursive: true });
  });

  test('a failed round is logged and leaves no directory', async () => {
    const volumeDir = await volume();
    const warnings: string[] = [];
    const checkpoints = { prepare: () => Promise.reject(new Error('no memory tracking')) };
    const log = { warn: (text: string): void => void warnings.push(text) };
    expect(await memoryRounds(checkpoints, { name: 'c', volumeDir, config }, log).copy(never)).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('no memory tracking')]);
    expect(await readdir(volumeDir)).toEqual([]);
    await rm(volumeDir, { recursive: true });
  });
});
