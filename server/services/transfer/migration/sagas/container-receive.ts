// Creates a whole container from the data of another server or a backup, or nothing.
import { measured } from '../../../storage/measure-snapshot.ts';
import { putSnapshots, type SnapshotEntry } from '../../../containers/shared/snapshot-records.ts';
import type { SagaContext, Saga } from '../../../../operations/saga.ts';
import type { ContainerDeps } from '../../../containers/deps.ts';
import { beginContainer } from '../../../containers/shared/draft.ts';
import {
  dropCheckpoint,
  fillContainer,
  type NewContainer,
  refusePlace,
} from '../../../containers/shared/new-container.ts';
import { removeRecord } from '../../../shared/saga-records.ts';

export interface ReceiveContainerParams extends NewContainer {
  readonly snapshots: readonly SnapshotEntry[];
}

/** Fills the volume and its snapshots from the other side; absent during recovery, which has no sender. */
export type ReceiveContainer = (params: ReceiveContainerParams, context: SagaContext) => Promise<void>;

export function receiveContainerSaga(
  deps: Pick<ContainerDeps, 'records' | 'pools'>,
  receive: ReceiveContainer = () => Promise.reject(new Error('The source of the migration is gone')),
): Saga<ReceiveContainerParams> {
  return {
    kind: 'container-receive',
    onRestart: 'unwind',
    refuse: refusePlace(deps),
    begin: (changes, { name, document }) => beginContainer(deps.records, changes, name, document),
    steps: [
      ...fillContainer<ReceiveContainerParams>(deps, {
        fill: receive,
        async snapshots({ name, document, snapshots }, { signal }) {
          const place = { pool: document.pool, volume: { type: 'container', name } } as const;
          await putSnapshots(deps.records, document.uuid, await measured(deps, place, snapshots, signal));
        },
      }),
      dropCheckpoint<ReceiveContainerParams>(deps, ({ document }) => !document.stateful),
    ],
    commit: (changes, { name, document }) => changes.put('containers', name, document),
    rollBack: (changes, { name }) => removeRecord(deps.records, changes, 'containers', name),
  };
}
