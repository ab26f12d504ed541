// Compares one document with its live object key by key: written keys, keys that the set owned and dropped, and in exact mode all
// unmanaged keys. Keys of other sets are left to them.
import { plainMember } from '../../../server/api/network/network-acl.ts';
import { sameText } from '../../../server/api/text/equality.ts';
import type { Change } from '../documents/change.ts';
import { comparedKey } from '../documents/compared-key.ts';
import type { Json, JsonObject } from '../documents/document.ts';
import type { IgnoredDifference } from '../ownership/ignored-paths.ts';
import type { CoreKind } from '../kinds/kind.ts';
import { asText, isMap, mapOf, valueOf } from '../documents/json-values.ts';
import { compareText } from '../text/listing-order.ts';
import { isNote, type Path } from '../ownership/owner-records.ts';
import { add, isOthers, isRemoved, type Conflict, type DiffRules, type Walk } from './walk.ts';

export interface Diff {
  /** Sorted by path. */
  readonly changes: readonly Change[];
  /** Paths of the live object that no document declares and the server did not set. */
  readonly unmanaged: readonly string[];
  /** Changes of keys that another set owns. */
  readonly conflicts: readonly Conflict[];
  /** Changes that `manage.ignore` suppresses. */
  readonly ignored: readonly IgnoredDifference[];
}

const nothing: Diff = { changes: [], unmanaged: [], conflicts: [], ignored: [] };

export function diffObject(kind: CoreKind, desired: JsonObject, live: object, rules: DiffRules): Diff {
  const walk: Walk = {
    ...rules,
    kind,
    live: live as JsonObject,
    changes: [],
    unmanaged: [],
    conflicts: [],
    ignored: [],
  };
  for (const field in kind.fields) {
    const shape = kind.fields[field];
    const now = walk.live[field];
    const wanted = desired[field];
    if (shape === 'map') diffMap(walk, [field], mapOf(now), mapOf(wanted));
    else if (shape === 'devices') diffDevices(walk, field, mapOf(now), mapOf(wanted));
    else if (shape === 'members') diffMembers(walk, field, mapOf(now), mapOf(wanted));
    else if (shape === 'files') diffFiles(walk, field, mapOf(now), mapOf(wanted));
    else if (wanted === undefined) diffDropped(walk, field, now);
    else if (shape === 'list') diffList(walk, field, now, wanted);
    else diffScalar(walk, field, now, wanted);
  }
  if (walk.changes.length + walk.unmanaged.length + walk.ignored.length === 0) return nothing;
  walk.changes.sort((a, b) => compareText(a.path, b.path));
  return walk;
}

function diffMap(walk: Walk, prefix: Path, live: JsonObject, wanted: JsonObject): void {
  for (const key in wanted) {
    const value = wanted[key] ?? null;
    const now = valueOf(live, key);
    const text = typeof now === 'string' && now !== '' ? now : undefined;
    const segments = [...prefix, key];
    if (value === null ? text === undefined : same(walk, comparedKey(segments), text, asText(value))) continue;
    if (value === null && walk.kind.refills?.(segments, walk.live) === true) continue;
    const isProvenance = walk.kind.isProvenance?.(segments) === true;
    if (isProvenance && (value === null || walk.kind.isAsCreated?.(segments, walk.live, asText(value)) !== false))
      continue;
    add(walk, segments, text, value === null ? undefined : value);
  }
  for (const key in live) {
    if (Object.hasOwn(wanted, key) || live[key] === '' || isNote(key)) continue;
    const segments = [...prefix, key];
    if (walk.kind.isComputed(segments, walk.live) && !isWholly(walk, prefix, wanted)) continue;
    if (isRemoved(walk, segments)) add(walk, segments, live[key], undefined);
    else if (!isOthers(walk, segments)) walk.unmanaged.push(segments.join('.'));
  }
}

/** A map that the document decides as a whole, although the server sets some of its keys. */
const isWholly = ({ kind, ownership }: Walk, [field = '']: Path, wanted: JsonObject): boolean =>
  ownership?.isExact === true && kind.wholeFields?.includes(field) === true && Object.keys(wanted).length > 0;

const same = (walk: Walk, key: string, live: string | undefined, wanted: string): boolean =>
  (live !== undefined && (sameText(key, live, wanted) || walk.compareSeeds?.(key, live, wanted)?.length === 0)) ||
  walk.kind.fulfils?.(key, live, wanted) === true;

function diffDevices(walk: Walk, field: string, live: JsonObject, wanted: JsonObject): void {
  for (const name in wanted) {
    const value = wanted[name];
    const now = valueOf(live, name);
    if (!isMap(value)) {
      if (now !== undefined) add(walk, [field, name], now, undefined);
    } else if (!isMap(now)) add(walk, [field, name], undefined, presentOnly(value));
    else if (typeof value['type'] === 'string' && value['type'] !== now['type']) {
      // Properties of one type are meaningless for another: the device is replaced as a whole.
      add(walk, [field, name], now, presentOnly(value));
    } else diffMap(walk, [field, name], now, value);
  }
  for (const name in live) if (!Object.hasOwn(wanted, name)) diffUndeclaredDevice(walk, [field, name], live[name]);
}

/** The owner of the type owns the device; from a device of another set only our own properties are removed. */
function diffUndeclaredDevice(walk: Walk, path: Path, now: Json | undefined): void {
  if (isRemoved(walk, [...path, 'type'])) return add(walk, path, now, undefined);
  for (const key of Object.keys(mapOf(now))) {
    if (key !== 'type' && walk.ownership?.isExact !== true && isRemoved(walk, [...path, key]))
      add(walk, [...path, key], mapOf(now)[key], undefined);
  }
  if (!isOthers(walk, path)) walk.unmanaged.push(path.join('.'));
}

const presentOnly = (device: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(device).filter(([, value]) => value !== null));

/** Sets a dropped field back to its default; fields that the server chooses are only released. */
function diffDropped(walk: Walk, field: string, live: Json | undefined): void {
  const blank = walk.kind.blanks?.[field];
  if (blank === undefined || live === undefined || live === blank || (isEmptyList(live) && isEmptyList(blank))) return;
  if (isRemoved(walk, [field])) add(walk, [field], live, blank);
}

const isEmptyList = (value: Json): boolean => Array.isArray(value) && value.length === 0;

function diffList(walk: Walk, field: string, live: Json | undefined, wanted: Json): void {
  const now = Array.isArray(live) ? (live as readonly Json[]) : [];
  const then = Array.isArray(wanted) ? (wanted as readonly Json[]) : [];
  if (walk.kind.unordered?.includes(field) === true && isSameSet(now, then)) return;
  if (now.length !== then.length || now.some((item, index) => !isSameItem(item, then[index])))
    add(walk, [field], now, then);
}

/** Servers may drop items that occur twice. */
const isSameSet = (a: readonly Json[], b: readonly Json[]): boolean =>
  a.every((item) => b.includes(item)) && b.every((item) => a.includes(item));

/** Compares maps, which are rules of network ACLs, in any order; an empty member counts as absent. */
function isSameItem(a: Json, b: Json | undefined): boolean {
  if (!isMap(a) || !isMap(b)) return a === b;
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => plainMember(name, asText(a[name])) === plainMember(name, asText(b[name])));
}

function diffScalar(walk: Walk, field: string, live: Json | undefined, wanted: Json): void {
  const now = live ?? (typeof wanted === 'boolean' ? false : '');
  const then = wanted ?? (typeof now === 'boolean' ? false : '');
  if (now === then) return;
  if (typeof now === 'string' && typeof then === 'string' && same(walk, field, now, then)) return;
  add(walk, [field], now, then);
}

/** Compares key by key for each member; skips members that did not answer. */
function diffMembers(walk: Walk, field: string, live: JsonObject, wanted: JsonObject): void {
  const isNew = walk.live[field] === undefined;
  for (const name of Object.keys(wanted).filter((one) => isNew || Object.hasOwn(live, one)))
    diffMap(walk, [field, name], mapOf(valueOf(live, name)), mapOf(wanted[name]));
}

/** Entries are owned as a whole, and only their written attributes are compared. The live object holds only requested entries. */
function diffFiles(walk: Walk, field: string, live: JsonObject, wanted: JsonObject): void {
  for (const [path, entry] of Object.entries(wanted)) {
    const now = live[path];
    if (!isMap(entry)) continue;
    if (!isMap(now) || now['type'] !== entry['type']) add(walk, [field, path], now, entry);
    else for (const key in entry) if (now[key] !== entry[key]) add(walk, [field, path, key], now[key], entry[key]);
  }
  for (const [path, now] of Object.entries(live)) {
    if (!(path in wanted) && isRemoved(walk, [field, path])) add(walk, [field, path], now, undefined);
  }
}
