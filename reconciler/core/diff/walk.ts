// What a comparison of one object collects: each change with its origin and the other sets that it concerns.
import type { Effect } from '../../../server/api/schema/field.ts';
import type { Change } from '../documents/change.ts';
import type { Json, JsonObject } from '../documents/document.ts';
import { isIgnored, ruleFor, type IgnoredDifference, type IgnorePatterns } from '../ownership/ignored-paths.ts';
import { pathText } from '../documents/inside.ts';
import type { CoreKind } from '../kinds/kind.ts';
import { mapOf } from '../documents/json-values.ts';
import {
  hashOf,
  ownedAt,
  type KeyHash,
  type OwnedTree,
  type OwnerRecord,
  type Path,
} from '../ownership/owner-records.ts';
import type { CompareSeeds } from '../settings/cloud-init-seeds.ts';
import { isSecret, type DeclaredSecrets } from '../documents/secret.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

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

/** What of an object counts, and for whom. */
export interface DiffRules {
  readonly ignore: IgnorePatterns;
  readonly ownership?: Ownership | undefined;
  readonly secrets?: DeclaredSecrets;
  readonly compareSeeds?: CompareSeeds | undefined;
}

export interface Walk extends DiffRules {
  readonly kind: CoreKind;
  readonly live: JsonObject;
  readonly changes: Change[];
  readonly unmanaged: string[];
  readonly conflicts: Conflict[];
  readonly ignored: IgnoredDifference[];
}

/** True when the set wrote the key and no longer does, or owns every key; and no other set relies on it. */
export function isRemoved(walk: Walk, path: Path): boolean {
  const { ownership } = walk;
  if (ownership === undefined || isIgnored(walk.ignore, pathText(path))) return false;
  if (ownership.keepsDropped === true) return false;
  if (!ownership.isExact && ownedAt(ownership.last?.keys, path) === undefined) return false;
  return !isOthers(walk, path);
}

export function isOthers(walk: Walk, path: Path): boolean {
  if (walk.ownership === undefined) return false;
  for (const { keys } of walk.ownership.others.values()) if (ownedAt(keys, path) !== undefined) return true;
  return false;
}

/** The path of a file does not make its content secret: the content is shown as a hash. */
function isSecretEdit(walk: Walk, segments: Path, before: Json | undefined, after: Json | undefined): boolean {
  const key = segments.join('.');
  if (walk.secrets?.some((secret) => secret === key || secret.startsWith(`${key}.`)) === true) return true;
  return segments[0] !== 'files' && (isSecret(segments, before) || isSecret(segments, after));
}

export function add(walk: Walk, segments: Path, before: Json | undefined, after: Json | undefined): void {
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
    ...withoutUndefined({ origin, inside }),
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
