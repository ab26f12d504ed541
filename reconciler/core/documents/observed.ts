// The live objects that a plan reads: plain data of the list calls (recursion=1). The engine requests it.
import type { KindTypes } from '../../../server/api/kind-schemas.ts';
import { kinds, listedKinds, type KindName, type ListedKind } from '../../../server/api/kinds.ts';
import type { SetState } from './ownership-records.ts';

export interface Live<T> {
  readonly object: T;
  /** Verbatim ETag header of a GET of this object, when there was one. */
  readonly etag?: string;
  /** Volumes with the same name on other members of the cluster. */
  readonly twins?: readonly T[];
}

/** A member of the cluster. */
export interface ObservedMember {
  /** Online, Offline, Evacuated, ... */
  readonly status: string;
  /** Absent on servers without groups of members. */
  readonly groups?: readonly string[];
  /** Absent on servers that do not report it. */
  readonly architecture?: string;
}

export type PooledVolume = KindTypes['storage_volume']['object'];

type Tables = {
  readonly [K in ListedKind as (typeof kinds)[K]['table']]: ReadonlyMap<string, Live<KindTypes[K]['object']>>;
};

/** A table for each kind that the server lists, by the names of `nameOfObject`; `projects` is empty when the server has none. */
export interface Observed extends Tables {
  readonly server: {
    readonly extensions: readonly string[];
    /** Extensions whose requests it does not serve. */
    readonly unserved?: readonly string[];
    /** Server config as shown; hidden keys are `true`. Absent when the client may not see it. */
    readonly config?: Readonly<Record<string, string | boolean>>;
    readonly etag?: string;
    /** The server stores core.https_address but does not listen on it. */
    readonly isDeaf?: boolean;
    /** True for a gantryd, whose rules predict what it refuses. */
    readonly isGantry?: boolean;
    /** Pool drivers of this server. Absent: not reported. */
    readonly poolDrivers?: readonly string[];
    /** Architectures that its host runs, its own first. Absent: not reported. */
    readonly architectures?: readonly string[];
    /** True when snapshots cannot have a description, as on LXD. */
    readonly lacksSnapshotDescriptions?: boolean;
  };
  /** Notes about sets in a profile of the project of the connection (core/ownership/project-notes.ts). */
  readonly projectNotes?: Readonly<Record<string, string>>;
  /** The state of each set on the server. */
  readonly sets?: ReadonlyMap<string, SetState>;
  /** Members of the cluster by name; networks and pools have `member_overrides` then, with the config of each that answers. */
  readonly members?: ReadonlyMap<string, ObservedMember>;
  /** Project of the connection; default `default`. Objects of other projects are named `NAME@PROJECT` and have a member `project`. */
  readonly base?: string;
}

export const emptyWorld: Observed = {
  server: { extensions: [] },
  ...(Object.fromEntries(listedKinds.map((kind) => [kinds[kind].table, new Map()])) as unknown as Tables),
};

const none: ReadonlyMap<string, Live<object>> = new Map();

/** Live objects of a kind; empty for the server config, which is not a list. */
export const tableOf = (observed: Observed, kind: KindName): ReadonlyMap<string, Live<object>> =>
  kind === 'server_config' ? none : observed[kinds[kind].table];
