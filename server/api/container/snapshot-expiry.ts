// Expiry expressions of snapshots (`2w 1d`): parses them and computes the time. Pure; the caller passes the current time.

const units = { M: 'minutes', H: 'hours', d: 'days', w: 'weeks', m: 'months', y: 'years' } as const;
type Unit = keyof typeof units;

export type Expiry = Readonly<Partial<Record<(typeof units)[Unit], number>>>;

/** Space-separated numbers with a unit, each unit at most once, any order (spec part 8). Undefined for any other text. */
export function parseExpiry(text: string): Expiry | undefined {
  const expiry: Partial<Record<(typeof units)[Unit], number>> = {};
  for (const word of text.trim().split(/ +/)) {
    const match = /^([0-9]{1,6})([MHdwmy])$/.exec(word);
    if (match === null) return undefined;
    const unit = units[match[2] as Unit];
    if (expiry[unit] !== undefined) return undefined;
    expiry[unit] = Number(match[1]);
  }
  return expiry;
}

/** Calendar years and months first, then days, then the time of day, all in UTC. Undefined beyond the range of a date. */
export function applyExpiry(expiry: Expiry, from: Date): Date | undefined {
  const date = new Date(from);
  date.setUTCFullYear(date.getUTCFullYear() + (expiry.years ?? 0), date.getUTCMonth() + (expiry.months ?? 0));
  date.setUTCDate(date.getUTCDate() + (expiry.days ?? 0) + 7 * (expiry.weeks ?? 0));
  const minutes = (expiry.minutes ?? 0) + 60 * (expiry.hours ?? 0);
  const result = new Date(date.getTime() + minutes * 60_000);
  return Number.isNaN(result.getTime()) || result.getUTCFullYear() > 9999 ? undefined : result;
}
