// A container is made of what another server or a backup sends, or it does not exist.
import type { ContainerDocument } from '../../../records/documents.ts';
import { putSnapshots, type SnapshotEntry, dropSnapshots } from '../../containers/snapshots/records.ts';
import type { SagaContext, Saga } from '../../../operations/saga.ts';
import type { ContainerDeps } from '../../containers/deps.ts';
import { beginContainer } from '../../containers/life/draft.ts';
import { expand } from '../../expand.ts';
import { limitNewRoot } from '../../containers/devices/root-size.ts';
import { removeCheckpoint, checkpointDirOf } from '../../containers/life/checkpoint.ts';
import { removeRecord } from '../../saga-records.ts';
import { profilesOf } from '../../project-scope.ts';

export interface ReceiveContainerParams {
  readonly name: string;
  readonly document: ContainerDocument;
  readonly snapshots: readonly SnapshotEntry[];
}

/** Fills the volume, snapshots and all, from the other side; absent at recovery, which has no sender. */
export type ReceiveContainer = (params: ReceiveContainerParams, context: SagaContext) => Promise<void>;

export function receiveContainerSaga(
  deps: Pick<ContainerDeps, 'records' | 'pools'>,
  receive: ReceiveContainer = () => Promise.reject(new Error('The source of the migration is gone')),
): Saga<ReceiveContainerParams> {
  return {
    kind: 'container-receive',
    onRestart: 'unwind',
    begin(changes, { name, document }) {
      beginContainer(deps.records, changes, name, document);
    },
    steps: [
      {
        name: 'place',
        execute: ({ name, document }) => deps.pools.refuseVolume(document.pool, { type: 'container', name }),
      },
      {
        name: 'volume',
        execute: receive,
        undo: ({ name, document }) => deps.pools.deleteVolume(document.pool, { type: 'container', name }),
      },
      {
        name: 'size',
        async execute({ name, document }) {
          const { devices } = expand(document, profilesOf(deps.records, name));
          await limitNewRoot(deps.pools, document.pool, name, devices);
        },
      },
      {
        name: 'snapshots',
        execute: ({ document, snapshots }) => putSnapshots(deps.records, document.uuid, snapshots),
        // Their files go with the volume.
        undo: ({ document }) => dropSnapshots(deps.records, document.uuid),
      },
      {
        // A copy is another machine: it cannot go on where the original stood.
        name: 'state',
        async execute({ name, document }) {
          if (!document.stateful) await removeCheckpoint(checkpointDirOf(deps, { name, pool: document.pool }));
        },
      },
    ],
    commit: (changes, { name, document }) => changes.put('containers', name, document),
    rollBack: (changes, { name }) => removeRecord(deps.records, changes, 'containers', name),
  };
}
