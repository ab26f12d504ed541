// Compares one document with its live object key by key: written keys, keys that the set owned and dropped, and in exact mode all
// unmanaged keys. Keys of other sets are left to them.
import { sameText } from '../../../server/api/text/equality.ts';
import type { Effect } from '../../../server/api/schema/field.ts';
import type { Change } from '../documents/change.ts';
import type { Json, JsonObject } from '../documents/document.ts';
import { isIgnored, ruleFor, type IgnoredDifference, type IgnorePatterns } from '../ownership/ignored-paths.ts';
import { pathText } from '../documents/inside.ts';
import type { CoreKind } from '../kinds/kind.ts';
import { asText, isMap, mapOf, valueOf } from '../documents/json-values.ts';
import { compareText } from '../text/listing-order.ts';
import {
  hashOf,
  isNote,
  ownedAt,
  type KeyHash,
  type OwnedTree,
  type OwnerRecord,
  type Path,
} from '../ownership/owner-records.ts';
import type { CompareSeeds } from '../settings/cloud-init-seeds.ts';
import { isSecret, type DeclaredSecrets } from '../documents/secret.ts';

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

export interface Conflict {
  readonly set: string;
  readonly path: Path;
}

/** The owners of the object before the plan. */
export interface Ownership {
  /** The set's own record. */
  readonly last?: OwnerRecord;
  readonly others: ReadonlyMap<string, OwnerRecord>;
  readonly hash: KeyHash;
  readonly isExact: boolean;
  /** Keys that the set owned and no longer writes are released, not removed. */
  readonly keepsDropped?: boolean;
  /** The declared secrets that the record will name. */
  readonly secrets?: readonly string[];
}

interface Walk {
  readonly kind: CoreKind;
  readonly live: JsonObject;
  readonly ignore: IgnorePatterns;
  readonly ownership: Ownership | undefined;
  readonly secrets: DeclaredSecrets;
  readonly compareSeeds: CompareSeeds | undefined;
  readonly changes: Change[];
  readonly unmanaged: string[];
  readonly conflicts: Conflict[];
  readonly ignored: IgnoredDifference[];
}

const nothing: Diff = { changes: [], unmanaged: [], conflicts: [], ignored: [] };

export function diffObject(
  kind: CoreKind,
  desired: JsonObject,
  live: object,
  ignore: IgnorePatterns,
  ownership?: Ownership,
  secrets?: DeclaredSecrets,
  compareSeeds?: CompareSeeds,
): Diff {
  const walk: Walk = {
    kind,
    live: live as JsonObject,
    ignore,
    ownership,
    secrets,
    compareSeeds,
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
    if (value === null ? text === undefined : same(walk, key, text, asText(value))) continue;
    const segments = [...prefix, key];
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

/** True when the set wrote the key and no longer does, or owns every key; and no other set relies on it. */
function isRemoved(walk: Walk, path: Path): boolean {
  const { ownership } = walk;
  if (ownership === undefined || isIgnored(walk.ignore, pathText(path))) return false;
  if (ownership.keepsDropped === true) return false;
  if (!ownership.isExact && ownedAt(ownership.last?.keys, path) === undefined) return false;
  return !isOthers(walk, path);
}

function isOthers(walk: Walk, path: Path): boolean {
  if (walk.ownership === undefined) return false;
  for (const { keys } of walk.ownership.others.values()) if (ownedAt(keys, path) !== undefined) return true;
  return false;
}

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

/** Compares maps in any order; an empty member counts as absent, and servers drop spaces around the text of a member. */
function isSameItem(a: Json, b: Json | undefined): boolean {
  if (!isMap(a) || !isMap(b)) return a === b;
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => asText(a[name]).trim() === asText(b[name]).trim());
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

/** The path of a file does not make its content secret: the content is shown as a hash. */
function isSecretEdit(walk: Walk, segments: Path, before: Json | undefined, after: Json | undefined): boolean {
  const key = segments.join('.');
  if (walk.secrets?.some((secret) => secret === key || secret.startsWith(`${key}.`)) === true) return true;
  return segments[0] !== 'files' && (isSecret(segments, before) || isSecret(segments, after));
}

function add(walk: Walk, segments: Path, before: Json | undefined, after: Json | undefined): void {
  const path = pathText(segments);
  const rule = ruleFor(walk.ignore, path);
  const effect: Effect = walk.kind.effectOf(segments, walk.live, after);
  const origin = originOf(walk, segments, before);
  const inside = insideOf(walk, segments, before, after);
  const change: Change = {
    path,
    segments,
    before,
    after,
    effect,
    secret: isSecretEdit(walk, segments, before, after),
    ...(origin === undefined ? {} : { origin }),
    ...(inside === undefined ? {} : { inside }),
  };
  if (rule !== undefined) {
    walk.ignored.push({ ...change, rule });
    return;
  }
  walk.changes.push(change);
  for (const [set, { keys }] of walk.ownership?.others ?? noOthers) {
    for (const owned of ownedBelow(keys, ownedPath(segments))) walk.conflicts.push({ set, path: owned });
  }
}

function insideOf(
  { compareSeeds }: Walk,
  [field, key = '']: Path,
  before: Json | undefined,
  after: Json | undefined,
): readonly string[] | undefined {
  const areTexts = field === 'config' && typeof before === 'string' && typeof after === 'string';
  return areTexts ? compareSeeds?.(key, before, after) : undefined;
}

const noOthers: ReadonlyMap<string, OwnerRecord> = new Map();

/** A change of a whole device touches each owned property of it. */
function ownedBelow(keys: OwnedTree, path: Path): readonly Path[] {
  const found = ownedAt(keys, path);
  if (found === undefined) return [];
  if (typeof found === 'string') return [path];
  return Object.keys(found).flatMap((key) => ownedBelow(keys, [...path, key]));
}

/** An entry inside a container has one owner. */
const ownedPath = (path: Path): Path => (path[0] === 'files' ? path.slice(0, 2) : path);

function originOf(walk: Walk, path: Path, before: Json | undefined): Change['origin'] {
  const { ownership } = walk;
  const last = ownedAt(ownership?.last?.keys, ownedPath(path));
  if (ownership === undefined || last === undefined) return undefined;
  if (path[0] === 'files') {
    const now = mapOf(walk.live['files'])[path[1] ?? ''];
    return last === hashOf(ownership.hash, ownedPath(path), now) ? 'manifest' : 'drift';
  }
  if (typeof last !== 'string') return before === undefined ? 'drift' : undefined;
  return last === hashOf(ownership.hash, path, before) ? 'manifest' : 'drift';
}
