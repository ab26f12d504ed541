// The host changes behind snapshots, each as a saga: made or not at all, deleted to the end, renamed, put back.
import { errors } from '../../../api/errors.ts';
import type { SnapshotRef } from '../../../drivers/storage/driver.ts';
import type { Saga } from '../../../operations/saga.ts';
import type { ContainerDocument, SnapshotDocument } from '../../../records/documents.ts';
import { expand } from '../../expand.ts';
import type { ContainerDeps } from '../deps.ts';
import { requirePlaces } from '../life/draft.ts';
import { readyContainer } from '../find.ts';
import { limitNewRoot } from '../devices/root-size.ts';
import { snapshotKey } from './records.ts';
import { makeCheckpointDir, needCheckpoints, removeCheckpoint, checkpointDirOf } from '../life/checkpoint.ts';

type SagaDeps = Pick<ContainerDeps, 'records' | 'pools'>;
type StateDeps = SagaDeps & Pick<ContainerDeps, 'runtime'>;

/** The container may not change its name or pool while a saga is under way: its lock is held, and recovery runs alone. */
interface SnapshotOwner {
  readonly container: string;
  readonly uuid: string;
  readonly pool: string;
}

export interface SnapshotParams extends SnapshotOwner {
  readonly snapshot: string;
}

const refOf = (container: string, snapshot: string): SnapshotRef => ({
  volume: { type: 'container', name: container },
  snapshot,
});

export type CreateSnapshotParams = SnapshotParams & {
  readonly document: SnapshotDocument;
  /** Present: the snapshot holds a checkpoint. */
  readonly state?: { readonly wasFrozen: boolean };
};

export function createSnapshotSaga(deps: StateDeps): Saga<CreateSnapshotParams> {
  return {
    kind: 'snapshot-create',
    onRestart: 'unwind',
    begin(changes, { container, uuid, snapshot, document }) {
      readyContainer(deps.records, container);
      const key = snapshotKey(uuid, snapshot);
      if (deps.records.snapshots.has(key)) throw errors.exists('snapshot', `${container}/${snapshot}`);
      changes.require('containers', container);
      changes.put('snapshots', key, { ...document, lifecycle: 'creating' });
    },
    steps: [
      {
        name: 'place',
        execute: ({ container, pool, snapshot }) => deps.pools.refuseSnapshot(pool, refOf(container, snapshot)),
        undo: () => Promise.resolve(),
      },
      {
        // The container stays frozen so that its files match its memory.
        name: 'state',
        execute: (params, context) => storeCheckpoint(deps, params, context.signal),
        undo: (params) => forgetCheckpoint(deps, params),
      },
      {
        name: 'snapshot',
        execute: ({ container, pool, snapshot }, context) =>
          deps.pools.createSnapshot(pool, refOf(container, snapshot), { kind: 'now' }, context.signal),
        undo: (params) => dropNow(deps, params),
      },
      { name: 'go on', execute: (params) => forgetCheckpoint(deps, params), undo: () => Promise.resolve() },
    ],
    commit: (changes, { uuid, snapshot, document }) =>
      changes.put('snapshots', snapshotKey(uuid, snapshot), { ...document, lifecycle: 'ready' }),
    rollBack(changes, { uuid, snapshot }) {
      const key = snapshotKey(uuid, snapshot);
      if (deps.records.snapshots.has(key)) changes.delete('snapshots', key);
    },
  };
}

const stateDir = (deps: SagaDeps, { container, pool }: SnapshotOwner): string =>
  checkpointDirOf(deps, { name: container, pool });

async function storeCheckpoint(deps: StateDeps, params: CreateSnapshotParams, signal: AbortSignal): Promise<void> {
  const { container, state } = params;
  if (state === undefined) return;
  const checkpoints = await needCheckpoints(deps.runtime, `A stateful snapshot of ${container}`);
  await makeCheckpointDir(stateDir(deps, params));
  if (deps.runtime.probe(container).status === 'frozen') await deps.runtime.unfreeze(container);
  await checkpoints.checkpoint(container, { dir: stateDir(deps, params), leave: 'frozen' }, signal);
}

/** The container goes on as before; what was stored is in the snapshot. */
async function forgetCheckpoint(deps: StateDeps, params: CreateSnapshotParams): Promise<void> {
  const { container, state } = params;
  if (state === undefined) return;
  await removeCheckpoint(stateDir(deps, params));
  const { status } = deps.runtime.probe(container);
  if (state.wasFrozen && status === 'running') await deps.runtime.freeze(container);
  if (!state.wasFrozen && status === 'frozen') await deps.runtime.unfreeze(container);
}

export function deleteSnapshotSaga(deps: SagaDeps): Saga<SnapshotParams> {
  return {
    kind: 'snapshot-delete',
    onRestart: 'finish',
    begin(changes, { container, uuid, snapshot }) {
      const document = readySnapshot(deps, container, uuid, snapshot);
      changes.put('snapshots', snapshotKey(uuid, snapshot), { ...document, lifecycle: 'deleting' });
    },
    steps: [{ name: 'snapshot', execute: (params) => dropNow(deps, params), undo: () => Promise.resolve() }],
    commit(changes, { uuid, snapshot }) {
      const key = snapshotKey(uuid, snapshot);
      if (deps.records.snapshots.has(key)) changes.delete('snapshots', key);
    },
    // The record comes back so that the deletion can be tried again.
    rollBack(changes, { uuid, snapshot }) {
      const entry = deps.records.snapshots.get(snapshotKey(uuid, snapshot));
      if (entry !== undefined) changes.put('snapshots', entry.name, { ...entry.document, lifecycle: 'ready' });
    },
  };
}

export type RenameSnapshotParams = SnapshotParams & { readonly to: string };

export function renameSnapshotSaga(deps: SagaDeps): Saga<RenameSnapshotParams> {
  const rename = async (pool: string, container: string, from: string, to: string): Promise<void> => {
    const { driver, pool: spec } = deps.pools.use(pool);
    await driver.renameSnapshot(spec, refOf(container, from), to);
  };
  return {
    kind: 'snapshot-rename',
    onRestart: 'unwind',
    begin(changes, { container, uuid, snapshot, to }) {
      readySnapshot(deps, container, uuid, snapshot);
      if (deps.records.snapshots.has(snapshotKey(uuid, to))) throw errors.exists('snapshot', `${container}/${to}`);
      changes.require('snapshots', snapshotKey(uuid, snapshot));
      changes.require('snapshots', snapshotKey(uuid, to));
    },
    steps: [
      {
        name: 'snapshot',
        execute: ({ pool, container, snapshot, to }) => rename(pool, container, snapshot, to),
        undo: ({ pool, container, snapshot, to }) => rename(pool, container, to, snapshot),
      },
    ],
    commit(changes, { container, uuid, snapshot, to }) {
      const document = readySnapshot(deps, container, uuid, snapshot);
      changes.delete('snapshots', snapshotKey(uuid, snapshot));
      changes.put('snapshots', snapshotKey(uuid, to), document);
    },
    rollBack: () => {},
  };
}

export type RestoreParams = SnapshotParams & {
  /** The container's record as it is to be afterwards. */
  readonly document: ContainerDocument;
};

/** Finished after a crash: from the first step on the old content may be gone. */
export function restoreSnapshotSaga(deps: SagaDeps): Saga<RestoreParams> {
  return {
    kind: 'snapshot-restore',
    onRestart: 'finish',
    begin(changes, { container, uuid, snapshot, document }) {
      readyContainer(deps.records, container);
      for (const profile of document.profiles) {
        if (!deps.records.profiles.has(profile)) throw errors.notFound('profile', profile);
        changes.require('profiles', profile);
      }
      requirePlaces(deps.records, changes, document);
      readySnapshot(deps, container, uuid, snapshot);
      changes.require('containers', container);
      changes.require('snapshots', snapshotKey(uuid, snapshot));
    },
    steps: [
      {
        name: 'volume',
        async execute({ pool, container, snapshot }, context) {
          const { driver, pool: spec } = deps.pools.use(pool);
          await driver.restoreSnapshot(spec, refOf(container, snapshot), context.signal);
        },
        // All or nothing in the driver: after a failure the old content is there.
        undo: () => Promise.resolve(),
      },
      {
        name: 'state',
        async execute(params) {
          if (!params.document.stateful) await removeCheckpoint(stateDir(deps, params));
        },
        undo: () => Promise.resolve(),
      },
      {
        name: 'size',
        async execute({ pool, container, document }) {
          const { devices } = expand(document, (profile) => deps.records.profiles.get(profile)?.document);
          await limitNewRoot(deps.pools, pool, container, devices);
        },
        undo: () => Promise.resolve(),
      },
    ],
    commit(changes, { container, document }) {
      if (deps.records.containers.has(container)) changes.put('containers', container, document);
    },
    rollBack: () => {},
  };
}

function readySnapshot(deps: SagaDeps, container: string, uuid: string, snapshot: string): SnapshotDocument {
  const document = deps.records.snapshots.get(snapshotKey(uuid, snapshot))?.document;
  if (document === undefined) throw errors.notFound('snapshot', `${container}/${snapshot}`);
  if (document.lifecycle !== 'ready') {
    const what = document.lifecycle === 'creating' ? 'being made' : 'being deleted';
    throw errors.badRequest(`The snapshot ${container}/${snapshot} is busy: it is ${what}`);
  }
  return document;
}

async function dropNow(deps: SagaDeps, { pool, container, snapshot }: SnapshotParams): Promise<void> {
  const { driver, pool: spec } = deps.pools.use(pool);
  await driver.deleteSnapshot(spec, refOf(container, snapshot));
}
