// The live world as the plan sees it: plain data of the list calls (recursion=1). Reading it is the engine's work.
import type { KindTypes } from '../../../server/api/kind-schemas.ts';
import { kinds, listedKinds, type KindName, type ListedKind } from '../../../server/api/kinds.ts';
import type { SetState } from '../ownership/set-state.ts';

export interface Live<T> {
  readonly object: T;
  /** Verbatim ETag header of a GET of this object, when one was made. */
  readonly etag?: string;
}

export type PooledVolume = KindTypes['storage_volume']['object'];

type Tables = {
  readonly [K in ListedKind as (typeof kinds)[K]['table']]: ReadonlyMap<string, Live<KindTypes[K]['object']>>;
};

/** A table for each kind of which there is a list, by the names of `nameOfObject`; `projects` is empty where the server has none. */
export interface Observed extends Tables {
  readonly server: {
    readonly extensions: readonly string[];
    /** Of these, those whose requests it answers with 501. */
    readonly unserved?: readonly string[];
    /** Server config as shown; hidden keys are `true`. Absent where the client may not see it. */
    readonly config?: Readonly<Record<string, string | boolean>>;
    readonly etag?: string;
    /** Nothing listens on its core.https_address, which is only saved. */
    readonly isDeaf?: boolean;
    /** Real LXD knows snapshots without a description. */
    readonly lacksSnapshotDescriptions?: boolean;
  };
  /** What each set keeps on the server. */
  readonly sets?: ReadonlyMap<string, SetState>;
  /** Names of the members of a cluster; networks and pools have `member_overrides` then, with the config of each. */
  readonly members?: readonly string[];
  /** Project of the connection; default `default`. Objects of others go by `NAME@PROJECT` and have a member `project`. */
  readonly base?: string;
}

export const emptyWorld: Observed = {
  server: { extensions: [] },
  ...(Object.fromEntries(listedKinds.map((kind) => [kinds[kind].table, new Map()])) as unknown as Tables),
};

const none: ReadonlyMap<string, Live<object>> = new Map();

/** Live objects of a kind; none of the server config, which is no list. */
export const tableOf = (observed: Observed, kind: KindName): ReadonlyMap<string, Live<object>> =>
  kind === 'server_config' ? none : observed[kinds[kind].table];
