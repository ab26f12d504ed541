// A custom volume is made of what another server sends, or it does not exist.
import type { VolumeSagaDeps, VolumeSnapshots } from '../../storage/custom-volumes.ts';
import { fillVolume, type NewVolume } from '../../storage/new-volume.ts';
import type { SagaContext, Saga } from '../../../operations/saga.ts';
import { putOwned } from '../../owned-records.ts';

export interface ReceiveVolumeParams extends NewVolume {
  readonly snapshots: VolumeSnapshots;
}

export type ReceiveVolume = (params: ReceiveVolumeParams, context: SagaContext) => Promise<void>;

export function receiveVolumeSaga(
  deps: VolumeSagaDeps,
  receive: ReceiveVolume = () => Promise.reject(new Error('The source of the migration is gone')),
): Saga<ReceiveVolumeParams> {
  return {
    kind: 'volume-receive',
    onRestart: 'unwind',
    ...fillVolume<ReceiveVolumeParams>(deps, {
      fill: receive,
      snapshots: ({ document, snapshots }) => putOwned(deps.records, 'volumeSnapshots', document.uuid, snapshots),
    }),
  };
}
