// A whole server as its lists show it: the input for a copy of it. Pure types.
import type { Certificate } from './certificate.ts';
import type { Container } from '../container/container.ts';
import type { Image, ImageAlias } from '../image/image.ts';
import type { NetworkAcl } from '../network/network-acl.ts';
import type { Network } from '../network/network.ts';
import type { StoragePool } from '../storage/pool.ts';
import type { Profile } from '../container/profile.ts';
import type { Project } from '../project/project.ts';
import type { Snapshot } from '../container/snapshot.ts';
import type { StorageVolume } from '../storage/volume.ts';

/** An object in its project; absent: in `default`. */
export type InProject<T> = T & { readonly project?: string };

export interface ServerContents {
  /** As GET /1.0 returns it: only `true` for hidden values. */
  readonly config: Readonly<Record<string, string | boolean>>;
  /** Without `default` if the server has no projects. */
  readonly projects: readonly Project[];
  readonly containers: readonly InProject<Container>[];
  /** By qualified name of the container; nothing is known about absent ones. */
  readonly snapshots: Readonly<Record<string, readonly Snapshot[]>>;
  readonly profiles: readonly InProject<Profile>[];
  readonly acls: readonly NetworkAcl[];
  /** Includes the host's own interfaces, which are not managed. */
  readonly networks: readonly Network[];
  readonly pools: readonly StoragePool[];
  /** Custom volumes only. */
  readonly volumes: readonly InProject<StorageVolume & { readonly pool: string }>[];
  /** Their known properties; their files are not part of it. */
  readonly images: readonly InProject<Image>[];
  readonly aliases: readonly InProject<ImageAlias>[];
  readonly certificates: readonly Certificate[];
  readonly host: ServerHost;
}

export interface ServerHost {
  /** Storage drivers known to be available. */
  readonly poolDrivers: readonly string[];
  /** Absent: unknown, so that no check refuses anything because of it. */
  readonly architectures?: readonly string[];
  readonly cpus?: number;
  readonly memoryBytes?: number;
}
