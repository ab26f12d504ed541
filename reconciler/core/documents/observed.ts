// The live world as the plan sees it: plain data of the list calls (recursion=1). Reading it is the engine's work.
import type { Certificate } from '../../../server/api/server/certificate.ts';
import type { Project } from '../../../server/api/cluster/cluster.ts';
import type { Container } from '../../../server/api/container/container.ts';
import type { Image, ImageAlias } from '../../../server/api/image/image.ts';
import type { Network } from '../../../server/api/network/network.ts';
import type { StoragePool } from '../../../server/api/storage/pool.ts';
import type { Profile } from '../../../server/api/container/profile.ts';
import type { StorageVolume } from '../../../server/api/storage/volume.ts';
import type { SetState } from '../ownership/set-state.ts';

export interface Live<T> {
  readonly object: T;
  /** Verbatim ETag header of a GET of this object, when one was made. */
  readonly etag?: string;
}

export type PooledVolume = StorageVolume & { readonly pool: string };

export interface Observed {
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
  readonly containers: ReadonlyMap<string, Live<Container>>;
  readonly profiles: ReadonlyMap<string, Live<Profile>>;
  readonly networks: ReadonlyMap<string, Live<Network>>;
  readonly pools: ReadonlyMap<string, Live<StoragePool>>;
  /** By full fingerprint. */
  readonly images: ReadonlyMap<string, Live<Image>>;
  readonly aliases: ReadonlyMap<string, Live<ImageAlias>>;
  /** Custom volumes, by `POOL/VOLUME`. */
  readonly volumes: ReadonlyMap<string, Live<PooledVolume>>;
  /** By fingerprint. */
  readonly certificates: ReadonlyMap<string, Live<Certificate>>;
  /** Empty where the server has none. */
  readonly projects: ReadonlyMap<string, Live<Project>>;
  /** Names of the members of a cluster; networks and pools have `member_overrides` then, with the config of each. */
  readonly members?: readonly string[];
  /** Project of the connection; default `default`. Objects of others go by `NAME@PROJECT` and have a member `project`. */
  readonly base?: string;
}

export const emptyWorld: Observed = {
  server: { extensions: [] },
  containers: new Map(),
  profiles: new Map(),
  networks: new Map(),
  pools: new Map(),
  images: new Map(),
  aliases: new Map(),
  volumes: new Map(),
  certificates: new Map(),
  projects: new Map(),
};
