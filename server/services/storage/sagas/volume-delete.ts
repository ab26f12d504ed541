// The saga that deletes an unused custom volume with its snapshots and backups.
import { type VolumeId, volumeKey } from '../../../records/record-names.ts';
import { readyVolume, type VolumeSagaDeps, refOf } from '../custom-volumes.ts';
import type { Saga } from '../../../operations/saga.ts';
import { volumeUsers } from '../volume-users.ts';
import { errors } from '../../../api/errors.ts';
import { dropBackups } from '../../shared/backups.ts';
import { dropOwned } from '../../shared/owned-records.ts';
import { removeRecord, makeReady } from '../../shared/saga-records.ts';

export function deleteVolumeSaga(deps: VolumeSagaDeps & { readonly backupsDir: string }): Saga<VolumeId> {
  return {
    kind: 'volume-delete',
    onRestart: 'finish',
    begin(changes, volume) {
      const document = readyVolume(deps.records, volume);
      const users = volumeUsers(deps.records, volume);
      if (users.length > 0) throw errors.inUse('storage volume', volumeKey(volume), users);
      changes.put('volumes', volumeKey(volume), { ...document, lifecycle: 'deleting' });
    },
    steps: [
      { name: 'volume', execute: ({ pool, name }) => deps.pools.deleteVolume(pool, refOf(name)) },
      {
        name: 'snapshots',
        async execute(volume) {
          const uuid = deps.records.volumes.get(volumeKey(volume))?.document.uuid;
          if (uuid === undefined) return;
          await dropOwned(deps.records, 'volumeSnapshots', uuid);
          await dropBackups(deps.records, deps.backupsDir, uuid);
        },
      },
    ],
    commit: (changes, volume) => removeRecord(deps.records, changes, 'volumes', volumeKey(volume)),
    rollBack: (changes, volume) => makeReady(deps.records, changes, 'volumes', volumeKey(volume)),
  };
}
