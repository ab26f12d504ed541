// The saga that writes the file of a backup and records it.
import { ownedKey } from '../../../../records/record-names.ts';
import { writeBackup, type WriteBackupDeps, type CreateBackupParams } from '../write-backup.ts';
import type { Saga } from '../../../../operations/saga.ts';
import { ownerOf, readyOwner } from '../owner.ts';
import { errors } from '../../../../api/errors.ts';
import { removeBackupFile, backupPath } from '../../../shared/backups.ts';
import { stat } from 'node:fs/promises';
import { makeReady, removeRecord } from '../../../shared/saga-records.ts';

/** `share`: call it when the container may be used again, while the packed files must not be deleted, renamed or replaced. */
export function createBackupSaga(deps: WriteBackupDeps, share: () => void = () => {}): Saga<CreateBackupParams> {
  return {
    kind: 'backup-create',
    onRestart: 'unwind',
    begin(changes, { uuid, backup, document, ...of }) {
      const owner = ownerOf(of);
      readyOwner(deps.records, owner);
      const key = ownedKey(uuid, backup);
      if (deps.records.backups.has(key)) throw errors.exists('backup', `${owner.label}/${backup}`);
      changes.require(owner.kind, owner.key);
      changes.put('backups', key, { ...document, lifecycle: 'creating' });
    },
    steps: [
      {
        name: 'file',
        async execute(params, context) {
          await removeBackupFile(deps.dir, params.document.file);
          await writeBackup(deps, params, context, share);
        },
        undo: ({ document }) => removeBackupFile(deps.dir, document.file),
      },
      {
        name: 'size',
        async execute({ uuid, backup, document }) {
          const { size } = await stat(backupPath(deps.dir, document.file));
          await deps.records.retry((changes) => {
            changes.put('backups', ownedKey(uuid, backup), { ...document, sizeBytes: size, lifecycle: 'creating' });
          });
        },
      },
    ],
    commit(changes, { uuid, backup }) {
      const key = ownedKey(uuid, backup);
      makeReady(deps.records, changes, 'backups', key);
    },
    rollBack: (changes, { uuid, backup }) => removeRecord(deps.records, changes, 'backups', ownedKey(uuid, backup)),
  };
}
