// Backoff for repairing an object that another user keeps changing back. Pure.

const freeHeals = 3;
const spanMs = 600_000;
const firstRestMs = 5000;
const longestRestMs = 300_000;

/** The pause after `heals` (times in ms, oldest first): none at first, then longer each time. Heals of the future are from before the clock
 *  was set back, and do not count. */
export function repairPauseMs(heals: readonly number[], nowMs: number): number {
  const recent = heals.filter((atMs) => atMs <= nowMs && nowMs - atMs < spanMs);
  const last = recent.at(-1);
  if (last === undefined || recent.length < freeHeals) return 0;
  const rest = Math.min(longestRestMs, firstRestMs * 2 ** (recent.length - freeHeals));
  return Math.max(0, last + rest - nowMs);
}
