// A container is made (empty, of an image, as a copy with snapshots), or it does not exist.
import type { ContainerDocument } from '../../../records/documents.ts';
import type { VolumeSource } from '../../../drivers/storage/driver.ts';
import { copySnapshots, type CopyFrom } from '../life/copy.ts';
import { dropSnapshots, type SnapshotEntry } from '../snapshots/records.ts';
import type { ContainerDeps } from '../deps.ts';
import type { Saga } from '../../../operations/saga.ts';
import { beginContainer } from '../life/draft.ts';
import { expand } from '../../expand.ts';
import { limitNewRoot } from '../devices/root-size.ts';
import { removeCheckpoint, checkpointDirOf } from '../life/checkpoint.ts';
import { removeRecord } from '../../saga-records.ts';
import { profilesOf } from '../../project-scope.ts';

export interface CreateParams {
  readonly name: string;
  readonly document: ContainerDocument;
  readonly source: VolumeSource;
  /** Snapshots that come along with a copy. */
  readonly copied?: { readonly from: CopyFrom; readonly snapshots: readonly SnapshotEntry[] };
}

export function createContainerSaga(deps: Pick<ContainerDeps, 'records' | 'pools'>): Saga<CreateParams> {
  return {
    kind: 'container-create',
    onRestart: 'unwind',
    begin(changes, { name, document }) {
      beginContainer(deps.records, changes, name, document);
    },
    steps: [
      {
        // Apart from making it: what was there before us is not ours to undo.
        name: 'place',
        execute: ({ name, document }) => deps.pools.refuseVolume(document.pool, { type: 'container', name }),
      },
      {
        name: 'volume',
        execute: ({ name, document, source }, context) =>
          deps.pools.createVolume(
            document.pool,
            { type: 'container', name },
            source,
            (text) => context.progress({ create_container_from_image_unpack_progress: text }),
            context.signal,
          ),
        undo: ({ name, document }) => deps.pools.deleteVolume(document.pool, { type: 'container', name }),
      },
      {
        name: 'size',
        async execute({ name, document }) {
          const { devices } = expand(document, profilesOf(deps.records, name));
          await limitNewRoot(deps.pools, document.pool, name, devices, { mustHold: true });
        },
      },
      {
        name: 'snapshots',
        async execute({ name, document, copied }, context) {
          if (copied === undefined || copied.snapshots.length === 0) return;
          await copySnapshots(deps, copied.from, { name, document }, copied.snapshots, context.signal);
        },
        // Their files go with the volume.
        undo: ({ document }) => dropSnapshots(deps.records, document.uuid),
      },
      {
        // A copy is another machine: it cannot go on where the original stood.
        name: 'state',
        async execute({ name, document, copied }) {
          if (copied !== undefined) await removeCheckpoint(checkpointDirOf(deps, { name, pool: document.pool }));
        },
      },
    ],
    commit: (changes, { name, document }) => changes.put('containers', name, document),
    rollBack: (changes, { name }) => removeRecord(deps.records, changes, 'containers', name),
  };
}
