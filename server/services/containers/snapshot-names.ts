// What a snapshot made without a name is called, and when a snapshot expires (real system section 19). Pure.
import { never } from '../../api/common.ts';
import { applyExpiry, parseExpiry } from '../../api/expiry.ts';
import type { Problem } from '../../api/problem.ts';
import { isTimestamp } from '../../api/timestamp.ts';

const expression = /\{\{\s*(.*?)\s*\}\}/g;
const creationDate = /^creation_date(?:\s*\|\s*date\s*:\s*(?:"([^"]*)"|'([^']*)'))?$/;
const defaultLayout = '2006-01-02_15-04-05';

/** The name for a new snapshot, or the rule that the pattern breaks. `%d` becomes one more than the highest in use, from 0;
 *  without it a name that is taken gets `-%d`. */
export function nextSnapshotName(
  pattern: string,
  taken: readonly string[],
  now: Date,
): { readonly name: string } | { readonly rule: string } {
  let broken: string | undefined;
  const rendered = pattern.replace(expression, (whole, inner: string) => {
    const match = creationDate.exec(inner);
    if (match === null) {
      broken = `has ${whole}, where only {{creation_date}} and {{creation_date|date:"${defaultLayout}"}} are known`;
      return '';
    }
    return renderDate(match[1] ?? match[2] ?? defaultLayout, now);
  });
  if (broken !== undefined) return { rule: broken };
  if (rendered.split('%d').length > 2) return { rule: 'has %d more than once' };
  if (rendered.includes('%d')) return { name: numbered(rendered, taken) };
  return { name: taken.includes(rendered) ? numbered(`${rendered}-%d`, taken) : rendered };
}

function numbered(pattern: string, taken: readonly string[]): string {
  const [before = '', after = ''] = pattern.split('%d');
  let next = 0n;
  for (const name of taken) {
    if (name.length < before.length + after.length || !name.startsWith(before) || !name.endsWith(after)) continue;
    const digits = name.slice(before.length, name.length - after.length);
    if (/^[0-9]+$/.test(digits) && BigInt(digits) >= next) next = BigInt(digits) + 1n;
  }
  return `${before}${next}${after}`;
}

/** The layout names its fields by a sample moment: 2006-01-02 15:04:05. In UTC, as all times of the API. */
function renderDate(layout: string, at: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const fields: Readonly<Record<string, string>> = {
    '2006': String(at.getUTCFullYear()),
    '01': two(at.getUTCMonth() + 1),
    '02': two(at.getUTCDate()),
    '15': two(at.getUTCHours()),
    '04': two(at.getUTCMinutes()),
    '05': two(at.getUTCSeconds()),
  };
  return layout.replace(/2006|01|02|15|04|05/g, (field) => fields[field] ?? field);
}

/** What a request says about the end: undefined when it says nothing, `never.expires` for none (spec part 2.7). */
export function sentExpiry(sent: string | null | undefined): { readonly at: string } | Problem | undefined {
  if (sent === undefined || sent === null) return undefined;
  if (sent === '') return { at: never.expires };
  if (!isTimestamp(sent) || new Date(sent).getUTCFullYear() > 9999) {
    return { path: 'expires_at', message: `must be an RFC 3339 timestamp or empty, is ${JSON.stringify(sent)}` };
  }
  const at = new Date(sent);
  // The zero time, in whatever zone it is written.
  return { at: at.getTime() <= Date.parse(never.expires) ? never.expires : withoutMillis(at) };
}

/** `snapshots.expiry` from now on. */
export function configuredExpiry(text: string | undefined, now: Date): string {
  const expiry = text === undefined || text === '' ? undefined : parseExpiry(text);
  const at = expiry === undefined ? undefined : applyExpiry(expiry, now);
  return at === undefined ? never.expires : withoutMillis(at);
}

/** In full seconds. */
export function isExpired(expiresAt: string, now: Date): boolean {
  if (expiresAt === never.expires) return false;
  return Math.floor(Date.parse(expiresAt) / 1000) <= Math.floor(now.getTime() / 1000);
}

const withoutMillis = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;
