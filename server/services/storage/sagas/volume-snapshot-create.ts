// The saga that makes a snapshot of a custom volume.
import {
  readyVolume,
  type VolumeSnapshotParams,
  type VolumeSagaDeps,
  volumeSnapshotKey,
  refOf,
} from '../custom-volumes.ts';
import type { VolumeSnapshotDocument } from '../../../records/documents.ts';
import { volumeKey } from '../../../records/record-names.ts';
import type { Saga } from '../../../operations/saga.ts';
import { errors } from '../../../api/errors.ts';
import { dropVolumeSnapshot } from './volume-snapshot-delete.ts';
import { makeReady, removeRecord } from '../../shared/saga-records.ts';
import { sizeOf } from '../measure-snapshot.ts';

export type CreateVolumeSnapshotParams = VolumeSnapshotParams & { readonly document: VolumeSnapshotDocument };

export function createVolumeSnapshotSaga(deps: VolumeSagaDeps): Saga<CreateVolumeSnapshotParams> {
  return {
    kind: 'volume-snapshot-create',
    onRestart: 'unwind',
    refuse: ({ volume, snapshot }) => deps.pools.refuseSnapshot(volume.pool, { volume: refOf(volume.name), snapshot }),
    begin(changes, params) {
      readyVolume(deps.records, params.volume);
      if (deps.records.volumeSnapshots.has(volumeSnapshotKey(params)))
        throw errors.exists('snapshot', `${volumeKey(params.volume)}/${params.snapshot}`);
      changes.require('volumes', volumeKey(params.volume));
      changes.put('volumeSnapshots', volumeSnapshotKey(params), { ...params.document, lifecycle: 'creating' });
    },
    steps: [
      {
        name: 'snapshot',
        execute: ({ volume, snapshot }, context) =>
          deps.pools.createSnapshot(
            volume.pool,
            { volume: refOf(volume.name), snapshot },
            { kind: 'now' },
            context.signal,
          ),
        undo: (params) => dropVolumeSnapshot(deps, params),
      },
      {
        // A limit of the project may refuse it now that its size is known.
        name: 'size',
        async execute(params, context) {
          const { volume, snapshot, document } = params;
          const size = await sizeOf(deps, volume.pool, { volume: refOf(volume.name), snapshot }, context.signal);
          if (size.sizeBytes === undefined) return;
          await deps.records.retry((changes) => {
            changes.put('volumeSnapshots', volumeSnapshotKey(params), { ...document, ...size, lifecycle: 'creating' });
          });
        },
      },
    ],
    commit: (changes, params) => makeReady(deps.records, changes, 'volumeSnapshots', volumeSnapshotKey(params)),
    rollBack: (changes, params) => removeRecord(deps.records, changes, 'volumeSnapshots', volumeSnapshotKey(params)),
  };
}
