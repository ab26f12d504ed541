// Changes the host for the refresh of a copy: creates new snapshots beside the old ones, then replaces the volume in one step. The caller
// supplies the content, from this server or another one.
import { errors } from '../../../../api/errors.ts';
import type { SnapshotRef } from '../../../../drivers/storage/driver.ts';
import type { Saga, SagaContext } from '../../../../operations/saga.ts';
import type { ContainerDeps } from '../../../containers/deps.ts';
import type { Changes } from '../../../../records/records.ts';
import { readyContainer } from '../../../shared/find-container.ts';
import { idMapKeys } from '../../../containers/shared/id-maps.ts';
import { limitNewRoot } from '../../../storage/root-size.ts';
import { measured } from '../../../storage/measure-snapshot.ts';
import { putSnapshots, snapshotKey, type SnapshotEntry } from '../../../containers/shared/snapshot-records.ts';
import { removeCheckpoint, checkpointDirOf } from '../../../containers/shared/checkpoint.ts';
import { expand } from '../../../shared/expand.ts';
import { removeRecord } from '../../../shared/saga-records.ts';
import { profilesOf } from '../../../shared/project-scope.ts';

export interface RefreshParams {
  readonly name: string;
  readonly uuid: string;
  readonly pool: string;
  /** Snapshots that the copy lacks. */
  readonly added: readonly SnapshotEntry[];
}

export interface RefreshWork {
  /** Fills the added snapshots, in their order, then the volume: each all or nothing. */
  readonly fill: (params: RefreshParams, context: SagaContext) => Promise<void>;
}

const gone: RefreshWork = { fill: () => Promise.reject(new Error('The source of the copy is gone')) };

/** Rollback removes the added snapshots; a volume that was complete stays refreshed. */
export function refreshContainerSaga(
  deps: Pick<ContainerDeps, 'records' | 'pools'>,
  { fill }: RefreshWork = gone,
): Saga<RefreshParams> {
  const putRefreshed = (changes: Changes, { name }: RefreshParams): void => {
    const entry = deps.records.containers.get(name);
    if (entry === undefined) return;
    const config = { ...entry.document.config, [idMapKeys.files]: '[]' };
    changes.put('containers', name, { ...entry.document, config, stateful: false });
  };
  const refOf = (name: string, snapshot: string): SnapshotRef => ({ volume: { type: 'container', name }, snapshot });
  return {
    kind: 'container-refresh',
    onRestart: 'unwind',
    async refuse({ name, pool, added }) {
      for (const snapshot of added) await deps.pools.refuseSnapshot(pool, refOf(name, snapshot.name));
    },
    begin(changes, { name, uuid, added }) {
      if (readyContainer(deps.records, name).document.uuid !== uuid) throw errors.notFound('container', name);
      for (const snapshot of added) {
        if (deps.records.snapshots.has(snapshotKey(uuid, snapshot.name)))
          throw errors.exists('snapshot', `${name}/${snapshot.name}`);
      }
      changes.require('containers', name);
    },
    steps: [
      {
        name: 'content',
        execute: fill,
        async undo({ name, pool, added }) {
          const { driver, pool: spec } = deps.pools.use(pool);
          for (const snapshot of added) await driver.deleteSnapshot(spec, refOf(name, snapshot.name));
        },
      },
      {
        name: 'size',
        async execute({ name, pool }) {
          const { document } = readyContainer(deps.records, name);
          const { devices } = expand(document, profilesOf(deps.records, name));
          await limitNewRoot(deps.pools, pool, name, devices);
        },
      },
      {
        name: 'snapshots',
        async execute({ name, pool, uuid, added }, { signal }) {
          const place = { pool, volume: { type: 'container', name } } as const;
          await putSnapshots(deps.records, uuid, await measured(deps, place, added, signal));
        },
        async undo({ uuid, added }) {
          for (const { name } of added) {
            await deps.records.retry((changes) => {
              removeRecord(deps.records, changes, 'snapshots', snapshotKey(uuid, name));
            });
          }
        },
      },
      {
        // A checkpoint belongs to the files before the refresh, so it is dropped.
        name: 'state',
        execute: (place) => removeCheckpoint(checkpointDirOf(deps, place)),
      },
    ],
    commit: putRefreshed,
    // The owners of files in a refreshed volume are other ones, whatever failed after it.
    rollBack(changes, params, stepsDone) {
      if (stepsDone > 0) putRefreshed(changes, params);
    },
  };
}
