// The part of a container's refresh that does not depend on the source: deletes stale snapshots and adds new trees, all or nothing.
import { errors } from '../../../../api/errors.ts';
import { containerUrl, plainName } from '../../../../api/project/project-names.ts';
import type { VolumeRef } from '../../../../drivers/storage/driver.ts';
import type { ContainerDocument } from '../../../../records/documents.ts';
import type { Caller } from '../../../shared/caller.ts';
import type { ContainerDeps } from '../../../containers/deps.ts';
import { readyContainer } from '../../../shared/find-container.ts';
import { deleteSnapshotSaga } from '../../../containers/snapshots/snapshot-delete.ts';
import { snapshotsOf, type SnapshotEntry } from '../../../containers/shared/snapshot-records.ts';
import { snapshotUrlOf } from '../../../containers/snapshots/snapshots.ts';
import type { ConnectDeps } from '../connect.ts';
import type { Progress } from '../progress.ts';
import { runPlan, type PlannedParts } from './parts.ts';
import { refreshContainerSaga, type RefreshParams } from '../sagas/container-refresh.ts';
import type { TargetDeps } from '../target.ts';

export type RefreshDeps = Pick<ContainerDeps, 'operations' | 'events' | 'locks' | 'sagas' | 'runtime' | 'idMaps'> &
  TargetDeps &
  ConnectDeps;

export const refOf = (name: string): VolumeRef => ({ type: 'container', name });

/** A refresh that runs: the caller holds the locks. */
export interface ContainerRefresh {
  readonly caller: Caller;
  readonly name: string;
  readonly document: ContainerDocument;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** `offered`: the wanted snapshots of the source. */
export async function refreshNow(
  deps: RefreshDeps,
  { caller, name, document: { uuid, pool }, progress, signal }: ContainerRefresh,
  parts: PlannedParts,
  offered: readonly SnapshotEntry[],
): Promise<void> {
  const drop = async (snapshot: string): Promise<void> => {
    const params = { container: name, uuid, pool, snapshot };
    await deps.sagas.run(deleteSnapshotSaga(deps), params, { signal });
    const context = { snapshot_name: `${plainName(name)}/${snapshot}` };
    deps.events.lifecycle('container-snapshot-deleted', snapshotUrlOf(name, snapshot), caller, context);
  };
  await runPlan(parts, progress, drop, async (coming, fill) => {
    const params: RefreshParams = { name, uuid, pool, added: offered.filter((one) => coming.has(one.name)) };
    await deps.sagas.run(refreshContainerSaga(deps, { fill }), params, { signal });
  });
  deps.events.lifecycle('container-updated', containerUrl(name), caller);
}

export function stopped(deps: RefreshDeps, name: string): ContainerDocument {
  const { document } = readyContainer(deps.records, name);
  if (deps.runtime.probe(name).status !== 'stopped') throw errors.running(name, 'bringing it up to date');
  return document;
}

export const mine = (deps: RefreshDeps, { uuid }: ContainerDocument): readonly SnapshotEntry[] =>
  snapshotsOf(deps.records, uuid).filter(({ document }) => document.lifecycle === 'ready');
