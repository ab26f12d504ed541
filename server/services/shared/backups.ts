// Backups of containers and volumes: paths of their files and uploads, rendering of records, and removal of files without a record.
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Backup } from '../../api/container/backup.ts';
import type { VolumeBackup } from '../../api/storage/volume-backup.ts';
import type { Records } from '../../records/records.ts';
import { dropOwned, ownedBy, type OwnedRecord } from './owned-records.ts';

export type BackupEntry = OwnedRecord<'backups'>;

const uploads = '.uploads';

export const backupPath = (dir: string, file: string): string => join(dir, file);

/** A path for a request body until a container or volume is made of it. */
export async function backupUploadPath(dir: string): Promise<string> {
  await mkdir(join(dir, uploads), { recursive: true, mode: 0o700 });
  return join(dir, uploads, randomUUID());
}

/** Removes the file and leftovers of its making. Idempotent. */
export async function removeBackupFile(dir: string, file: string): Promise<void> {
  for (const entry of await readdir(dir).catch(() => []))
    if (entry === file || entry.startsWith(`${file}.`)) await rm(join(dir, entry), { force: true });
}

/** Deletes their records and files. Idempotent. */
export async function dropBackups(records: Records, dir: string, uuid: string): Promise<void> {
  for (const { document } of ownedBy(records, 'backups', uuid)) await removeBackupFile(dir, document.file);
  await dropOwned(records, 'backups', uuid);
}

/** Call at daemon start, after recovery: deletes earlier uploads, and files without a record. */
export async function sweepBackups(deps: { readonly records: Records; readonly dir: string }): Promise<void> {
  const known = new Set(deps.records.backups.list().map(({ document }) => document.file));
  for (const entry of await readdir(deps.dir).catch(() => []))
    if (!known.has(entry)) await rm(join(deps.dir, entry), { recursive: true, force: true });
}

/** Field names of both LXD generations. */
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

export const renderVolumeBackup = ({ name, document }: BackupEntry): VolumeBackup => ({
  name,
  created_at: document.createdAt,
  expires_at: document.expiresAt,
  volume_only: document.containerOnly,
  size: document.sizeBytes,
  optimized_storage: document.optimizedStorage,
});
