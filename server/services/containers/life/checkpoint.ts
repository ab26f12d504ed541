// Run state of containers (memory, processes) in the directory `state` beside their root file system: stored by a stateful stop,
// gone on from by a stateful start, thrown away by any other. When each happens is start-stop.ts.
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errors } from '../../../api/errors.ts';
import type { RuntimeDriver, StatefulRuns } from '../../../drivers/runtime/driver.ts';
import type { Saga } from '../../../operations/saga.ts';
import type { ContainerDeps } from '../deps.ts';
import { readyContainer } from '../find.ts';

/** A container's place; its lock is held, so neither changes. */
export interface StatePlace {
  readonly name: string;
  readonly pool: string;
}

type PlaceDeps = Pick<ContainerDeps, 'pools'>;

/** Part of the container's volume: copied, renamed, counted and deleted with it. */
export const stateDirOf = ({ pools }: PlaceDeps, { name, pool }: StatePlace): string =>
  join(pools.volumePath(pool, { type: 'container', name }), 'state');

/** Throws badRequest with the reason where this host cannot do it. */
export async function needStateful(
  runtime: Pick<RuntimeDriver, 'stateful' | 'name'>,
  what: string,
): Promise<StatefulRuns> {
  const { stateful } = runtime;
  const ability = (await stateful?.available()) ?? {
    ok: false,
    reason: `the runtime ${runtime.name} does not keep it`,
  };
  if (stateful !== undefined && ability.ok) return stateful;
  const reason = ability.ok ? '' : ability.reason;
  throw errors.badRequest(`${what} is not possible, for run state cannot be kept here: ${reason}`);
}

/** Empty and private. Rounds of memory beside it stay only for a checkpoint that goes on from the round `previous`. */
export async function makeStateDir(dir: string, previous?: string): Promise<void> {
  await (previous === undefined ? removeState(dir) : removeTree(dir));
  await mkdir(dir, { mode: 0o700 });
}

const removeTree = (dir: string): Promise<void> => rm(dir, { recursive: true, force: true });

/** With the rounds of memory beside it. Idempotent. */
export async function removeState(dir: string): Promise<void> {
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

export type StoreStateParams = StatePlace & {
  readonly logFile: string;
  /** The last round of memory that the checkpoint goes on from. */
  readonly previous?: string;
};

type StoreDeps = Pick<ContainerDeps, 'records' | 'pools' | 'runtime'>;

/**
 * Stops a running container with its run state kept. The state is stored beside the place where it is looked for, and moved there
 * once it is whole. `resumed`: a daemon died in the middle. Its tool went on alone: a container that ended so is stopped with its
 * state; one that still runs goes on running.
 */
export function storeStateSaga(deps: StoreDeps, resumed = false): Saga<StoreStateParams> {
  const partOf = (place: StatePlace): string => `${stateDirOf(deps, place)}.part`;
  const isKept = (dir: string): boolean => deps.runtime.stateful?.isComplete(dir) === true;
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
            if (isKept(partOf(place)) || (resumed && isKept(stateDirOf(deps, place)))) return;
          }
          if (resumed) throw new Error(`the run state of ${name} was not stored when the daemon ended`);
          const stateful = await needStateful(deps.runtime, `Storing the run state of ${name}`);
          await makeStateDir(partOf(place), previous);
          const before = previous === undefined ? {} : { previous };
          await stateful.checkpoint(name, { dir: partOf(place), ...before, leave: 'stopped', logFile }, signal);
        },
        undo: (place) => removeState(partOf(place)),
      },
      {
        name: 'keep',
        async execute(place) {
          if (!isKept(partOf(place)) && isKept(stateDirOf(deps, place))) return;
          await removeTree(stateDirOf(deps, place));
          await rename(partOf(place), stateDirOf(deps, place));
        },
        undo: (place) => removeState(stateDirOf(deps, place)),
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

/** Nobody may go on from a state whose files have moved on: the record says so before the files go. */
export function dropStateSaga(deps: Pick<ContainerDeps, 'records' | 'pools'>): Saga<StatePlace> {
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
        execute: (place) => removeState(stateDirOf(deps, place)),
        undo: () => Promise.resolve(),
      },
    ],
    commit: () => {},
    rollBack: () => {},
  };
}

/** Idempotent. The caller holds the container's lock. */
export async function dropState(deps: Pick<ContainerDeps, 'records' | 'pools' | 'sagas'>, name: string): Promise<void> {
  const { stateful, pool } = readyContainer(deps.records, name).document;
  if (!stateful) return;
  const context = { signal: new AbortController().signal, progress: () => {} };
  await deps.sagas.run(dropStateSaga(deps), { name, pool }, context);
}

/** A name that the log endpoints know (spec 4.6). */
export const stateLogName = (kind: 'dump' | 'restore', nowMs: number): string =>
  `snapshot_${kind}_${new Date(nowMs).toISOString().replaceAll(':', '-')}.log`;
