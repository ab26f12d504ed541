// The common part of all sagas that make a custom volume: record it, fill it, limit it and add its snapshots.
import { errors } from '../../api/errors.ts';
import type { Saga } from '../../operations/saga.ts';
import type { VolumeDocument } from '../../records/documents.ts';
import { volumeKey, type VolumeId } from '../../records/record-names.ts';
import { dropOwned } from '../shared/owned-records.ts';
import { requireProject } from '../shared/project-scope.ts';
import { removeRecord } from '../shared/saga-records.ts';
import { limitVolume, refOf, requirePool, type VolumeSagaDeps } from './custom-volumes.ts';
import { type Filling, fillingSteps } from './filling.ts';

export interface NewVolume {
  readonly volume: VolumeId;
  readonly document: VolumeDocument;
}

export const fillVolume = <P extends NewVolume>(
  { records, pools }: VolumeSagaDeps,
  filling: Filling<P>,
): Pick<Saga<P>, 'refuse' | 'begin' | 'steps' | 'commit' | 'rollBack'> => ({
  refuse: ({ volume }) => pools.refuseVolume(volume.pool, refOf(volume.name)),
  begin(changes, { volume, document }) {
    const key = volumeKey(volume);
    if (records.volumes.has(key)) throw errors.exists('storage volume', key);
    requirePool(records, changes, volume.pool);
    requireProject(records, changes, volume.name, 'features.storage.volumes');
    changes.put('volumes', key, { ...document, lifecycle: 'creating' });
  },
  steps: fillingSteps<P>(
    {
      pools,
      placeOf: ({ volume }) => [volume.pool, refOf(volume.name)],
      limit: ({ volume, document }, how) => limitVolume(pools, volume, document.config, how),
      dropSnapshots: ({ document }) => dropOwned(records, 'volumeSnapshots', document.uuid),
    },
    filling,
  ),
  commit: (changes, { volume, document }) => changes.put('volumes', volumeKey(volume), document),
  rollBack: (changes, { volume }) => removeRecord(records, changes, 'volumes', volumeKey(volume)),
});
