// Creates a whole custom volume from the data of another server or a backup, or nothing.
import { refOf, type VolumeSagaDeps, type VolumeSnapshots } from '../../../storage/custom-volumes.ts';
import { fillVolume, type NewVolume } from '../../../storage/new-volume.ts';
import type { SagaContext, Saga } from '../../../../operations/saga.ts';
import { putOwned } from '../../../shared/owned-records.ts';
import { measured } from '../../../storage/measure-snapshot.ts';

export interface ReceiveVolumeParams extends NewVolume {
  readonly snapshots: VolumeSnapshots;
}

export type ReceiveVolume = (params: ReceiveVolumeParams, context: SagaContext) => Promise<void>;

export function receiveVolumeSaga(
  deps: VolumeSagaDeps,
  receive: ReceiveVolume = () => Promise.reject(new Error('The source of the migration is gone')),
  mustFit = false,
): Saga<ReceiveVolumeParams> {
  return {
    kind: 'volume-receive',
    onRestart: 'unwind',
    ...fillVolume<ReceiveVolumeParams>(deps, {
      fill: receive,
      mustFit,
      async snapshots({ volume, document, snapshots }, { signal }) {
        const place = { pool: volume.pool, volume: refOf(volume.name) };
        const sized = await measured(deps, place, snapshots, signal);
        await putOwned(deps.records, 'volumeSnapshots', document.uuid, sized);
      },
    }),
  };
}
