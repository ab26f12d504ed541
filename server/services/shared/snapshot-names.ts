// Generates names of unnamed snapshots, and computes when a snapshot expires (real system section 19). Pure.
import { never } from '../../api/schema/common-schemas.ts';
import { applyExpiry, parseExpiry } from '../../api/container/snapshot-expiry.ts';
import { errors, checkName } from '../../api/errors.ts';
import { snapshotName } from '../../api/names.ts';
import { renderPattern } from '../../api/container/snapshot-pattern.ts';
import { isTimestamp } from '../../api/text/timestamp.ts';

/** The name for a new snapshot, or the rule that the pattern breaks. `%d` becomes one more than the highest in use, from 0; without it a
 *  taken name gets `-%d`. */
export function nextSnapshotName(
  pattern: string,
  taken: readonly string[],
  now: Date,
): { readonly name: string } | { readonly rule: string } {
  const rendering = renderPattern(pattern, now);
  if ('rule' in rendering) return rendering;
  const rendered = rendering.text;
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

/** The expiry that a request for an object sets: undefined for none given, `never.expires` for none wanted (spec part 2.7). Throws
 *  AppError. */
export function sentExpiry(
  sent: string | null | undefined,
  kind = 'snapshot',
  path = 'expires_at',
): string | undefined {
  if (sent === undefined || sent === null) return undefined;
  if (sent === '') return never.expires;
  if (!isTimestamp(sent) || new Date(sent).getUTCFullYear() > 9999) {
    const message = `must be an RFC 3339 timestamp or empty, is ${JSON.stringify(sent)}`;
    throw errors.invalid(kind, [{ path, message }]);
  }
  const at = new Date(sent);
  // The zero time, in any time zone.
  return at.getTime() <= Date.parse(never.expires) ? never.expires : withoutMillis(at);
}

/** Clients of LXD send the zero time for an image whose expiry they leave alone. Throws AppError. */
export function sentImageExpiry(sent: string | null | undefined): string | undefined {
  const expiry = sentExpiry(sent, 'image');
  return expiry === never.expires ? undefined : expiry;
}

/** Throws AppError. Backups follow the rule of snapshots. */
export function checkSnapshotName(name: string, kind = 'snapshot'): void {
  checkName(kind, name, snapshotName);
}

/** The expiry by `snapshots.expiry`, counted from now. */
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
