// Daemon clocks whose minutes tests control: a frozen one, and a running one.
import { renderNanos, systemClock, type Clock } from '../../../server/lib/clock.ts';
import type { MinuteTimer } from '../../../server/services/shared/scheduler.ts';

export interface TestMinutes {
  readonly time: { readonly clock: Clock; readonly minutes: MinuteTimer };
  /** Moves the clock on and makes the daemon run its tasks of the minute. */
  pass(ms: number): void;
  now(): number;
}

export function testMinutes(start: string): TestMinutes {
  let now = Date.parse(start);
  let stamp = BigInt(now) * 1_000_000n;
  const ticks = new Set<() => void>();
  return {
    time: {
      clock: {
        nowMs: () => now,
        timestamp: () => {
          const wanted = BigInt(now) * 1_000_000n;
          stamp = wanted > stamp ? wanted : stamp + 1n;
          return renderNanos(stamp);
        },
      },
      minutes: (tick) => {
        ticks.add(tick);
        return { stop: () => ticks.delete(tick) };
      },
    },
    pass(ms) {
      now += ms;
      for (const tick of ticks) tick();
    },
    now: () => now,
  };
}

/** A running clock, ahead of this machine's by the passed time. */
export function runningMinutes(): TestMinutes {
  let aheadMs = 0;
  const real = systemClock();
  const nowMs = (): number => real.nowMs() + aheadMs;
  const ticks = new Set<() => void>();
  return {
    time: {
      clock: {
        nowMs,
        timestamp: () =>
          renderNanos(
            BigInt(Date.parse(real.timestamp()) + aheadMs) * 1_000_000n + (process.hrtime.bigint() % 1_000_000n),
          ),
      },
      minutes: (tick) => {
        ticks.add(tick);
        return { stop: () => ticks.delete(tick) };
      },
    },
    pass(ms) {
      aheadMs += ms;
      for (const tick of ticks) tick();
    },
    now: nowMs,
  };
}
