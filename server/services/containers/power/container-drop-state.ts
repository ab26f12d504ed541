// The saga that deletes the checkpoint of a container.
import type { ContainerDeps } from '../deps.ts';
import type { Saga } from '../../../operations/saga.ts';
import { removeCheckpoint, type CheckpointOwner, checkpointDirOf } from '../shared/checkpoint.ts';
import { readyContainer } from '../../shared/find-container.ts';

/** A checkpoint must not outlive changes of the container's files: the record changes before the files are removed. */
export function dropCheckpointSaga(deps: Pick<ContainerDeps, 'records' | 'pools'>): Saga<CheckpointOwner> {
  return {
    kind: 'container-drop-state',
    onRestart: 'finish',
    begin(changes, { name }) {
      const { document } = readyContainer(deps.records, name);
      changes.put('containers', name, { ...document, stateful: false });
    },
    steps: [{ name: 'files', execute: (place) => removeCheckpoint(checkpointDirOf(deps, place)) }],
  };
}

/** Idempotent. The caller holds the container's lock. */
export async function dropCheckpoint(
  deps: Pick<ContainerDeps, 'records' | 'pools' | 'sagas'>,
  name: string,
): Promise<void> {
  const { stateful, pool } = readyContainer(deps.records, name).document;
  if (!stateful) return;
  await deps.sagas.run(dropCheckpointSaga(deps), { name, pool });
}
