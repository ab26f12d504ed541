// Decides which paths of an object the set owns before and after, how its record changes, and which keys of other sets conflict.
import type { Change } from '../documents/change.ts';
import { compareText } from '../text/listing-order.ts';
import type { Diff } from './diff.ts';
import type { Ownership } from './walk.ts';
import { defaultManage, type Address, type Document, type Json, type JsonObject } from '../documents/document.ts';
import { isIgnored, type IgnorePatterns } from '../ownership/ignored-paths.ts';
import { filesIn, pathText, snapshotFields, snapshotsIn } from '../documents/inside.ts';
import { coreKind } from '../kinds/index.ts';
import type { Observed } from '../documents/observed.ts';
import {
  hasConfig,
  isSameOwnership,
  noRecords,
  ownedAt,
  pathsOf,
  placeToWrite,
  recordedSecrets,
  recordsIn,
  type OwnerRecord,
  type OwnerWrite,
  type Path,
} from '../ownership/owner-records.ts';
import { elsewhereGuard } from '../plan/guards.ts';
import { isTakenFrom, otherPlace } from '../ownership/place.ts';
import { isSamePolicy, policyOf } from '../ownership/recorded-policy.ts';
import type { Guard, SetOwner } from '../plan/plan.ts';
import type { CoreKind } from '../kinds/kind.ts';
import { isMap } from '../documents/json-values.ts';
import { namesText } from '../../../server/api/text/names-text.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** Images are used, and recorded, under their fingerprint. */
export const usageAddress = (document: Document): Address =>
  `${document.kind}/${coreKind(document.kind).apiName(document)}`;

/** The records of all sets on an object, from its config and from the sets' states. */
export function recordsOf(document: Document, live: object, observed: Observed): ReadonlyMap<string, OwnerRecord> {
  if (hasConfig(document.kind)) return recordsIn(live);
  const records = new Map<string, OwnerRecord>();
  for (const [set, { inventory }] of observed.sets ?? []) {
    const record = inventory.get(usageAddress(document));
    if (record !== undefined) records.set(set, record);
  }
  return records;
}

/** The document with the paths that sets recorded as secret on the object: values of keys that no document declares any more. */
export function withRecordedSecrets(document: Document, records: ReadonlyMap<string, OwnerRecord>): Document {
  const recorded = recordedSecrets(records);
  return recorded.length === 0 ? document : { ...document, secrets: [...(document.secrets ?? []), ...recorded] };
}

/** Contents of files and words of commands are not on the object. */
const secretsToRecord = ({ secrets }: Document): Pick<OwnerWrite, 'secrets'> => {
  const paths = secrets?.filter((path) => !/^(files|exec)\./.test(path)) ?? [];
  return paths.length === 0 ? {} : { secrets: paths };
};

export function ownershipBefore(
  document: Document,
  records: ReadonlyMap<string, OwnerRecord>,
  owner: SetOwner | undefined,
): Ownership | undefined {
  const isExact = document.manage.mode === 'exact';
  if (owner === undefined) {
    return isExact ? { others: new Map(), hash: (text) => text, isExact } : undefined;
  }
  const last = records.get(owner.set);
  const isAlone = records.size === (last === undefined ? 0 : 1);
  const others = isAlone ? noRecords : new Map([...records].filter(([set]) => set !== owner.set));
  const keepsDropped = document.manage.mode === 'add';
  const declared = secretsToRecord(document);
  return { ...withoutUndefined({ last }), others, hash: owner.hash, isExact, keepsDropped, ...declared };
}

export interface OwnershipDecision {
  /** The record to write, when it differs from the current one or the object is written anyway. */
  readonly owner?: OwnerWrite;
  /** Only the record has to be written. */
  readonly isNew: boolean;
  readonly claims: readonly string[];
  readonly releases: readonly string[];
  /** The record only gains paths: without other edits the object stays unchanged. */
  readonly isTakeover?: boolean;
  readonly guard?: Guard;
}

const noStrings: readonly string[] = [];
const unowned: OwnershipDecision = { isNew: false, claims: noStrings, releases: noStrings };

export const ownerOfNew = (
  document: Document,
  ignore: IgnorePatterns,
  owner: SetOwner | undefined,
): OwnerWrite | undefined =>
  owner === undefined
    ? undefined
    : {
        set: owner.set,
        paths: ownedPaths(document, ignore),
        whole: true,
        policy: policyOf(document.manage),
        ...placeToWrite(undefined, owner.place),
        takes: [],
        ...ownFiles(document),
        ...secretsToRecord(document),
        ran: {},
      };

/** Values that are hashed although no request body contains them. */
const ownFiles = ({ values }: Document): Pick<OwnerWrite, 'files'> =>
  values['files'] === undefined ? {} : { files: filesIn(values) };

export interface ApplyingSet {
  readonly ignore: IgnorePatterns;
  readonly owner: SetOwner | undefined;
  /** It takes keys of other sets. */
  readonly isForced: boolean;
  /** Changes that a later apply makes. */
  readonly deferred?: readonly Change[];
}

export function ownershipAfter(
  document: Document,
  before: Ownership | undefined,
  diff: Diff,
  { ignore, owner, isForced, deferred = [] }: ApplyingSet,
): OwnershipDecision {
  if (owner === undefined || before === undefined) return unowned;
  if (diff.conflicts.length > 0 && !isForced)
    return { ...unowned, guard: conflictGuard(document.address, owner, diff) };
  const { last } = before;
  const elsewhere = otherPlace(last?.place, owner.place);
  // An object that already is as declared needs no change from either place.
  if (elsewhere !== undefined)
    return diff.changes.length === 0
      ? unowned
      : { ...unowned, guard: elsewhereGuard(document.address, 'change', owner.set, elsewhere) };
  const write: OwnerWrite = {
    set: owner.set,
    ...pathsAfter(ownedPaths(document, ignore), last, deferred),
    whole: last?.whole === true || document.isFetched === true,
    policy: policyOf(document.manage),
    ...placeToWrite(last, owner.place),
    takes: diff.conflicts,
    ...ownFiles(document),
    ...withoutUndefined({ secrets: before.secrets }),
  };
  if (last !== undefined && isSameOwnership(last, write) && !isTakenFrom(last.place, owner.place)) {
    return { owner: write, isNew: false, claims: noStrings, releases: noStrings };
  }
  const changed = new Set(
    diff.changes.map(({ path, segments }) => (segments[0] === 'files' ? pathText(segments.slice(0, 2)) : path)),
  );
  const claims = write.paths
    .filter((path) => typeof ownedAt(last?.keys, path) !== 'string' && !isCovered(path, changed))
    .map(pathText);
  const kept = new Set(write.paths.map((path) => path.join('\0')));
  const releases = (last === undefined ? [] : pathsOf(last.keys))
    .filter((path) => !kept.has(path.join('\0')) && !isCovered(path, changed))
    .map(pathText);
  // An object without a record gets the default policy.
  const isTakeover = releases.length === 0 && isSamePolicy(last?.policy ?? policyOf(defaultManage), write.policy);
  return { owner: write, isNew: true, claims, releases, isTakeover };
}

/** Paths whose change is delayed keep their recorded ownership, or stay unowned. */
function pathsAfter(
  paths: readonly Path[],
  last: OwnerRecord | undefined,
  deferred: readonly Change[],
): Pick<OwnerWrite, 'paths' | 'keeps'> {
  if (deferred.length === 0) return { paths };
  const isLater = (path: Path): boolean =>
    deferred.some(({ segments }) => path.length >= segments.length && segments.every((key, at) => path[at] === key));
  const keeps = last === undefined ? [] : pathsOf(last.keys).filter(isLater);
  const now = paths.filter((path) => !isLater(path));
  return { paths: [...now, ...keeps].sort((a, b) => compareText(a.join('\0'), b.join('\0'))), keeps };
}

/** True when the path itself or its device changes. */
const isCovered = (path: readonly string[], changed: ReadonlySet<string>): boolean =>
  changed.has(pathText(path)) || (path.length > 1 && changed.has(pathText(path.slice(0, -1))));

function conflictGuard(address: Address, owner: SetOwner, { conflicts }: Diff): Guard {
  const sets = [...new Set(conflicts.map(({ set }) => set))].sort();
  const paths = [...new Set(conflicts.map(({ path }) => pathText(path)))].sort();
  const theirs = sets.length === 1 ? `the set ${sets.join('')}` : `the sets ${sets.join(' and ')}`;
  return {
    code: 'conflict',
    address,
    message: `the set ${owner.set} would change what ${theirs} put into ${address}: ${namesText(paths)}`,
    remedy: `agree on one value, leave the keys to ${theirs}, or take them over with --force-conflicts`,
  };
}

/** Sorted. A value of null owns the absence of its key or device: another set's key there is a conflict. */
function ownedPaths(document: Document, ignore: IgnorePatterns): readonly Path[] {
  const kind = coreKind(document.kind);
  const paths: Path[] = [];
  const add = (path: Path): void => {
    const isLeftOut = ignore.length > 0 && isIgnored(ignore, pathText(path));
    if (!isLeftOut && kind.isProvenance?.(path) !== true) paths.push(path);
  };
  for (const field of fieldsOf(kind)) {
    const value = document.values[field];
    if (value !== undefined && value !== null) addField(kind, field, value, add);
  }
  addSnapshots(document.values, add);
  return paths;
}

const sortedFields = new WeakMap<CoreKind, readonly string[]>();

function fieldsOf(kind: CoreKind): readonly string[] {
  let fields = sortedFields.get(kind);
  if (fields === undefined) sortedFields.set(kind, (fields = Object.keys(kind.fields).sort(compareText)));
  return fields;
}

/** Any set may require the snapshot; only its owner may set its attributes. */
function addSnapshots(values: JsonObject, add: (path: Path) => void): void {
  for (const [name, spec] of [...snapshotsIn(values)].sort(([a], [b]) => compareText(a, b)))
    for (const key of snapshotFields) if (spec[key] !== undefined) add(['snapshots', name, key]);
}

function addField(kind: CoreKind, field: string, value: Json, add: (path: Path) => void): void {
  const shape = kind.fields[field];
  if (shape === 'scalar' || shape === 'list') add([field]);
  else if (shape === 'files') addKeys([field], value as JsonObject, add);
  else if (shape === 'map') addKeys([field], value as JsonObject, add);
  else if (isMap(value)) {
    for (const name of Object.keys(value).sort(compareText)) {
      const device = value[name];
      if (isMap(device)) addKeys([field, name], device, add);
      else add([field, name]);
    }
  }
}

function addKeys(above: Path, map: JsonObject, add: (path: Path) => void): void {
  for (const key of Object.keys(map).sort(compareText)) add([...above, key]);
}
