// The saga that renames a snapshot of a custom volume.
import { ownedKey, volumeKey } from '../../../records/record-names.ts';
import {
  refOf,
  type VolumeSnapshotParams,
  type VolumeSagaDeps,
  readyVolumeSnapshot,
  volumeSnapshotKey,
} from '../custom-volumes.ts';
import type { Saga } from '../../../operations/saga.ts';
import { errors } from '../../../api/errors.ts';

export type RenameVolumeSnapshotParams = VolumeSnapshotParams & { readonly to: string };

export function renameVolumeSnapshotSaga(deps: VolumeSagaDeps): Saga<RenameVolumeSnapshotParams> {
  const rename = async ({ volume }: VolumeSnapshotParams, from: string, to: string): Promise<void> => {
    const { driver, pool } = deps.pools.use(volume.pool);
    await driver.renameSnapshot(pool, { volume: refOf(volume.name), snapshot: from }, to);
  };
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
        execute: (params) => rename(params, params.snapshot, params.to),
        undo: (params) => rename(params, params.to, params.snapshot),
      },
    ],
    commit(changes, params) {
      const { document } = readyVolumeSnapshot(deps.records, params);
      changes.delete('volumeSnapshots', volumeSnapshotKey(params));
      changes.put('volumeSnapshots', ownedKey(params.uuid, params.to), document);
    },
  };
}
