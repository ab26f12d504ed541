// Time as a dependency: product code uses a Clock, so that tests control time.

export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** RFC 3339 in UTC with nanoseconds, strictly increasing within a process. */
  timestamp(): string;
}

/** The clock of this machine. Nanoseconds come from the monotonic clock, anchored once. */
export function systemClock(): Clock {
  const anchor = BigInt(Date.now()) * 1_000_000n - process.hrtime.bigint();
  return { nowMs: () => Date.now(), timestamp: () => renderNanos(anchor + process.hrtime.bigint()) };
}

export function renderNanos(nanos: bigint): string {
  const seconds = nanos / 1_000_000_000n;
  const rest = nanos % 1_000_000_000n;
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return `${whole}.${rest.toString().padStart(9, '0')}Z`;
}

/** Whether less than `spanMs` has passed since then. False after the clock was set back: nobody knows how long it was. Pure. */
export const isWithin = (spanMs: number, sinceMs: number, nowMs: number): boolean =>
  nowMs >= sinceMs && nowMs - sinceMs < spanMs;
