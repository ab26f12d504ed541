// What a manifest says, once parsed: one document per object, values as written. Where the text lives is the manifest
// room's business; what the live world looks like is in observed.ts.
import type { KindName } from '../../../server/api/kinds.ts';
import type { WaitCondition } from '../../../server/api/container/wait-condition.ts';
import type { Contents } from './inside.ts';

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Stable identity of an object in a plan: `container/web1`. */
export type Address = `${KindName}/${string}`;

export const addressOf = (kind: KindName, name: string): Address => `${kind}/${name}`;

/** 1-based, as editors count. */
export interface Location {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export type PowerState = 'running' | 'stopped';
/** How much a plan may disturb the object: nothing, a restart, or deletion and creation. */
export type Disruption = 'none' | 'restart' | 'recreate';

export type PolicyWord = 'observe' | 'create' | 'update' | 'delete';

/** Of `manage.ignore`. */
export interface IgnoreRule {
  /** A path pattern: `config.limits.cpu`, `devices.eth0.*`. */
  readonly path: string;
  /** As written: its last day, or the moment at which it ends. */
  readonly until?: string;
  readonly reason?: string;
}

/** What becomes of existing containers when their image moves on. `new-only`: new ones are made from what gantry.lock holds. */
export type ImagePolicy = 'none' | 'new-only' | 'rebuild' | 'recreate';

/** The `manage:` block with its defaults filled in. */
export interface Manage {
  /** merge: only written keys are ours; add: and what is no longer written is left as it is. exact: every local key that the server did not make is. */
  readonly mode: 'merge' | 'exact' | 'add';
  readonly image: ImagePolicy;
  /** Whether it may be pruned once it is no longer declared. Absent: yes, but for what holds data. */
  readonly prune?: boolean | 'confirm';
  /** orphan: destroy and prune let go of it and leave it where it is. */
  readonly onDelete: 'delete' | 'orphan';
  /** Name of the set that the document belongs to; one name a load. */
  readonly set?: string;
  /** For which hosts of a hosts file it is, as in host-pattern.ts; absent: for all. */
  readonly hosts?: readonly string[];
  readonly disruption: Disruption;
  readonly protect: boolean;
  /** What is neither compared nor written; rules that have ended are not among them. */
  readonly ignore: readonly IgnoreRule[];
  /** Of this set, or live. */
  readonly dependsOn: readonly Address[];
  /** Order within the set, waves.ts; absent: not written. */
  readonly wave?: number;
  readonly wait: readonly WaitCondition[];
  readonly power: 'managed' | 'ignore';
  /** What may be done to it; absent: everything. */
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
  /** Absolute paths. Unified tarball, or metadata and rootfs apart. */
  readonly parts: { readonly file: string } | { readonly metadata: string; readonly rootfs: string };
  readonly fingerprint?: string;
  readonly sizeBytes?: number;
}

export interface Document {
  readonly kind: KindName;
  readonly name: string;
  readonly address: Address;
  /** Of another project than the connection's, which `name` and `address` end with: `web1@team`. */
  readonly project?: string;
  readonly location: Location;
  /** The API object's own keys as written, `kind`, `name` and our reserved keys taken out. `null` = must be absent. */
  readonly values: JsonObject;
  readonly manage: Manage;
  /** Dotted paths of values that came out of a secret store. */
  readonly secrets?: readonly string[];
  /** What selectors see; what the live object has of them is in `values.config` too. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Containers only. */
  readonly state?: PowerState;
  /** Containers only: bytes of the files under `values.files`. */
  readonly contents?: Contents;
  /** Images only. */
  readonly files?: ImageFiles;
  /** Certificates: SHA-256 of the DER form, hexadecimal. Images with a source: which image it is, when that is known. */
  readonly fingerprint?: string;
  /** Images that `gantry update` fetched for this set. */
  readonly isFetched?: boolean;
}
