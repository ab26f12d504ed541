// Durations as users write them: `90s`, `5m`, `1h30m`, `2d`, or a number of seconds. Pure.

/** For schemas. */
export const durationPattern = '^(?:[0-9]{1,9}|(?:[0-9]{1,9}(?:ms|s|m|h|d))+)$';

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** In milliseconds; undefined when the text is not a duration. */
export function durationMs(value: string | number): number | undefined {
  if (typeof value === 'number') return value >= 0 && Number.isFinite(value) ? Math.round(value * 1000) : undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const parts = [...value.matchAll(/(\d{1,9})(ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== value) return undefined;
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (unitsMs[unit ?? ''] ?? 0), 0);
}
