// The data that a server stores about a set: records of its objects, and the state of the set. Types only.
import type { Address, Manage } from './document.ts';

/** Paths as nested objects, a hash at each leaf: `{config: {'limits.memory': 'x8…'}, devices: {eth0: {parent: '…'}}}`. */
export interface OwnedTree {
  readonly [key: string]: string | OwnedTree;
}

export interface OwnerRecord {
  readonly keys: OwnedTree;
  /** The set owns the whole object, because it created or adopted it. Otherwise it owns only these keys. */
  readonly whole: boolean;
  readonly policy: RecordedPolicy;
  /** Where the object was declared (ownership/place.ts); absent: by a release that did not record it. */
  readonly place?: string;
  /** Commands that ran in the container, by name, each with its mark from `decide-inside.ts`. */
  readonly ran?: Readonly<Record<string, string>>;
  /** Dotted paths of owned keys whose values are secret because of their source: plans hide them also when they are no longer declared. */
  readonly secrets?: readonly string[];
}

/** The `manage:` of the last apply, which applies after the document is removed. */
export interface RecordedPolicy {
  readonly protect: boolean;
  readonly onDelete: Manage['onDelete'];
  readonly prune: boolean | 'confirm' | undefined;
  readonly dependsOn: readonly Address[];
  readonly wave: number | undefined;
}

export interface SetState {
  /** Key of the set's hashes, base64url. */
  readonly key: string;
  /** Counts the runs: a different number means that another run came in between. */
  readonly runs: number;
  /** Records of objects without config, under their API names: `image/<fingerprint>`, `image_alias/debian/12`. */
  readonly inventory: ReadonlyMap<Address, OwnerRecord>;
  /** Containers that need a restart for a change to take effect, each with its last start before the change. */
  readonly restarts: ReadonlyMap<string, string>;
  /** Fingerprints of fetched images with their project, by the hash of their source (image-sources.ts). */
  readonly sources: ReadonlyMap<string, string>;
  /** Containers whose `manage.wait` conditions are not met yet. */
  readonly unready: ReadonlySet<string>;
}
