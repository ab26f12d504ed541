// Migration of containers and custom volumes between servers: its use cases in one place.
import type { VolumeId } from '../../../records/record-names.ts';
import type { ContainerCreate, ContainerPost } from '../../../api/container/container.ts';
import type { Operation } from '../../../api/operation.ts';
import type { StorageVolumeCreate, StorageVolumePost } from '../../../api/storage/volume.ts';
import type { Caller } from '../../shared/caller.ts';
import { migrateContainer, migrateSnapshot, type ContainerSourceDeps } from './container-source.ts';
import { receiveContainer, type ContainerTargetDeps } from './container-target.ts';
import { refreshContainer, refreshed } from './refresh.ts';
import type { RefreshDeps } from './refresh-run.ts';
import { migrateVolume, type VolumeSourceDeps } from './volume-source.ts';
import { receiveVolume, type VolumeTargetDeps } from './volume-target.ts';

export type MigrationDeps = ContainerSourceDeps &
  ContainerTargetDeps &
  RefreshDeps &
  VolumeSourceDeps &
  VolumeTargetDeps;

export class Migrations {
  readonly #deps: MigrationDeps;

  constructor(deps: MigrationDeps) {
    this.#deps = deps;
  }

  sendContainer(caller: Caller, name: string, body: ContainerPost): Promise<Operation> {
    return migrateContainer(this.#deps, caller, name, body);
  }

  sendSnapshot(caller: Caller, container: string, snapshot: string, body: ContainerPost): Operation {
    return migrateSnapshot(this.#deps, caller, container, snapshot, body);
  }

  /** Undefined: the creation is none of ours, but an ordinary one. */
  createContainer(caller: Caller, body: ContainerCreate): Operation | undefined {
    const stale = refreshed(this.#deps, caller.project, body);
    if (stale !== undefined) return refreshContainer(this.#deps, caller, stale, body);
    if (body.source.type !== 'migration') return undefined;
    return receiveContainer(this.#deps, caller, body);
  }

  sendVolume(caller: Caller, type: string, volume: VolumeId, body: StorageVolumePost, snapshot?: string): Operation {
    return migrateVolume(this.#deps, caller, type, volume, body, snapshot);
  }

  receiveVolume(caller: Caller, pool: string, type: string | undefined, body: StorageVolumeCreate): Operation {
    return receiveVolume(this.#deps, caller, pool, type, body);
  }
}
