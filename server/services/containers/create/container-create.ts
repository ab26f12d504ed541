// The saga that creates a container (empty, from an image, or a copy with snapshots).
import type { VolumeSource } from '../../../drivers/storage/driver.ts';
import { copySnapshots, type CopyFrom } from './copy.ts';
import type { SnapshotEntry } from '../shared/snapshot-records.ts';
import { newContainerVolume } from '../../storage/volume-shapes.ts';
import type { ContainerDeps } from '../deps.ts';
import type { Saga } from '../../../operations/saga.ts';
import { beginContainer } from '../shared/draft.ts';
import { dropCheckpoint, fillContainer, type NewContainer, refusePlace } from '../shared/new-container.ts';
import { removeRecord } from '../../shared/saga-records.ts';

export interface CreateParams extends NewContainer {
  readonly source: VolumeSource;
  readonly copied?: { readonly from: CopyFrom; readonly snapshots: readonly SnapshotEntry[] };
}

export function createContainerSaga(deps: Pick<ContainerDeps, 'records' | 'pools'>): Saga<CreateParams> {
  return {
    kind: 'container-create',
    onRestart: 'unwind',
    refuse: refusePlace(deps),
    begin: (changes, { name, document }) => beginContainer(deps.records, changes, name, document),
    steps: [
      ...fillContainer<CreateParams>(deps, {
        fill: ({ name, document, source }, { progress, signal }) =>
          deps.pools.createVolume(
            document.pool,
            newContainerVolume(deps.records, name, document),
            source,
            (text) => progress({ create_container_from_image_unpack_progress: text }),
            signal,
          ),
        mustFit: true,
        async snapshots({ name, document, copied }, { signal }) {
          if (copied === undefined || copied.snapshots.length === 0) return;
          await copySnapshots(deps, copied.from, { name, document }, copied.snapshots, signal);
        },
      }),
      dropCheckpoint<CreateParams>(deps, ({ copied }) => copied !== undefined),
    ],
    commit: (changes, { name, document }) => changes.put('containers', name, document),
    rollBack: (changes, { name }) => removeRecord(deps.records, changes, 'containers', name),
  };
}
