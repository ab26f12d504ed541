// The common part of all sagas that make a custom volume: it is recorded, filled, limited and gets its snapshots, or it does not exist.
import { errors } from '../../api/errors.ts';
import type { Saga, SagaContext } from '../../operations/saga.ts';
import type { VolumeDocument } from '../../records/documents.ts';
import { volumeKey, type VolumeId } from '../../records/record-names.ts';
import { dropOwned } from '../owned-records.ts';
import { requireProject } from '../project-scope.ts';
import { removeRecord } from '../saga-records.ts';
import { limitVolume, refOf, requirePool, type VolumeSagaDeps } from './custom-volumes.ts';

export interface NewVolume {
  readonly volume: VolumeId;
  readonly document: VolumeDocument;
}

export interface VolumeFilling<P> {
  /** Makes the volume. */
  readonly fill: (params: P, context: SagaContext) => Promise<void>;
  /** The saga fails when the volume holds more already than its size allows. */
  readonly mustFit?: boolean;
  /** Records the snapshots, whose files `fill` may have brought. */
  readonly snapshots: (params: P, context: SagaContext) => Promise<void>;
}

export const fillVolume = <P extends NewVolume>(
  { records, pools }: VolumeSagaDeps,
  { fill, mustFit = false, snapshots }: VolumeFilling<P>,
): Pick<Saga<P>, 'begin' | 'steps' | 'commit' | 'rollBack'> => ({
  begin(changes, { volume, document }) {
    const key = volumeKey(volume);
    if (records.volumes.has(key)) throw errors.exists('storage volume', key);
    requirePool(records, changes, volume.pool);
    requireProject(records, changes, volume.name);
    changes.put('volumes', key, { ...document, lifecycle: 'creating' });
  },
  steps: [
    // A step of its own: a volume that was there before is not the saga's to undo.
    { name: 'place', execute: ({ volume }) => pools.refuseVolume(volume.pool, refOf(volume.name)) },
    { name: 'volume', execute: fill, undo: ({ volume }) => pools.deleteVolume(volume.pool, refOf(volume.name)) },
    {
      name: 'size',
      execute: ({ volume, document }) => limitVolume(pools, volume, document.config, { mustHold: mustFit }),
    },
    {
      name: 'snapshots',
      execute: snapshots,
      // Their files go with the volume.
      undo: ({ document }) => dropOwned(records, 'volumeSnapshots', document.uuid),
    },
  ],
  commit: (changes, { volume, document }) => changes.put('volumes', volumeKey(volume), document),
  rollBack: (changes, { volume }) => removeRecord(records, changes, 'volumes', volumeKey(volume)),
});
