// A stopped container gets another name in its pool.
import type { ContainerDeps } from '../deps.ts';
import type { Saga } from '../../../operations/saga.ts';
import { errors } from '../../../api/errors.ts';
import { readyContainer } from '../find.ts';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';

export interface RenameParams {
  readonly from: string;
  readonly to: string;
  readonly pool: string;
}

export function renameContainerSaga(
  deps: Pick<ContainerDeps, 'records' | 'pools' | 'runtime' | 'logsDir'>,
): Saga<RenameParams> {
  const volume = (name: string) => ({ type: 'container', name }) as const;
  return {
    kind: 'container-rename',
    onRestart: 'unwind',
    begin(changes, { from, to }) {
      if (deps.records.containers.has(to)) throw errors.exists('container', to);
      changes.require('containers', to);
      changes.require('containers', from);
    },
    steps: [
      {
        name: 'volume',
        execute: ({ from, to, pool }) => deps.pools.renameVolume(pool, volume(from), to),
        async undo({ from, to, pool }) {
          if (deps.records.containers.has(from)) await deps.pools.renameVolume(pool, volume(to), from);
        },
      },
      { name: 'runtime', execute: ({ from }) => deps.runtime.forget(from) },
      {
        name: 'logs',
        execute: ({ from, to }) => moveLogs(deps.logsDir, from, to),
        async undo({ from, to }) {
          if (deps.records.containers.has(from)) await moveLogs(deps.logsDir, to, from);
        },
      },
    ],
    commit(changes, { from, to }) {
      const { document } = readyContainer(deps.records, from);
      if (deps.records.containers.has(to)) throw errors.exists('container', to);
      changes.delete('containers', from);
      changes.put('containers', to, document);
    },
  };
}

/** A container that never started has none. */
export async function moveLogs(logsDir: string, from: string, to: string): Promise<void> {
  if (from === to) return;
  await rename(join(logsDir, from), join(logsDir, to)).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  });
}
