// How often a command that stays looks at everything.
import { describe, expect, test } from 'vitest';
import { pacedIntervalMs, timesOf } from '../../../reconciler/cli/watch/watch-times.ts';

const usual = timesOf({}, 60_000);

describe('the time between two looks at everything', () => {
  test('is the default for looks that cost little', () => {
    for (const cpuMs of [0, 10, 1_200]) expect(pacedIntervalMs(usual, cpuMs)).toBe(60_000);
  });

  test('grows so that looks take at most 2 % of a processor', () => {
    expect(pacedIntervalMs(usual, 2_800)).toBe(140_000);
  });

  test('is five minutes at most', () => {
    expect(pacedIntervalMs(usual, 60_000)).toBe(300_000);
    expect(pacedIntervalMs(timesOf({}, 600_000), 60_000)).toBe(600_000);
  });

  test('is what --interval says, whatever a look costs', () => {
    expect(pacedIntervalMs(timesOf({ interval: '10s' }, 60_000), 60_000)).toBe(10_000);
  });

  test('is at least a second', () => {
    expect(() => timesOf({ interval: '999ms' }, 60_000)).toThrow(/--interval must be at least 1s/);
  });
});
