// The saga that renames a snapshot of a container.
import { ownerNow, snapshotRef, type SnapshotParams, type SnapshotSagaDeps, readySnapshot } from './snapshot-files.ts';
import type { Saga } from '../../../operations/saga.ts';
import { snapshotKey } from '../shared/snapshot-records.ts';
import { errors } from '../../../api/errors.ts';

export function renameSnapshotSaga(deps: SnapshotSagaDeps): Saga<SnapshotParams & { readonly to: string }> {
  return {
    kind: 'snapshot-rename',
    onRestart: 'unwind',
    begin(changes, { container, uuid, snapshot, to }) {
      readySnapshot(deps, container, uuid, snapshot);
      if (deps.records.snapshots.has(snapshotKey(uuid, to))) throw errors.exists('snapshot', `${container}/${to}`);
      changes.require('snapshots', snapshotKey(uuid, snapshot));
      changes.require('snapshots', snapshotKey(uuid, to));
    },
    steps: [
      {
        name: 'snapshot',
        execute: ({ pool, container, snapshot, to }) =>
          deps.pools.renameSnapshot(pool, snapshotRef(container, snapshot), to),
        async undo(params) {
          const now = ownerNow(deps, params);
          if (now === undefined) return;
          await deps.pools.renameSnapshotBack(now.pool, snapshotRef(now.container, now.snapshot), now.to);
        },
      },
    ],
    commit(changes, { container, uuid, snapshot, to }) {
      const document = readySnapshot(deps, container, uuid, snapshot);
      changes.delete('snapshots', snapshotKey(uuid, snapshot));
      changes.put('snapshots', snapshotKey(uuid, to), document);
    },
  };
}
