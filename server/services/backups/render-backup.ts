// A backup's record as clients see it, under the names of both releases of the real system. Pure.
import type { Backup } from '../../api/container/backup.ts';
import type { Owned } from '../owned-records.ts';

export type BackupEntry = Owned<'backups'>;

export function renderBackup({ name, document }: BackupEntry): Backup {
  return {
    name,
    creation_date: document.createdAt,
    expiry_date: document.expiresAt,
    created_at: document.createdAt,
    expires_at: document.expiresAt,
    container_only: document.containerOnly,
    instance_only: document.containerOnly,
    size: document.sizeBytes,
    optimized_storage: document.optimizedStorage,
  };
}
