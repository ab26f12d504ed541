// Helpers of snapshot sagas: find ready snapshots, name them in their pool, delete their files.
import { errors } from '../../../api/errors.ts';
import type { SnapshotRef } from '../../../drivers/storage/driver.ts';
import type { SnapshotDocument } from '../../../records/documents.ts';
import type { ContainerDeps } from '../deps.ts';
import { snapshotKey } from '../shared/snapshot-records.ts';
import { checkpointDirOf } from '../shared/checkpoint.ts';

export type SnapshotSagaDeps = Pick<ContainerDeps, 'records' | 'pools'>;
/** The container's name and pool cannot change during a saga: its lock is held, and recovery runs alone. */
export interface SnapshotOwner {
  readonly container: string;
  readonly uuid: string;
  readonly pool: string;
}

export interface SnapshotParams extends SnapshotOwner {
  readonly snapshot: string;
}

export const snapshotRef = (container: string, snapshot: string): SnapshotRef => ({
  volume: { type: 'container', name: container },
  snapshot,
});

export const snapshotCheckpointDir = (deps: SnapshotSagaDeps, { container, pool }: SnapshotOwner): string =>
  checkpointDirOf(deps, { name: container, pool });

export function readySnapshot(
  deps: SnapshotSagaDeps,
  container: string,
  uuid: string,
  snapshot: string,
): SnapshotDocument {
  const document = deps.records.snapshots.get(snapshotKey(uuid, snapshot))?.document;
  if (document === undefined) throw errors.notFound('snapshot', `${container}/${snapshot}`);
  if (document.lifecycle !== 'ready') {
    const what = document.lifecycle === 'creating' ? 'being made' : 'being deleted';
    throw errors.badRequest(`The snapshot ${container}/${snapshot} is busy: it is ${what}`);
  }
  return document;
}

export async function deleteSnapshotFiles(
  deps: SnapshotSagaDeps,
  { pool, container, snapshot }: SnapshotParams,
): Promise<void> {
  const { driver, pool: spec } = deps.pools.use(pool);
  await driver.deleteSnapshot(spec, snapshotRef(container, snapshot));
}
