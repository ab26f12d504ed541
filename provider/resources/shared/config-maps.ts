// Converts config and device maps between state and server: selects the live keys for the state and builds the map to send. Pure.
import { sameText } from '../../../server/api/text/equality.ts';
import type { TextMap, TextMaps } from '../../framework/attribute.ts';
import { isUnknown, type Unknown, type ValueMap } from '../../framework/value.ts';

export interface MapRules {
  /** The server fills it in: in the state only when the configuration has it. */
  readonly isComputed: (key: string) => boolean;
  /** Set at creation and rewritten by the server: the state keeps the configured value. */
  readonly isProvenance?: (key: string) => boolean;
  /** Whether an object with this config may come from the written value, which its state lacks; default: yes. */
  readonly mayComeFrom?: (key: string, live: TextMap, written: string) => boolean;
  /** The live value fulfils the written one (`auto`). */
  readonly fulfils?: (key: string, live: string, written: string) => boolean;
}

const nothingComputed: MapRules = { isComputed: () => false };

/** The map in the state after a read: written spellings stay while they mean the same. */
export function readMap(live: TextMap, before: TextMap | null, rules: MapRules = nothingComputed): TextMap {
  const found: Record<string, string> = {};
  for (const [key, value] of Object.entries(live)) {
    const written = before?.[key];
    // An empty value requests nothing, so the value that the server fills in is no difference.
    if (written === '' && rules.isComputed(key)) found[key] = '';
    else if (written === undefined ? value !== '' && !rules.isComputed(key) : value !== '' || written === '') {
      found[key] = written !== undefined && fits(key, value, written, rules) ? written : value;
    }
  }
  for (const [key, written] of Object.entries(before ?? {})) {
    // Empty means unset, and the key is unset.
    if (!(key in live) && (written === '' || rules.isProvenance?.(key) === true)) found[key] = written;
  }
  return found;
}

/** Whether the live value is what the configuration asks for. */
export const fits = (key: string, live: string, written: string, rules: MapRules): boolean =>
  meansSame(key, live, written, rules) || rules.isProvenance?.(key) === true;

const meansSame = (key: string, before: string, after: string, { fulfils }: MapRules): boolean =>
  sameText(key, before, after) || fulfils?.(key, before, after) === true;

/** The whole map to send: the configured keys and those that the server filled in. Drops keys that are no longer configured. */
export function writtenMap(
  live: TextMap,
  wanted: TextMap | null,
  before: TextMap | null,
  rules: MapRules = nothingComputed,
): Record<string, string> {
  const kept = Object.entries(live).filter(([key]) => rules.isComputed(key) && before?.[key] === undefined);
  const own = Object.entries(wanted ?? {}).map(([key, value]): [string, string] => {
    const now = live[key];
    if (value === '' && rules.isComputed(key) && (before?.[key] ?? '') === '') return [key, now ?? ''];
    // Keeps the live spelling of an equal value, and a live value that cannot change any more.
    return [key, now !== undefined && fits(key, now, value, rules) ? now : value];
  });
  return present(Object.fromEntries([...kept, ...own]));
}

/** Leaves out empty values. */
export const nonEmpty = (text: string | null): string | null => (text === '' ? null : text);

/** A rule for `replace`: a given value cannot change, but a missing one may be given later. */
export const isGiven = (before: string | null): boolean => nonEmpty(before) !== null;

/** The same rule for maps, whose default is empty. */
export const otherMap = (before: object | null, after: object | null | Unknown): boolean =>
  isUnknown(after) || Object.keys(before ?? {}).length + Object.keys(after ?? {}).length > 0;

export const present = (map: TextMap): Record<string, string> =>
  Object.fromEntries(Object.entries(map).filter(([, value]) => value !== ''));

export const readMaps = (live: TextMaps, before: TextMaps | null): TextMaps =>
  Object.fromEntries(
    Object.entries(live).map(([name, properties]) => [name, readMap(properties, before?.[name] ?? null)]),
  );

export const writtenMaps = (wanted: TextMaps | null): Record<string, Record<string, string>> =>
  Object.fromEntries(Object.entries(wanted ?? {}).map(([name, properties]) => [name, present(properties)]));

/**
 * Whether an object has all configured keys although its state holds fewer. This happens after an import, which cannot know which of
 * the keys that the server may fill in are configured.
 */
export function isFulfilled(wanted: TextMap, prior: ValueMap, rules: MapRules, isImported = false): boolean {
  const effective = (prior['effective_config'] ?? {}) as TextMap;
  const before = (prior['config'] ?? {}) as TextMap;
  return (
    Object.keys(before).every((key) => key in wanted || (isImported && rules.isComputed(key))) &&
    Object.entries(wanted).every(([key, value]) => {
      const live = effective[key];
      const written = before[key];
      if (value === '' && rules.isComputed(key))
        return isImported || (written ?? '') === '' || rules.isProvenance?.(key) === true;
      // A value in the state tells what the live one was made from.
      if (live !== undefined && written !== undefined && rules.isProvenance?.(key) === true)
        return meansSame(key, written, value, rules);
      if (written === undefined && rules.mayComeFrom?.(key, effective, value) === false) return false;
      // A cluster does not show what its members have for themselves.
      if (live === undefined) return value === '' && (written ?? '') === '';
      return fits(key, live, value, rules);
    })
  );
}

/** Whether two maps as written mean the same, so that the state may keep its own. */
export function sameMap(before: TextMap, after: TextMap, rules: MapRules = nothingComputed): boolean {
  // Empty means unset, like a missing key.
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].every((key) => {
    const [old, written] = [before[key] ?? '', after[key] ?? ''];
    return old === '' || written === '' ? old === written : meansSame(key, old, written, rules);
  });
}
