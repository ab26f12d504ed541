// A manually advanced lease clock.
import type { LeaseClock } from '../../../server/store/leases.ts';

export interface ScriptedClock extends LeaseClock {
  /** Time passes and every timer fires when due. */
  advance(ms: number): void;
  /** Time passes while nothing runs (a stopped process); timers fire once, late. */
  stall(ms: number): void;
}

export function scriptedClock(): ScriptedClock {
  let nowMs = 0;
  const timers = new Set<{ everyMs: number; dueMs: number; tick: () => void }>();

  const fireDue = (): void => {
    for (const timer of timers) {
      if (timer.dueMs > nowMs) continue;
      timer.dueMs = nowMs + timer.everyMs;
      timer.tick();
    }
  };

  return {
    nowMs: () => nowMs,
    every(ms, tick) {
      const timer = { everyMs: ms, dueMs: nowMs + ms, tick };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance(ms) {
      const endMs = nowMs + ms;
      while (nowMs < endMs) {
        nowMs = Math.min(endMs, ...[...timers].map(({ dueMs }) => Math.max(dueMs, nowMs + 1)));
        fireDue();
      }
    },
    stall(ms) {
      nowMs += ms;
      fireDue();
    },
  };
}
