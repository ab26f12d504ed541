// Changes the host for the refresh of a copy: creates new snapshots beside the old ones, then replaces the volume in one step. The caller
// supplies the content, from this server or another one.
import { errors } from '../../../../api/errors.ts';
import type { Saga } from '../../../../operations/saga.ts';
import type { ContainerDeps } from '../../../containers/deps.ts';
import type { Changes } from '../../../../records/records.ts';
import { readyContainer } from '../../../shared/find-container.ts';
import { idMapKeys } from '../../../containers/shared/id-maps.ts';
import { limitNewRoot } from '../../../storage/root-size.ts';
import { measured } from '../../../storage/measure-snapshot.ts';
import { putSnapshots, snapshotKey, type SnapshotEntry } from '../../../containers/shared/snapshot-records.ts';
import { removeCheckpoint, checkpointDirOf } from '../../../containers/shared/checkpoint.ts';
import { expand } from '../../../shared/expand.ts';
import { forgetOwned } from '../../../shared/owned-records.ts';
import { profilesOf } from '../../../shared/project-scope.ts';
import { refreshSteps, refuseAdded, sourceIsGone, type RefreshWork } from './refresh-steps.ts';

export interface RefreshParams {
  readonly name: string;
  readonly uuid: string;
  readonly pool: string;
  /** Snapshots that the copy lacks. */
  readonly added: readonly SnapshotEntry[];
}

/** Rollback removes the added snapshots; a volume that was complete stays refreshed. */
export function refreshContainerSaga(
  deps: Pick<ContainerDeps, 'records' | 'pools'>,
  { fill }: RefreshWork<RefreshParams> = sourceIsGone,
): Saga<RefreshParams> {
  const putRefreshed = (changes: Changes, { name }: RefreshParams): void => {
    const entry = deps.records.containers.get(name);
    if (entry === undefined) return;
    const config = { ...entry.document.config, [idMapKeys.files]: '[]' };
    changes.put('containers', name, { ...entry.document, config, stateful: false });
  };
  return {
    kind: 'container-refresh',
    onRestart: 'unwind',
    refuse: ({ name, pool, added }) => refuseAdded(deps.pools, pool, { type: 'container', name }, added),
    begin(changes, { name, uuid, added }) {
      if (readyContainer(deps.records, name).document.uuid !== uuid) throw errors.notFound('container', name);
      for (const snapshot of added) {
        if (deps.records.snapshots.has(snapshotKey(uuid, snapshot.name)))
          throw errors.exists('snapshot', `${name}/${snapshot.name}`);
      }
      changes.require('containers', name);
    },
    steps: [
      ...refreshSteps<RefreshParams>(
        {
          pools: deps.pools,
          placeOf: ({ name, pool }) => [pool, { type: 'container', name }],
          async limit({ name, pool }) {
            const { document } = readyContainer(deps.records, name);
            const { devices } = expand(document, profilesOf(deps.records, name));
            await limitNewRoot(deps.pools, pool, name, devices);
          },
          async record({ name, pool, uuid, added }, { signal }) {
            const place = { pool, volume: { type: 'container', name } } as const;
            await putSnapshots(deps.records, uuid, await measured(deps, place, added, signal));
          },
          forget: ({ uuid, added }) => forgetOwned(deps.records, 'snapshots', uuid, added),
        },
        fill,
      ),
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
