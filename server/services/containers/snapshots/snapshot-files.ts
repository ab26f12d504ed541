// Helpers of snapshot sagas: find ready snapshots, name them in their pool, delete their files.
import { errors } from '../../../api/errors.ts';
import type { SnapshotRef } from '../../../drivers/storage/driver.ts';
import type { SnapshotDocument } from '../../../records/documents.ts';
import type { ContainerDeps } from '../deps.ts';
import { snapshotKey } from '../shared/snapshot-records.ts';
import { checkpointDirOf } from '../shared/checkpoint.ts';

export type SnapshotSagaDeps = Pick<ContainerDeps, 'records' | 'pools'>;
/** The container's name and pool cannot change during a saga, whose lock is held, and recovery runs alone. They can before a failed undo is
 *  tried again: see `ownerNow`. */
export interface SnapshotOwner {
  readonly container: string;
  readonly uuid: string;
  readonly pool: string;
}

export interface SnapshotParams extends SnapshotOwner {
  readonly snapshot: string;
}

/** The same with the container's place of now. Undefined: it is deleted, with its snapshots; another one may have its name. */
export function ownerNow<P extends SnapshotOwner>({ records }: SnapshotSagaDeps, params: P): P | undefined {
  const owner = records.containers.list().find(({ document }) => document.uuid === params.uuid);
  return owner === undefined ? undefined : { ...params, container: owner.name, pool: owner.document.pool };
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

export async function deleteSnapshotFiles(deps: SnapshotSagaDeps, params: SnapshotParams): Promise<void> {
  const now = ownerNow(deps, params);
  if (now === undefined) return;
  const { driver, pool } = deps.pools.use(now.pool);
  await driver.deleteSnapshot(pool, snapshotRef(now.container, now.snapshot));
}
