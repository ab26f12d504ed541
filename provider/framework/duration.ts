// Durations as people write them in Terraform: 90s, 5m, 1h30m.

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds; undefined when the text is no duration or is empty. */
export function parseDuration(written: string): number | undefined {
  if (!/^(?:\d{1,9}(?:ms|s|m|h))+$/.test(written)) return undefined;
  let total = 0;
  for (const [, count, unit] of written.matchAll(/(\d+)(ms|s|m|h)/g))
    total += Number(count) * (unitMs[unit ?? ''] ?? 0);
  return total > 0 ? total : undefined;
}

export const durationCheck = (written: string): string | undefined =>
  parseDuration(written) === undefined ? 'must be a duration such as 90s, 5m or 1h30m' : undefined;
