// Durations as users write them: `90s`, `5m`, `1h30m`, `2d`, or a number of seconds. Pure.

/** For schemas. */
export const durationPattern = '^(?:[0-9]{1,9}|(?:[0-9]{1,9}(?:ms|s|m|h|d))+)$';

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A hundred years: a time so far from now is still a date. */
const longestMs = 36_525 * 86_400_000;

const pattern = new RegExp(durationPattern);

/** In milliseconds; undefined when the text is not a duration. A longer one counts as a hundred years. */
export function durationMs(value: string | number): number | undefined {
  if (typeof value === 'number')
    return value >= 0 && Number.isFinite(value) ? Math.min(Math.round(value * 1000), longestMs) : undefined;
  if (!pattern.test(value)) return undefined;
  const parts = [...value.matchAll(/(\d+)(ms|s|m|h|d|$)/g)];
  const sumMs = parts.reduce((sum, [, count, unit]) => sum + Number(count) * (unitsMs[unit ?? ''] ?? 1000), 0);
  return Math.min(sumMs, longestMs);
}
