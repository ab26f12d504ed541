// A clock for pauses and leases: never set back, and it counts the time for which the machine was suspended.

/** A smaller difference is that of two readings, or of a clock that is adjusted slowly. */
const leastJumpMs = 100;

/** `uptimeMs`: the monotonic clock, which stands still while the machine is suspended; `wallMs` shows how long that was. */
export function steadyClock(wallMs: () => number, uptimeMs: () => number): () => number {
  let aheadMs = wallMs() - uptimeMs();
  let suspendedMs = 0;
  return () => {
    const upMs = uptimeMs();
    const nowAheadMs = wallMs() - upMs;
    if (nowAheadMs - aheadMs > leastJumpMs) suspendedMs += nowAheadMs - aheadMs;
    aheadMs = nowAheadMs;
    return upMs + suspendedMs;
  };
}
