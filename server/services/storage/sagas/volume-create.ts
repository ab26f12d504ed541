// The saga that creates a custom volume, empty or as a copy with snapshots.
import type { VolumeId } from '../../../records/record-names.ts';
import type { VolumeSource } from '../../../drivers/storage/driver.ts';
import { copyVolumeSnapshots } from '../copy-volume-snapshots.ts';
import { refOf, type VolumeSagaDeps, type VolumeSnapshots } from '../custom-volumes.ts';
import { newCustomVolume } from '../volume-shapes.ts';
import { fillVolume, type NewVolume } from '../new-volume.ts';
import type { Saga } from '../../../operations/saga.ts';
import { putOwned } from '../../shared/owned-records.ts';
import { measured } from '../measure-snapshot.ts';

export interface CreateVolumeParams extends NewVolume {
  readonly source: VolumeSource;
  readonly copied?: { readonly from: VolumeId; readonly snapshots: VolumeSnapshots };
}

export function createVolumeSaga(deps: VolumeSagaDeps): Saga<CreateVolumeParams> {
  const { records, pools } = deps;
  return {
    kind: 'volume-create',
    onRestart: 'unwind',
    ...fillVolume<CreateVolumeParams>(deps, {
      fill: ({ volume, document, source }, { signal }) =>
        pools.createVolume(volume.pool, newCustomVolume(volume.name, document.config), source, () => {}, signal),
      mustFit: true,
      async snapshots({ volume, document, copied }, { signal }) {
        if (copied === undefined) return;
        await copyVolumeSnapshots(pools, copied.from, volume, copied.snapshots, signal);
        const place = { pool: volume.pool, volume: refOf(volume.name) };
        const snapshots = await measured(deps, place, copied.snapshots, signal);
        await putOwned(records, 'volumeSnapshots', document.uuid, snapshots);
      },
    }),
  };
}
