// The saga that stops a running container with a checkpoint of its memory and processes.
import {
  checkpointDirOf,
  type CheckpointOwner,
  needCheckpoints,
  makeCheckpointDir,
  removeCheckpoint,
} from '../shared/checkpoint.ts';
import type { ContainerDeps } from '../deps.ts';
import type { Saga } from '../../../operations/saga.ts';
import { readyContainer } from '../../shared/find-container.ts';
import { removeTree } from '../../../drivers/storage/remove-tree.ts';
import { rename } from 'node:fs/promises';

export type StoreCheckpointParams = CheckpointOwner & {
  readonly logFile: string;
  /** The last memory pre-dump that the checkpoint builds on. */
  readonly previous?: string;
};

type StoreDeps = Pick<ContainerDeps, 'records' | 'pools' | 'runtime'>;

/** Checkpoints a running container and stops it. The checkpoint is made in `state.part` and renamed once complete. `resumed`: a daemon died
 *  in the middle, while CRIU continued alone. If CRIU stopped the container, the checkpoint counts; if the container still runs, it keeps
 *  running. */
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
  };
}
