// The saga that renames a stopped container within its pool, perhaps into another project.
import type { ContainerDeps } from '../deps.ts';
import type { Saga } from '../../../operations/saga.ts';
import { errors } from '../../../api/errors.ts';
import { readyContainer } from '../../shared/find-container.ts';
import { commitMove, requireArrival } from './container-move.ts';
import { moveLogs, moveLogsBack } from '../shared/move-logs.ts';
import { snapshotsOf } from '../shared/snapshot-records.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

export interface RenameParams {
  readonly from: string;
  readonly to: string;
  readonly pool: string;
  /** See MoveParams. */
  readonly instanceId?: string;
}

export function renameContainerSaga(
  deps: Pick<ContainerDeps, 'records' | 'pools' | 'runtime' | 'logsDir'>,
): Saga<RenameParams> {
  const volume = (name: string) => ({ type: 'container', name }) as const;
  return {
    kind: 'container-rename',
    onRestart: 'unwind',
    begin(changes, { from, to, pool }) {
      if (deps.records.isContainerName(to)) throw errors.exists('container', to);
      changes.require('containers', to);
      changes.require('containers', from);
      requireArrival(deps.records, changes, { name: from, pool }, { name: to, pool });
    },
    steps: [
      {
        name: 'volume',
        execute: ({ from, to, pool }) => deps.pools.renameVolume(pool, volume(from), to),
        async undo({ from, to, pool }) {
          if (deps.records.containers.has(from)) await deps.pools.renameVolumeBack(pool, volume(from), to);
        },
      },
      { name: 'runtime', execute: ({ from }) => deps.runtime.forget(from) },
      {
        name: 'logs',
        execute: ({ from, to }) => moveLogs(deps.logsDir, from, to),
        async undo({ from, to }) {
          if (deps.records.containers.has(from)) await moveLogsBack(deps.logsDir, from, to);
        },
      },
    ],
    commit(changes, { from, to, pool, instanceId }) {
      const { document } = readyContainer(deps.records, from);
      if (deps.records.isContainerName(to)) throw errors.exists('container', to);
      const snapshots = snapshotsOf(deps.records, document.uuid).map(({ name }) => name);
      commitMove(deps.records, changes, {
        from: { name: from, pool },
        to: { name: to, pool },
        snapshots,
        ...withoutUndefined({ instanceId }),
      });
    },
  };
}
