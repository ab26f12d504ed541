// The owners of the keys of a live object: each set's record in the config of the object (`user.gantry.own.<set>`) or, for kinds
// without config, in the set's state on the server. A record holds keyed hashes of values, never the values.
import type { KindName } from '../../../server/api/kinds.ts';
import type { Json, JsonObject } from '../documents/document.ts';
import { comparableText } from '../../../server/api/text/equality.ts';
import { comparedKey } from '../documents/compared-key.ts';
import { fileIdentity, type FileEntry } from '../documents/inside.ts';
import { coreKind } from '../kinds/index.ts';
import { asText, isMap, mapOf, presentTexts, valueOf } from '../documents/json-values.ts';
import { labelPrefix } from '../documents/labels.ts';
import { compareText } from '../text/listing-order.ts';
import { type OwnedTree, type OwnerRecord, type RecordedPolicy } from '../documents/ownership-records.ts';
import { isTakenFrom, type SetPlace } from './place.ts';
import { isSameOrder, isSamePolicy, policyJson, readPolicy } from './recorded-policy.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';
export { type OwnedTree, type OwnerRecord, type RecordedPolicy } from '../documents/ownership-records.ts';

/** A short keyed hash (HMAC) of a text. The key belongs to the set and is stored on the server. */
export type KeyHash = (text: string) => string;

/** The prefix of all keys that gantry stores on objects and on the server. Plans leave them out, except for labels, which users write. */
export const notePrefix = 'user.gantry.';
export const isNote = (key: string): boolean => key.startsWith(notePrefix) && !key.startsWith(labelPrefix);
const recordPrefix = `${notePrefix}own.`;
export const recordKey = (set: string): string => `${recordPrefix}${set}`;

/** Copies drop these keys, since a copy belongs to no set. */
export const isRecordKey = (key: string): boolean => key.startsWith(recordPrefix);

/** Set names are parts of config keys. */
export const setNamePattern = /^[a-z0-9][a-z0-9_-]{0,39}$/;
export const defaultSet = 'default';

export type Path = readonly string[];

/** The record of the set that a step writes. The engine adds hashes of the values that it really writes. */
export interface OwnerWrite {
  readonly set: string;
  /** All paths that the set owns afterwards; sorted. */
  readonly paths: readonly Path[];
  /** Paths whose recorded hash stays because their change is delayed. */
  readonly keeps?: readonly Path[];
  readonly whole: boolean;
  readonly policy: RecordedPolicy;
  /** Absent: the recorded one stays. */
  readonly place?: string;
  /** Taken from other sets, with --force-conflicts. */
  readonly takes: readonly { readonly set: string; readonly path: Path }[];
  /** Values at `files` paths, which no body holds; absent: the recorded ones stay. */
  readonly files?: Readonly<Record<string, FileEntry>>;
  /** Absent: the recorded one stays. */
  readonly ran?: Readonly<Record<string, string>>;
  /** As in the record. A difference only in these is written with the next change. */
  readonly secrets?: readonly string[];
}

/** The set releases the object: its record is removed, everything else stays. */
export interface OwnerRelease {
  readonly set: string;
  readonly release: true;
}

export const isRelease = (change: OwnerWrite | OwnerRelease): change is OwnerRelease => 'release' in change;

export const hasConfig = (kind: KindName): boolean => coreKind(kind).fields['config'] === 'map';

/** Records on the object itself, by set. Unreadable texts count as no record. */
export function recordsIn(live: object): ReadonlyMap<string, OwnerRecord> {
  const config = (live as { readonly config?: Json }).config;
  let records: Map<string, OwnerRecord> | undefined;
  if (!isMap(config)) return noRecords;
  for (const key in config) {
    if (!key.startsWith(recordPrefix)) continue;
    const record = parseRecord(asText(config[key]));
    if (record !== undefined) (records ??= new Map()).set(key.slice(recordPrefix.length), record);
  }
  return records ?? noRecords;
}

export const noRecords: ReadonlyMap<string, OwnerRecord> = new Map();

/** `{"v":1,"k":{...},"w":1,"p":1,"f":"laptop:/srv/web","s":["config.user.x"]}`, in its shortest form. */
export function renderRecord({ keys, whole, policy, place, ran = {}, secrets = [] }: OwnerRecord): string {
  return JSON.stringify({
    v: 1,
    k: keys,
    ...(whole ? { w: 1 } : {}),
    ...policyJson(policy),
    ...withoutUndefined({ f: place }),
    ...(Object.keys(ran).length === 0 ? {} : { x: ran }),
    ...(secrets.length === 0 ? {} : { s: secrets }),
  });
}

/** A cache by text, since a plan reads the records of an object several times. */
const parsed = new Map<string, OwnerRecord | undefined>();
const maxParsed = 20_000;

export function parseRecord(text: string): OwnerRecord | undefined {
  if (parsed.has(text)) return parsed.get(text);
  if (parsed.size >= maxParsed) parsed.clear();
  const record = readText(text);
  parsed.set(text, record);
  return record;
}

function readText(text: string): OwnerRecord | undefined {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
  return readRecord(value);
}

export function readRecord(value: Json | undefined): OwnerRecord | undefined {
  if (!isMap(value) || value['v'] !== 1) return undefined;
  return {
    keys: readTree(value['k']),
    whole: value['w'] === 1,
    policy: readPolicy(value),
    ...(typeof value['f'] === 'string' ? { place: value['f'] } : {}),
    ...(isMap(value['x']) ? { ran: presentTexts(value['x']) } : {}),
    ...(Array.isArray(value['s']) ? { secrets: value['s'].filter((path) => typeof path === 'string') } : {}),
  };
}

/** Drops members that are neither a hash nor a tree. */
function readTree(value: Json | undefined): OwnedTree {
  const tree = mapOf(value);
  if (isTree(tree)) return tree;
  const out: Record<string, string | OwnedTree> = {};
  for (const [key, item] of Object.entries(tree)) {
    if (typeof item === 'string') out[key] = item;
    else if (isMap(item)) out[key] = readTree(item);
  }
  return out;
}

function isTree(value: JsonObject): value is JsonObject & OwnedTree {
  for (const key in value) {
    const item = value[key];
    if (typeof item !== 'string' && !(isMap(item) && isTree(item))) return false;
  }
  return true;
}

/** Sorted, so that equal ownership is equal text. */
export function pathsOf(tree: OwnedTree): readonly Path[] {
  const paths: Path[] = [];
  const walk = (node: OwnedTree, above: Path): void => {
    for (const key of Object.keys(node).sort(compareText)) {
      const item = node[key];
      if (typeof item === 'string') paths.push([...above, key]);
      else if (item !== undefined) walk(item, [...above, key]);
    }
  };
  walk(tree, []);
  return paths;
}

/** The hash at a path, the tree below it, or undefined. */
export function ownedAt(tree: OwnedTree | undefined, path: Path): string | OwnedTree | undefined {
  let node: string | OwnedTree | undefined = tree;
  for (const key of path) {
    if (node === undefined || typeof node === 'string') return undefined;
    node = Object.hasOwn(node, key) ? node[key] : undefined;
  }
  return node;
}

/** The place to record: that of the run, unless the recorded one stays. */
export const placeToWrite = (last: OwnerRecord | undefined, place: SetPlace | undefined): Pick<OwnerWrite, 'place'> =>
  place === undefined || (last?.place !== undefined && !isTakenFrom(last.place, place)) ? {} : { place: place.here };

/** Paths that any of the sets recorded as secret. */
export const recordedSecrets = (records: ReadonlyMap<string, OwnerRecord>): readonly string[] =>
  [...records.values()].flatMap(({ secrets = [] }) => secrets);

/** True when both own the same paths under the same policy; hashes are ignored. */
export function isSameOwnership(record: OwnerRecord, write: OwnerWrite): boolean {
  const { policy } = record;
  if (record.whole !== write.whole || !isSamePolicy(policy, write.policy) || !isSameOrder(policy, write.policy))
    return false;
  return (
    countLeaves(record.keys) === write.paths.length &&
    write.paths.every((path) => typeof ownedAt(record.keys, path) === 'string')
  );
}

function countLeaves(tree: OwnedTree): number {
  let count = 0;
  for (const key in tree) {
    const item = tree[key];
    count += typeof item === 'string' ? 1 : item === undefined ? 0 : countLeaves(item);
  }
  return count;
}

/**
 * The text to hash: the meaning of a value with its place, so that equal values at other places have different hashes. The values of a
 * snapshot cannot be read later, so only its presence is hashed.
 */
export const hashOf = (hash: KeyHash, path: Path, value: Json | undefined): string =>
  hash(`${path.join('\0')}\0${identityOf(path, value)}`);

function identityOf(path: Path, value: Json | undefined): string {
  if (path[0] === 'files') return fileIdentity(value);
  if (path[0] === 'snapshots') return '';
  return comparableText(comparedKey(path), asText(value));
}

/** `before`: the record that this one replaces. */
export function makeRecord(write: OwnerWrite, object: JsonObject, hash: KeyHash, before?: OwnerRecord): OwnerRecord {
  const keys: Record<string, string | OwnedTree> = {};
  const root: JsonObject = write.files === undefined ? object : { ...object, files: write.files };
  const kept = new Set(write.keeps?.map((path) => path.join('\0')));
  for (const path of write.paths) {
    const known = kept.has(path.join('\0')) ? ownedAt(before?.keys, path) : undefined;
    let value: Json | undefined = root;
    let node: Record<string, string | OwnedTree> = keys;
    for (const [depth, key] of path.entries()) {
      value = isMap(value) ? valueOf(value, key) : undefined;
      if (depth === path.length - 1)
        node[key] =
          typeof known === 'string' ? known : (recordedFile(path, value, before) ?? hashOf(hash, path, value));
      else {
        if (!Object.hasOwn(node, key)) node[key] = {};
        node = node[key] as Record<string, string | OwnedTree>;
      }
    }
  }
  const ran = write.ran ?? before?.ran;
  const place = write.place ?? before?.place;
  const delayed = new Set(write.keeps?.map((path) => path.join('.')));
  const hidden = before?.secrets?.filter((path) => delayed.has(path)) ?? [];
  const secrets = [...new Set([...(write.secrets ?? []), ...hidden])].sort(compareText);
  return {
    keys,
    whole: write.whole,
    policy: write.policy,
    ...withoutUndefined({ place, ran }),
    ...(secrets.length === 0 ? {} : { secrets }),
  };
}

/** Keeps the hash of a file whose value the writer does not know. */
function recordedFile(path: Path, value: Json | undefined, before: OwnerRecord | undefined): string | undefined {
  const known = path[0] === 'files' && value === undefined ? ownedAt(before?.keys, path) : undefined;
  return typeof known === 'string' ? known : undefined;
}

/** The body with the record in its config; bodies of kinds without config stay unchanged. */
export function withOwnership(
  kind: KindName,
  body: JsonObject,
  change: OwnerWrite | OwnerRelease | undefined,
  hash: KeyHash,
): JsonObject {
  if (change === undefined || !hasConfig(kind)) return body;
  const config: Record<string, Json> = { ...mapOf(body['config']) };
  if (isRelease(change)) delete config[recordKey(change.set)];
  else {
    config[recordKey(change.set)] = renderRecord(
      makeRecord(change, body, hash, parseRecord(asText(config[recordKey(change.set)]))),
    );
    for (const { set, path } of change.takes) takeFrom(config, set, path);
  }
  return { ...body, config };
}

function takeFrom(config: Record<string, Json>, set: string, path: Path): void {
  const record = parseRecord(asText(config[recordKey(set)]));
  if (record === undefined) return;
  const secrets = record.secrets?.filter((one) => one !== path.join('.')) ?? [];
  config[recordKey(set)] = renderRecord({ ...record, keys: without(record.keys, path), secrets });
}

function without(tree: OwnedTree, [key = '', ...rest]: Path): OwnedTree {
  const { [key]: item, ...others } = tree;
  if (item === undefined) return tree;
  if (rest.length === 0 || typeof item === 'string') return others;
  const left = without(item, rest);
  return Object.keys(left).length === 0 ? others : { ...others, [key]: left };
}
