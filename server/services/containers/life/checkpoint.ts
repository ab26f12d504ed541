// Checkpoints of containers (memory, processes) in the directory `state` beside their root file system: made by a stateful stop,
// used by a stateful start, removed by any other start. start-stop.ts decides when.
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errors } from '../../../api/errors.ts';
import type { RuntimeDriver, Checkpoints } from '../../../drivers/runtime/driver.ts';
import type { Saga } from '../../../operations/saga.ts';
import type { ContainerDeps } from '../deps.ts';
import { readyContainer } from '../find.ts';

/** The caller holds the container's lock, so neither changes. */
export interface CheckpointOwner {
  readonly name: string;
  readonly pool: string;
}

type PlaceDeps = Pick<ContainerDeps, 'pools'>;

/** Part of the container's volume: copied, renamed, counted and deleted with it. */
export const checkpointDirOf = ({ pools }: PlaceDeps, { name, pool }: CheckpointOwner): string =>
  join(pools.volumePath(pool, { type: 'container', name }), 'state');

/** Throws badRequest with the reason where this host cannot do it. */
export async function needCheckpoints(
  runtime: Pick<RuntimeDriver, 'checkpoints' | 'name'>,
  what: string,
): Promise<Checkpoints> {
  const { checkpoints } = runtime;
  const ability = (await checkpoints?.available()) ?? {
    ok: false,
    reason: `the runtime ${runtime.name} cannot`,
  };
  if (checkpoints !== undefined && ability.ok) return checkpoints;
  const reason = ability.ok ? '' : ability.reason;
  throw errors.badRequest(`${what} is not possible: this host cannot checkpoint containers: ${reason}`);
}

/** Empty and private. Rounds of memory beside it stay only for a checkpoint that goes on from the round `previous`. */
export async function makeCheckpointDir(dir: string, previous?: string): Promise<void> {
  await (previous === undefined ? removeCheckpoint(dir) : removeTree(dir));
  await mkdir(dir, { mode: 0o700 });
}

const removeTree = (dir: string): Promise<void> => rm(dir, { recursive: true, force: true });

/** With the rounds of memory beside it. Idempotent. */
export async function removeCheckpoint(dir: string): Promise<void> {
  await removeTree(dir);
  await removeRounds(dirname(dir));
}

const roundPrefix = 'state-round-';

/** A round of memory lies beside the checkpoint, so that the links between them survive a transfer. */
export const roundDirOf = (volumeDir: string, round: number): string => join(volumeDir, `${roundPrefix}${round}`);

/** Idempotent. */
export async function removeRounds(volumeDir: string): Promise<void> {
  const entries = await readdir(volumeDir).catch(() => []);
  const rounds = entries.filter((entry) => entry.startsWith(roundPrefix));
  for (const round of rounds) await removeTree(join(volumeDir, round));
}

export type StoreCheckpointParams = CheckpointOwner & {
  readonly logFile: string;
  /** The last round of memory that the checkpoint goes on from. */
  readonly previous?: string;
};

type StoreDeps = Pick<ContainerDeps, 'records' | 'pools' | 'runtime'>;

/**
 * Checkpoints a running container and stops it. The checkpoint is made in `state.part` and renamed once it is complete. `resumed`:
 * a daemon died in the middle, and its tool went on alone. If the tool stopped the container, the checkpoint counts; if the container
 * still runs, it goes on running.
 */
export function storeCheckpointSaga(deps: StoreDeps, resumed = false): Saga<StoreCheckpointParams> {
  const partOf = (place: CheckpointOwner): string => `${checkpointDirOf(deps, place)}.part`;
  const isKept = (dir: string): boolean => deps.runtime.checkpoints?.isComplete(dir) === true;
  return {
    kind: 'container-store-state',
    onRestart: 'finish',
    begin(changes, { name }) {
      readyContainer(deps.records, name);
      changes.require('containers', name);
    },
    steps: [
      {
        name: 'store',
        async execute(place, { signal }) {
          const { name, logFile, previous } = place;
          if (deps.runtime.probe(name).status === 'stopped') {
            if (isKept(partOf(place)) || (resumed && isKept(checkpointDirOf(deps, place)))) return;
          }
          if (resumed) throw new Error(`${name} was not checkpointed when the daemon ended`);
          const checkpoints = await needCheckpoints(deps.runtime, `Checkpointing ${name}`);
          await makeCheckpointDir(partOf(place), previous);
          const before = previous === undefined ? {} : { previous };
          await checkpoints.checkpoint(name, { dir: partOf(place), ...before, leave: 'stopped', logFile }, signal);
        },
        undo: (place) => removeCheckpoint(partOf(place)),
      },
      {
        name: 'keep',
        async execute(place) {
          if (!isKept(partOf(place)) && isKept(checkpointDirOf(deps, place))) return;
          await removeTree(checkpointDirOf(deps, place));
          await rename(partOf(place), checkpointDirOf(deps, place));
        },
        undo: (place) => removeCheckpoint(checkpointDirOf(deps, place)),
      },
    ],
    commit(changes, { name }) {
      const { document } = readyContainer(deps.records, name);
      const config = { ...document.config, 'volatile.last_state.power': 'STOPPED' };
      changes.put('containers', name, { ...document, stateful: true, config });
    },
    rollBack: () => {},
  };
}

/** A checkpoint must not outlive changes of the container's files: the record changes before the files are removed. */
export function dropCheckpointSaga(deps: Pick<ContainerDeps, 'records' | 'pools'>): Saga<CheckpointOwner> {
  return {
    kind: 'container-drop-state',
    onRestart: 'finish',
    begin(changes, { name }) {
      const { document } = readyContainer(deps.records, name);
      changes.put('containers', name, { ...document, stateful: false });
    },
    steps: [
      {
        name: 'files',
        execute: (place) => removeCheckpoint(checkpointDirOf(deps, place)),
        undo: () => Promise.resolve(),
      },
    ],
    commit: () => {},
    rollBack: () => {},
  };
}

/** Idempotent. The caller holds the container's lock. */
export async function dropCheckpoint(
  deps: Pick<ContainerDeps, 'records' | 'pools' | 'sagas'>,
  name: string,
): Promise<void> {
  const { stateful, pool } = readyContainer(deps.records, name).document;
  if (!stateful) return;
  const context = { signal: new AbortController().signal, progress: () => {} };
  await deps.sagas.run(dropCheckpointSaga(deps), { name, pool }, context);
}

/** A name that the log endpoints know (spec 4.6). */
export const checkpointLogName = (kind: 'dump' | 'restore', nowMs: number): string =>
  `snapshot_${kind}_${new Date(nowMs).toISOString().replaceAll(':', '-')}.log`;
