// The dependencies of migrations, and the decision which creations of containers are migrations.
import type { ContainerCreate } from '../../../api/container/container.ts';
import type { Operation } from '../../../api/operation.ts';
import type { Caller } from '../../shared/caller.ts';
import type { ContainerSourceDeps } from './container-source.ts';
import { receiveContainer, type ContainerTargetDeps } from './container-target.ts';
import { refreshContainer, refreshed } from './refresh/containers.ts';
import type { RefreshDeps } from './refresh/container-run.ts';
import type { RefreshVolumeDeps } from './refresh/volumes.ts';
import type { VolumeSourceDeps } from './volume-source.ts';
import type { VolumeTargetDeps } from './volume-target.ts';

export type MigrationDeps = ContainerSourceDeps &
  ContainerTargetDeps &
  RefreshDeps &
  RefreshVolumeDeps &
  VolumeSourceDeps &
  VolumeTargetDeps;

/** Undefined for an ordinary creation, which receives nothing from another server. */
export function createByTransfer(deps: MigrationDeps, caller: Caller, body: ContainerCreate): Operation | undefined {
  const stale = refreshed(deps, caller.project, body);
  if (stale !== undefined) return refreshContainer(deps, caller, stale, body);
  return body.source.type === 'migration' ? receiveContainer(deps, caller, body) : undefined;
}
