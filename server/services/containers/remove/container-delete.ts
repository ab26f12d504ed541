// The saga that deletes a stopped container with its logs, snapshots and backups.
import type { ContainerDeps } from '../deps.ts';
import type { Saga } from '../../../operations/saga.ts';
import { existsSync } from 'node:fs';
import { readyContainer } from '../../shared/find-container.ts';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { dropSnapshots } from '../shared/snapshot-records.ts';
import { dropBackups } from '../../shared/backups.ts';
import { removeRecord, makeReady } from '../../shared/saga-records.ts';

export function deleteContainerSaga(
  deps: Pick<ContainerDeps, 'records' | 'pools' | 'runtime' | 'logsDir' | 'backupsDir'>,
): Saga<{ readonly name: string; readonly pool: string }> {
  return {
    kind: 'container-delete',
    onRestart: 'finish',
    begin(changes, { name }) {
      const { document } = readyContainer(deps.records, name);
      changes.put('containers', name, { ...document, lifecycle: 'deleting' });
    },
    steps: [
      { name: 'runtime', execute: ({ name }) => deps.runtime.forget(name) },
      {
        name: 'files',
        async execute({ name, pool }) {
          const logs = join(deps.logsDir, name);
          const ended = await Promise.allSettled([
            // The check costs a hundredth of a removal, and a container that never ran has no logs.
            existsSync(logs) ? rm(logs, { recursive: true, force: true }) : undefined,
            deps.pools.deleteVolume(pool, { type: 'container', name }),
          ]);
          for (const one of ended) if (one.status === 'rejected') throw one.reason;
        },
      },
      {
        // Their files were deleted with the volume.
        name: 'snapshots',
        async execute({ name }) {
          const uuid = deps.records.containers.get(name)?.document.uuid;
          if (uuid !== undefined) await dropSnapshots(deps.records, uuid);
        },
      },
      {
        name: 'backups',
        async execute({ name }) {
          const uuid = deps.records.containers.get(name)?.document.uuid;
          if (uuid !== undefined) await dropBackups(deps.records, deps.backupsDir, uuid);
        },
      },
    ],
    commit: (changes, { name }) => removeRecord(deps.records, changes, 'containers', name),
    // Deleted files stay deleted; the record returns so that the deletion can be retried.
    rollBack: (changes, { name }) => makeReady(deps.records, changes, 'containers', name),
  };
}
