// A custom volume is made of what another server sends, or it does not exist.
import type { VolumeDocument } from '../../../records/documents.ts';
import { type VolumeId, volumeKey } from '../../../records/record-names.ts';
import {
  refOf,
  type VolumeSnapshots,
  type VolumeSagaDeps,
  limitVolume,
  requirePool,
} from '../../storage/custom-volumes.ts';
import type { SagaContext, Saga } from '../../../operations/saga.ts';
import { errors } from '../../../api/errors.ts';
import { putOwned, dropOwned } from '../../owned-records.ts';
import { requireProject } from '../../project-scope.ts';
import { removeRecord } from '../../saga-records.ts';

export interface ReceiveVolumeParams {
  readonly volume: VolumeId;
  readonly document: VolumeDocument;
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
    begin(changes, { volume, document }) {
      const key = volumeKey(volume);
      if (deps.records.volumes.has(key)) throw errors.exists('storage volume', key);
      requirePool(deps.records, changes, volume.pool);
      requireProject(deps.records, changes, volume.name);
      changes.put('volumes', key, { ...document, lifecycle: 'creating' });
    },
    steps: [
      {
        name: 'place',
        execute: ({ volume }) => deps.pools.refuseVolume(volume.pool, refOf(volume.name)),
      },
      {
        name: 'volume',
        execute: receive,
        undo: ({ volume }) => deps.pools.deleteVolume(volume.pool, refOf(volume.name)),
      },
      {
        name: 'size',
        execute: ({ volume, document }) => limitVolume(deps.pools, volume, document.config),
      },
      {
        name: 'snapshots',
        execute: ({ document, snapshots }) => putOwned(deps.records, 'volumeSnapshots', document.uuid, snapshots),
        // Their files go with the volume.
        undo: ({ document }) => dropOwned(deps.records, 'volumeSnapshots', document.uuid),
      },
    ],
    commit: (changes, { volume, document }) => changes.put('volumes', volumeKey(volume), document),
    rollBack: (changes, { volume }) => removeRecord(deps.records, changes, 'volumes', volumeKey(volume)),
  };
}
