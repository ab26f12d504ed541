// The saga that deletes a snapshot of a custom volume.
import {
  readyVolumeSnapshot,
  volumeNow,
  type VolumeSagaDeps,
  type VolumeSnapshotParams,
  volumeSnapshotKey,
  refOf,
} from '../custom-volumes.ts';
import type { Saga } from '../../../operations/saga.ts';
import { removeRecord, makeReady } from '../../shared/saga-records.ts';

export function deleteVolumeSnapshotSaga(deps: VolumeSagaDeps): Saga<VolumeSnapshotParams> {
  return {
    kind: 'volume-snapshot-delete',
    onRestart: 'finish',
    begin(changes, params) {
      const { document } = readyVolumeSnapshot(deps.records, params);
      changes.put('volumeSnapshots', volumeSnapshotKey(params), { ...document, lifecycle: 'deleting' });
    },
    steps: [{ name: 'snapshot', execute: (params) => dropVolumeSnapshot(deps, params) }],
    commit: (changes, params) => removeRecord(deps.records, changes, 'volumeSnapshots', volumeSnapshotKey(params)),
    rollBack: (changes, params) => makeReady(deps.records, changes, 'volumeSnapshots', volumeSnapshotKey(params)),
  };
}

export async function dropVolumeSnapshot(deps: VolumeSagaDeps, params: VolumeSnapshotParams): Promise<void> {
  const volume = volumeNow(deps.records, params);
  if (volume === undefined) return;
  const { driver, pool } = deps.pools.use(volume.pool);
  await driver.deleteSnapshot(pool, { volume: refOf(volume.name), snapshot: params.snapshot });
}
