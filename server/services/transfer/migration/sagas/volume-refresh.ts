// Brings a copy of a custom volume up to date: creates new snapshots beside the old ones, then replaces the volume in one step. The caller
// supplies the content, from this server or another one.
import { errors } from '../../../../api/errors.ts';
import type { Saga } from '../../../../operations/saga.ts';
import { ownedKey, volumeKey, type VolumeId } from '../../../../records/record-names.ts';
import { forgetOwned, putOwned } from '../../../shared/owned-records.ts';
import {
  limitVolume,
  readyVolume,
  refOf,
  type VolumeSagaDeps,
  type VolumeSnapshots,
} from '../../../storage/custom-volumes.ts';
import { measured } from '../../../storage/measure-snapshot.ts';
import { refreshSteps, refuseAdded, sourceIsGone, type RefreshWork } from './refresh-steps.ts';

export interface RefreshVolumeParams {
  readonly volume: VolumeId;
  readonly uuid: string;
  /** Snapshots that the copy lacks. */
  readonly added: VolumeSnapshots;
}

/** Rollback removes the added snapshots; a volume that was complete stays refreshed. */
export function refreshVolumeSaga(
  deps: VolumeSagaDeps,
  { fill }: RefreshWork<RefreshVolumeParams> = sourceIsGone,
): Saga<RefreshVolumeParams> {
  const { records, pools } = deps;
  return {
    kind: 'volume-refresh',
    onRestart: 'unwind',
    refuse: ({ volume, added }) => refuseAdded(pools, volume.pool, refOf(volume.name), added),
    begin(changes, { volume, uuid, added }) {
      if (readyVolume(records, volume).uuid !== uuid) throw errors.notFound('storage volume', volumeKey(volume));
      for (const { name } of added) {
        if (records.volumeSnapshots.has(ownedKey(uuid, name)))
          throw errors.exists('snapshot', `${volumeKey(volume)}/${name}`);
      }
      changes.require('volumes', volumeKey(volume));
    },
    steps: refreshSteps<RefreshVolumeParams>(
      {
        pools,
        placeOf: ({ volume }) => [volume.pool, refOf(volume.name)],
        limit: ({ volume }) => limitVolume(pools, volume, readyVolume(records, volume).config),
        async record({ volume, uuid, added }, { signal }) {
          const place = { pool: volume.pool, volume: refOf(volume.name) };
          await putOwned(records, 'volumeSnapshots', uuid, await measured(deps, place, added, signal));
        },
        forget: ({ uuid, added }) => forgetOwned(records, 'volumeSnapshots', uuid, added),
      },
      fill,
    ),
  };
}
