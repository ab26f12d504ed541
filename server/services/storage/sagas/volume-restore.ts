// The saga that restores the content of a custom volume's snapshot.
import { ownedKey, volumeKey } from '../../../records/record-names.ts';
import {
  readyVolume,
  type VolumeSagaDeps,
  type VolumeSnapshotParams,
  readyVolumeSnapshot,
  limitVolume,
} from '../custom-volumes.ts';
import { newCustomVolume } from '../volume-shapes.ts';
import type { Saga } from '../../../operations/saga.ts';

/** Finished after a crash: from the first step on the old content may be gone. */
export function restoreVolumeSaga(deps: VolumeSagaDeps): Saga<VolumeSnapshotParams> {
  return {
    kind: 'volume-restore',
    onRestart: 'finish',
    begin(changes, params) {
      readyVolume(deps.records, params.volume);
      readyVolumeSnapshot(deps.records, params);
      changes.require('volumes', volumeKey(params.volume));
      changes.require('volumeSnapshots', ownedKey(params.uuid, params.snapshot));
    },
    steps: [
      {
        name: 'volume',
        async execute({ volume, snapshot }, context) {
          const { driver, pool } = deps.pools.use(volume.pool);
          const { config } = readyVolume(deps.records, volume);
          const of = newCustomVolume(volume.name, config);
          await driver.restoreSnapshot(pool, { volume: of, snapshot }, context.signal);
        },
      },
      {
        name: 'size',
        async execute({ volume }) {
          await limitVolume(deps.pools, volume, readyVolume(deps.records, volume).config);
        },
      },
    ],
  };
}
