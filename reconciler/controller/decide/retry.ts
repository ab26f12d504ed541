// The pause before another attempt: it doubles with each failure, and jitter keeps hosts from trying all at once. Pure.

export interface RetryTimes {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** `failures`: in a row, from 1. `random`: 0 to 1; shortens the pause by up to half. */
export function retryPauseMs({ firstMs, longestMs }: RetryTimes, failures: number, random: number): number {
  const whole = Math.min(longestMs, firstMs * 2 ** Math.min(30, Math.max(0, failures - 1)));
  return Math.round(whole / 2 + (whole / 2) * random);
}
