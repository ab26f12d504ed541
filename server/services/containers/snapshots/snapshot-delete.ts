// The saga that deletes a snapshot of a container.
import { readySnapshot, type SnapshotSagaDeps, type SnapshotParams, deleteSnapshotFiles } from './snapshot-files.ts';
import type { Saga } from '../../../operations/saga.ts';
import { snapshotKey } from '../shared/snapshot-records.ts';
import { removeRecord, makeReady } from '../../shared/saga-records.ts';

export function deleteSnapshotSaga(deps: SnapshotSagaDeps): Saga<SnapshotParams> {
  return {
    kind: 'snapshot-delete',
    onRestart: 'finish',
    begin(changes, { container, uuid, snapshot }) {
      const document = readySnapshot(deps, container, uuid, snapshot);
      changes.put('snapshots', snapshotKey(uuid, snapshot), { ...document, lifecycle: 'deleting' });
    },
    steps: [{ name: 'snapshot', execute: (params) => deleteSnapshotFiles(deps, params) }],
    commit: (changes, { uuid, snapshot }) =>
      removeRecord(deps.records, changes, 'snapshots', snapshotKey(uuid, snapshot)),
    // The record returns so that the deletion can be retried.
    rollBack: (changes, { uuid, snapshot }) =>
      makeReady(deps.records, changes, 'snapshots', snapshotKey(uuid, snapshot)),
  };
}
