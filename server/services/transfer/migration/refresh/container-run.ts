// The part of a refresh that does not depend on the source: deletes stale snapshots and adds new trees, all or nothing.
import { errors } from '../../../../api/errors.ts';
import { containerUrl, plainName } from '../../../../api/project/project-names.ts';
import type { VolumeRef } from '../../../../drivers/storage/driver.ts';
import type { SagaContext } from '../../../../operations/saga.ts';
import type { ContainerDocument } from '../../../../records/documents.ts';
import type { Caller } from '../../../shared/caller.ts';
import type { ContainerDeps } from '../../../containers/deps.ts';
import { readyContainer } from '../../../shared/find-container.ts';
import { deleteSnapshotSaga } from '../../../containers/snapshots/snapshot-delete.ts';
import { snapshotsOf, type SnapshotEntry } from '../../../containers/shared/snapshot-records.ts';
import { snapshotUrlOf } from '../../../containers/snapshots/snapshots.ts';
import type { ConnectDeps } from '../connect.ts';
import type { Progress } from '../progress.ts';
import type { PlannedSnapshot, RefreshPart, RefreshPlan } from './plan.ts';
import { refreshContainerSaga, type RefreshParams } from '../sagas/container-refresh.ts';
import type { TargetDeps } from '../target.ts';

export type RefreshDeps = Pick<ContainerDeps, 'operations' | 'events' | 'locks' | 'sagas' | 'runtime' | 'idMaps'> &
  TargetDeps &
  ConnectDeps;

export const refOf = (name: string): VolumeRef => ({ type: 'container', name });

/** The caller holds the locks. Stale snapshots with a name that is added again are deleted first, others once everything has arrived. */
export async function refreshNow(
  deps: RefreshDeps,
  caller: Caller,
  name: string,
  { uuid, pool }: ContainerDocument,
  plan: RefreshPlan,
  offered: readonly SnapshotEntry[],
  fill: (part: RefreshPart, context: SagaContext) => Promise<void>,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const coming = new Set(plan.parts.map((part) => part.snapshot));
  const added = offered.filter((one) => coming.has(one.name));
  const drop = async (snapshot: string): Promise<void> => {
    const params = { container: name, uuid, pool, snapshot };
    await deps.sagas.run(deleteSnapshotSaga(deps), params, { signal });
    const context = { snapshot_name: `${plainName(name)}/${snapshot}` };
    deps.events.lifecycle('container-snapshot-deleted', snapshotUrlOf(name, snapshot), caller, context);
  };
  for (const snapshot of plan.stale.filter((one) => coming.has(one))) await drop(snapshot);
  const params: RefreshParams = { name, uuid, pool, added };
  const work = {
    fill: async (_params: RefreshParams, context: SagaContext): Promise<void> => {
      for (const part of plan.parts) {
        await fill(part, context);
        progress.end();
      }
    },
  };
  await deps.sagas.run(refreshContainerSaga(deps, work), params, { signal });
  for (const snapshot of plan.stale.filter((one) => !coming.has(one))) await drop(snapshot);
  deps.events.lifecycle('container-updated', containerUrl(name), caller);
}

export function stopped(deps: RefreshDeps, name: string): ContainerDocument {
  const { document } = readyContainer(deps.records, name);
  if (deps.runtime.probe(name).status !== 'stopped') throw errors.running(name, 'bringing it up to date');
  return document;
}

export const mine = (deps: RefreshDeps, { uuid }: ContainerDocument): readonly SnapshotEntry[] =>
  snapshotsOf(deps.records, uuid).filter(({ document }) => document.lifecycle === 'ready');

export const plannedOf = ({ name, document }: SnapshotEntry): PlannedSnapshot => ({
  name,
  createdAt: document.createdAt,
});

export const labelOf = (volume: VolumeRef, { snapshot }: RefreshPart): string =>
  [plainName(volume.name), ...(snapshot === undefined ? [] : [snapshot])].join('/');
