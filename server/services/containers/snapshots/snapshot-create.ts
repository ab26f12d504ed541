// The saga that makes a snapshot of a container, with a checkpoint if requested.
import {
  ownerNow,
  snapshotRef,
  type SnapshotParams,
  type SnapshotSagaDeps,
  deleteSnapshotFiles,
  snapshotCheckpointDir,
} from './snapshot-files.ts';
import type { SnapshotDocument } from '../../../records/documents.ts';
import type { ContainerDeps } from '../deps.ts';
import type { Saga } from '../../../operations/saga.ts';
import { readyContainer } from '../../shared/find-container.ts';
import { snapshotKey } from '../shared/snapshot-records.ts';
import { errors } from '../../../api/errors.ts';
import { makeReady, removeRecord } from '../../shared/saga-records.ts';
import { sizeOf } from '../../storage/measure-snapshot.ts';
import { needCheckpoints, makeCheckpointDir, removeCheckpoint } from '../shared/checkpoint.ts';

export type CreateSnapshotParams = SnapshotParams & {
  readonly document: SnapshotDocument;
  /** Present: the snapshot holds a checkpoint. */
  readonly state?: { readonly wasFrozen: boolean };
};

type StateDeps = SnapshotSagaDeps & Pick<ContainerDeps, 'runtime'>;

export function createSnapshotSaga(deps: StateDeps): Saga<CreateSnapshotParams> {
  return {
    kind: 'snapshot-create',
    onRestart: 'unwind',
    refuse: ({ container, pool, snapshot }) => deps.pools.refuseSnapshot(pool, snapshotRef(container, snapshot)),
    begin(changes, { container, uuid, snapshot, document }) {
      readyContainer(deps.records, container);
      const key = snapshotKey(uuid, snapshot);
      if (deps.records.snapshots.has(key)) throw errors.exists('snapshot', `${container}/${snapshot}`);
      changes.require('containers', container);
      changes.put('snapshots', key, { ...document, lifecycle: 'creating' });
    },
    steps: [
      {
        // The container stays frozen so that its files match its memory.
        name: 'state',
        execute: (params, context) => storeCheckpoint(deps, params, context.signal),
        undo: (params) => forgetCheckpoint(deps, params),
      },
      {
        name: 'snapshot',
        execute: ({ container, pool, snapshot }, context) =>
          deps.pools.createSnapshot(pool, snapshotRef(container, snapshot), { kind: 'now' }, context.signal),
        undo: (params) => deleteSnapshotFiles(deps, params),
      },
      { name: 'size', execute: (params, context) => noteSize(deps, params, context.signal) },
      { name: 'go on', execute: (params) => forgetCheckpoint(deps, params) },
    ],
    commit: (changes, { uuid, snapshot }) => makeReady(deps.records, changes, 'snapshots', snapshotKey(uuid, snapshot)),
    rollBack: (changes, { uuid, snapshot }) =>
      removeRecord(deps.records, changes, 'snapshots', snapshotKey(uuid, snapshot)),
  };
}

/** A limit of the project may refuse it now that its size is known. */
async function noteSize(deps: StateDeps, params: CreateSnapshotParams, signal: AbortSignal): Promise<void> {
  const { container, uuid, pool, snapshot, document } = params;
  const size = await sizeOf(deps, pool, snapshotRef(container, snapshot), signal);
  if (size.sizeBytes === undefined) return;
  await deps.records.retry((changes) => {
    changes.put('snapshots', snapshotKey(uuid, snapshot), { ...document, ...size, lifecycle: 'creating' });
  });
}

async function storeCheckpoint(deps: StateDeps, params: CreateSnapshotParams, signal: AbortSignal): Promise<void> {
  const { container, state } = params;
  if (state === undefined) return;
  const checkpoints = await needCheckpoints(deps.runtime, `A stateful snapshot of ${container}`);
  await makeCheckpointDir(snapshotCheckpointDir(deps, params));
  if (deps.runtime.probe(container).status === 'frozen') await deps.runtime.unfreeze(container);
  await checkpoints.checkpoint(container, { dir: snapshotCheckpointDir(deps, params), leave: 'frozen' }, signal);
}

/** The container continues as before; its checkpoint is in the snapshot. One that it has stopped with since is its own. */
async function forgetCheckpoint(deps: StateDeps, params: CreateSnapshotParams): Promise<void> {
  const { state } = params;
  const now = ownerNow(deps, params);
  if (state === undefined || now === undefined) return;
  const { container } = now;
  if (deps.records.containers.get(container)?.document.stateful !== true)
    await removeCheckpoint(snapshotCheckpointDir(deps, now));
  const { status } = deps.runtime.probe(container);
  if (state.wasFrozen && status === 'running') await deps.runtime.freeze(container);
  if (!state.wasFrozen && status === 'frozen') await deps.runtime.unfreeze(container);
}
