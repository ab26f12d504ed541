// The interval of full observations of a watching command.
import { describe, expect, test, vi } from 'vitest';
import type { Command } from '../../../reconciler/cli/session/context.ts';
import { endOf, pacedIntervalMs, timesOf } from '../../../reconciler/cli/watch/watch-times.ts';

const usual = timesOf({}, 60_000);

test('--for of a month does not end after a minute', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const end = endOf({ stop: new AbortController().signal } as Command, 30 * 86_400_000);
    vi.advanceTimersByTime(60_000);
    expect(end.aborted).toBe(false);
  } finally {
    vi.useRealTimers();
  }
});

describe('the time between full observations', () => {
  test('The time between full observations is the default while they are cheap', () => {
    for (const cpuMs of [0, 10, 1_200]) expect(pacedIntervalMs(usual, cpuMs)).toBe(60_000);
  });

  test('The time between full observations grows so that they take at most 2 % of a processor', () => {
    expect(pacedIntervalMs(usual, 2_800)).toBe(140_000);
  });

  test('The time between full observations is at most five minutes', () => {
    expect(pacedIntervalMs(usual, 60_000)).toBe(300_000);
    expect(pacedIntervalMs(timesOf({}, 600_000), 60_000)).toBe(600_000);
  });

  test('The time between full observations is the value of --interval at any cost', () => {
    expect(pacedIntervalMs(timesOf({ interval: '10s' }, 60_000), 60_000)).toBe(10_000);
  });

  test('The time between full observations is at least a second', () => {
    expect(() => timesOf({ interval: '999ms' }, 60_000)).toThrow(/--interval must be at least 1s/);
  });
});
