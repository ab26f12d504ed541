// Config and device maps between state and server: what of the live object belongs into the state, and what is sent back. Pure.
import { sameText } from '../../server/api/equal.ts';
import type { TextMap, TextMaps } from '../framework/attribute.ts';

export interface MapRules {
  /** The server fills it in: in the state only when the configuration has it. */
  readonly isComputed: (key: string) => boolean;
  /** Told at creation and rewritten by the server: the state keeps what was told. */
  readonly isProvenance?: (key: string) => boolean;
  /** The live value is what the written one asks for (`auto`). */
  readonly fulfils?: (key: string, live: string, written: string) => boolean;
}

const nothingComputed: MapRules = { isComputed: () => false };

/** The state's map after a read: written spellings stay as long as they mean the same. Null and {} stay apart. */
export function readMap(live: TextMap, before: TextMap | null, rules: MapRules = nothingComputed): TextMap | null {
  const found: Record<string, string> = {};
  for (const [key, value] of Object.entries(live)) {
    const written = before?.[key];
    if (written === undefined ? value !== '' && !rules.isComputed(key) : value !== '' || written === '') {
      found[key] = written !== undefined && fits(key, value, written, rules) ? written : value;
    }
  }
  for (const [key, written] of Object.entries(before ?? {})) {
    // Empty means unset, which it is.
    if (!(key in live) && (written === '' || rules.isProvenance?.(key) === true)) found[key] = written;
  }
  return before === null && Object.keys(found).length === 0 ? null : found;
}

const fits = (key: string, live: string, written: string, rules: MapRules): boolean =>
  sameText(key, live, written) || rules.isProvenance?.(key) === true || rules.fulfils?.(key, live, written) === true;

/** The whole map to send: what is wanted, and what the server filled in beside it. Keys that were ours and are not any more go. */
export function writtenMap(
  live: TextMap,
  wanted: TextMap | null,
  before: TextMap | null,
  rules: MapRules = nothingComputed,
): Record<string, string> {
  const kept = Object.entries(live).filter(([key]) => rules.isComputed(key) && before?.[key] === undefined);
  const own = Object.entries(wanted ?? {}).map(([key, value]): [string, string] => {
    const now = live[key];
    // The live spelling of the same, or of what cannot be changed any more.
    return [key, now !== undefined && fits(key, now, value, rules) ? now : value];
  });
  return present(Object.fromEntries([...kept, ...own]));
}

export const present = (map: TextMap): Record<string, string> =>
  Object.fromEntries(Object.entries(map).filter(([, value]) => value !== ''));

export function readMaps(live: TextMaps, before: TextMaps | null): TextMaps | null {
  const found = Object.entries(live).map(
    ([name, properties]) => [name, readMap(properties, before?.[name] ?? {}) ?? {}] as const,
  );
  return before === null && found.length === 0 ? null : Object.fromEntries(found);
}

export const writtenMaps = (wanted: TextMaps | null): Record<string, Record<string, string>> =>
  Object.fromEntries(Object.entries(wanted ?? {}).map(([name, properties]) => [name, present(properties)]));

/** Whether two maps mean the same, so that the one in the state may stay. */
export function sameMap(before: TextMap, after: TextMap, rules: MapRules = nothingComputed): boolean {
  const keys = Object.keys(before);
  return (
    keys.length === Object.keys(after).length &&
    keys.every((key) => {
      const written = after[key];
      return written !== undefined && fits(key, before[key] ?? '', written, rules);
    })
  );
}
