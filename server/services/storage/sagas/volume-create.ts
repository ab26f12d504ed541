// A custom volume is made, empty or as a copy with snapshots, or it does not exist.
import type { VolumeDocument } from '../../../records/documents.ts';
import { type VolumeId, volumeKey } from '../../../records/record-names.ts';
import type { VolumeSource } from '../../../drivers/storage/driver.ts';
import {
  requirePool,
  type VolumeSnapshots,
  type VolumeSagaDeps,
  refOf,
  limitVolume,
  copyVolumeSnapshots,
} from '../custom-volumes.ts';
import type { Saga } from '../../../operations/saga.ts';
import { errors } from '../../../api/errors.ts';
import { putOwned, dropOwned } from '../../owned-records.ts';
import { requireProject } from '../../project-scope.ts';
import { removeRecord } from '../../saga-records.ts';

export interface CreateVolumeParams {
  readonly volume: VolumeId;
  readonly document: VolumeDocument;
  readonly source: VolumeSource;
  readonly copied?: { readonly from: VolumeId; readonly snapshots: VolumeSnapshots };
}

export function createVolumeSaga(deps: VolumeSagaDeps): Saga<CreateVolumeParams> {
  return {
    kind: 'volume-create',
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
        execute: ({ volume, source }, context) =>
          deps.pools.createVolume(volume.pool, refOf(volume.name), source, () => {}, context.signal),
        undo: ({ volume }) => deps.pools.deleteVolume(volume.pool, refOf(volume.name)),
      },
      {
        name: 'size',
        execute: ({ volume, document }) => limitVolume(deps.pools, volume, document.config, { mustHold: true }),
      },
      {
        name: 'snapshots',
        async execute({ volume, document, copied }, context) {
          if (copied === undefined) return;
          await copyVolumeSnapshots(deps.pools, copied.from, volume, copied.snapshots, context.signal);
          await putOwned(deps.records, 'volumeSnapshots', document.uuid, copied.snapshots);
        },
        // Their files go with the volume.
        undo: ({ document }) => dropOwned(deps.records, 'volumeSnapshots', document.uuid),
      },
    ],
    commit: (changes, { volume, document }) => changes.put('volumes', volumeKey(volume), document),
    rollBack: (changes, { volume }) => removeRecord(deps.records, changes, 'volumes', volumeKey(volume)),
  };
}
