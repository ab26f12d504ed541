// A parsed manifest: one document per object, with values as written. The manifest room knows the text; observed.ts holds the live
// objects.
import type { KindName } from '../../../server/api/kinds.ts';
import type { WaitCondition } from '../../../server/api/container/wait-condition.ts';
import type { Contents } from './inside.ts';
import { type JsonObject } from './json.ts';
export { type Json, type JsonObject } from './json.ts';

/** Stable identity of an object in a plan: `container/web1`. */
export type Address = `${KindName}/${string}`;

export const addressOf = (kind: KindName, name: string): Address => `${kind}/${name}`;

/** The inverse of `addressOf`. Names may hold slashes, kinds none. */
export function addressParts(address: Address): { readonly kind: KindName; readonly name: string } {
  const slash = address.indexOf('/');
  return { kind: address.slice(0, slash) as KindName, name: address.slice(slash + 1) };
}

/** 1-based, as editors count. */
export interface Location {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export type PowerState = 'running' | 'stopped';
/** The strongest effect that a plan may have on the object: none, a restart, or deletion and creation. */
export type Disruption = 'none' | 'restart' | 'recreate';

export type PolicyWord = 'observe' | 'create' | 'update' | 'delete';

/** A rule of `manage.ignore`. */
export interface IgnoreRule {
  /** A path pattern: `config.limits.cpu`, `devices.eth0.*`. */
  readonly path: string;
  /** As written: its last day, or the time at which it ends. */
  readonly until?: string;
  readonly reason?: string;
}

/** How existing containers follow a new image. `new-only`: only new containers use the image of gantry.lock. */
export type ImagePolicy = 'none' | 'new-only' | 'rebuild' | 'recreate';

/** The `manage:` block with its defaults filled in. */
export interface Manage {
  /** merge: the set owns the written keys only. add: the same, and keys that are no longer written stay. exact: it owns every local key that the server did not set. */
  readonly mode: 'merge' | 'exact' | 'add';
  readonly image: ImagePolicy;
  /** Whether the object may be pruned when it is no longer declared. Absent: yes, unless it holds data. */
  readonly prune?: boolean | 'confirm';
  /** orphan: destroy and prune release it and leave it on the server. */
  readonly onDelete: 'delete' | 'orphan';
  /** Name of the set that the document belongs to; one name a load. */
  readonly set?: string;
  /** The hosts that the document is for, as host patterns; absent: all. */
  readonly hosts?: readonly string[];
  readonly disruption: Disruption;
  readonly protect: boolean;
  /** Paths that are neither compared nor written, without expired rules. */
  readonly ignore: readonly IgnoreRule[];
  /** Objects of this set, or live objects. */
  readonly dependsOn: readonly Address[];
  /** Order within the set, waves.ts; absent: not written. */
  readonly wave?: number;
  readonly wait: readonly WaitCondition[];
  readonly power: 'managed' | 'ignore';
  /** The allowed actions; absent: all. */
  readonly policy?: readonly PolicyWord[];
  /** For each step of the object. */
  readonly timeoutMs: number;
}

export const defaultManage: Manage = {
  mode: 'merge',
  image: 'none',
  onDelete: 'delete',
  disruption: 'restart',
  protect: false,
  ignore: [],
  dependsOn: [],
  wait: [],
  power: 'managed',
  timeoutMs: 300_000,
};

/** Local files of an image. `fingerprint` is absent until the files were read (offline validation). */
export interface ImageFiles {
  /** Absolute paths. A unified tarball, or separate metadata and rootfs. */
  readonly parts: { readonly file: string } | { readonly metadata: string; readonly rootfs: string };
  readonly fingerprint?: string;
  readonly sizeBytes?: number;
}

export interface Document {
  readonly kind: KindName;
  readonly name: string;
  readonly address: Address;
  /** Only for a project other than the connection's: `name` and `address` then end with it, as in `web1@team`. */
  readonly project?: string;
  readonly location: Location;
  /** The keys of the API object as written, without `kind`, `name` and gantry's reserved keys. `null` = must be absent. */
  readonly values: JsonObject;
  readonly manage: Manage;
  /** Dotted paths of values from a secret store. */
  readonly secrets?: readonly string[];
  /** Labels for selectors. Labels that the live object stores are also in `values.config`. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Containers only. */
  readonly state?: PowerState;
  /** Containers only: bytes of the files under `values.files`. */
  readonly contents?: Contents;
  /** Images only. */
  readonly files?: ImageFiles;
  /** Certificates: SHA-256 of the DER form, hexadecimal. Images with a source: the fingerprint, when it is known. */
  readonly fingerprint?: string;
  /** An `import` of Terraform names the object, so it must exist. */
  readonly isImported?: boolean;
  /** Images that `gantry update` fetched for this set. */
  readonly isFetched?: boolean;
}
