// The dependencies of the container use cases; each takes the members it needs.
import type { ServiceParts } from '../shared/service-parts.ts';
import type { HostPaths } from '../../drivers/devices/host-paths.ts';
import type { Pools } from '../storage/pools.ts';
import type { MaasRegistry } from '../networks/maas-registry.ts';
import type { WarningSink } from '../warnings/warning-sink.ts';
import type { ImagePulls } from '../images/image-pulls.ts';
import type { ImageStore } from '../images/image-store.ts';
import type { GuestAccess } from './guest-access.ts';
import type { IdMaps } from './shared/id-maps.ts';
import type { RunningDevices } from './devices/running-devices.ts';
import type { ContainerView } from '../shared/container-view.ts';

export interface ContainerDeps extends Pick<
  ServiceParts,
  'records' | 'runtime' | 'network' | 'operations' | 'sagas' | 'events' | 'locks' | 'clock' | 'log'
> {
  readonly pools: Pools;
  readonly images: ImageStore;
  readonly pulls: ImagePulls;
  readonly view: ContainerView;
  readonly running: RunningDevices;
  readonly guests: GuestAccess;
  readonly warnings: WarningSink;
  readonly idMaps: IdMaps;
  readonly maas: MaasRegistry;
  /** Takes the snapshot of a container whose schedule has @startup; the caller holds its lock. */
  readonly snapshotAtStart: (name: string, signal: AbortSignal) => Promise<void>;
  /** Architectures that this host runs, its own first. */
  readonly architectures: readonly [string, ...string[]];
  /** Where devices find host files; default: this host's paths. */
  readonly paths?: HostPaths;
  readonly logsDir: string;
  readonly backupsDir: string;
}
