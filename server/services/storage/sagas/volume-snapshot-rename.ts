// The saga that renames a snapshot of a custom volume.
import { ownedKey, volumeKey } from '../../../records/record-names.ts';
import {
  refOf,
  type VolumeSnapshotParams,
  type VolumeSagaDeps,
  readyVolumeSnapshot,
  volumeNow,
  volumeSnapshotKey,
} from '../custom-volumes.ts';
import type { Saga } from '../../../operations/saga.ts';
import { errors } from '../../../api/errors.ts';

export function renameVolumeSnapshotSaga(deps: VolumeSagaDeps): Saga<VolumeSnapshotParams & { readonly to: string }> {
  return {
    kind: 'volume-snapshot-rename',
    onRestart: 'unwind',
    begin(changes, params) {
      readyVolumeSnapshot(deps.records, params);
      const target = ownedKey(params.uuid, params.to);
      if (deps.records.volumeSnapshots.has(target))
        throw errors.exists('snapshot', `${volumeKey(params.volume)}/${params.to}`);
      changes.require('volumeSnapshots', volumeSnapshotKey(params));
      changes.require('volumeSnapshots', target);
    },
    steps: [
      {
        name: 'snapshot',
        execute: ({ volume, snapshot, to }) =>
          deps.pools.renameSnapshot(volume.pool, { volume: refOf(volume.name), snapshot }, to),
        async undo(params) {
          const volume = volumeNow(deps.records, params);
          if (volume === undefined) return;
          const snapshot = { volume: refOf(volume.name), snapshot: params.snapshot };
          await deps.pools.renameSnapshotBack(volume.pool, snapshot, params.to);
        },
      },
    ],
    commit(changes, params) {
      const { document } = readyVolumeSnapshot(deps.records, params);
      changes.delete('volumeSnapshots', volumeSnapshotKey(params));
      changes.put('volumeSnapshots', ownedKey(params.uuid, params.to), document);
    },
  };
}
