// A whole server as its lists show it: what a copy of it is made from. Pure types.
import type { Certificate } from './certificate.ts';
import type { Container } from '../container/container.ts';
import type { Image, ImageAlias } from '../image/image.ts';
import type { Network } from '../network/network.ts';
import type { StoragePool } from '../storage/pool.ts';
import type { Profile } from '../container/profile.ts';
import type { Snapshot } from '../container/snapshot.ts';
import type { StorageVolume } from '../storage/volume.ts';

export interface World {
  /** As GET /1.0 shows it: of what is hidden only `true`. */
  readonly config: Readonly<Record<string, string | boolean>>;
  readonly containers: readonly Container[];
  /** By container; of those that are left out nothing is known. */
  readonly snapshots: Readonly<Record<string, readonly Snapshot[]>>;
  readonly profiles: readonly Profile[];
  /** With the host's own interfaces, which are not managed. */
  readonly networks: readonly Network[];
  readonly pools: readonly StoragePool[];
  /** Custom ones. */
  readonly volumes: readonly (StorageVolume & { readonly pool: string })[];
  /** What is known of them; their files are not there. */
  readonly images: readonly Image[];
  readonly aliases: readonly ImageAlias[];
  readonly certificates: readonly Certificate[];
  readonly host: WorldHost;
}

export interface WorldHost {
  /** Storage drivers that it is known to have. */
  readonly poolDrivers: readonly string[];
  /** Absent: not known, so that nothing is refused for it. */
  readonly cpus?: number;
  readonly memoryBytes?: number;
}
