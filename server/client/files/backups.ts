// Backups of a container or custom volume: creates, lists, downloads and deletes them, and makes containers and volumes of their files.
// Streams; stores no files.
import { containerPath } from '../../api/names.ts';
import type { VolumeBackup, VolumeBackupCreate } from '../../api/storage/volume-backup.ts';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Backup, BackupCreate } from '../../api/container/backup.ts';
import type { Operation } from '../../api/operation.ts';
import type { Http } from '../transport/http.ts';
import { counted, type OnSent } from './counted.ts';
import { header, type Reply } from '../transport/reply.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface BackupExport {
  /** undefined if the server does not report it. */
  readonly sizeBytes?: number;
  /** The caller reads or destroys it. */
  readonly body: Readable;
}

/** Wrap calls that return an operation in `operations.run` to wait for it. */
export interface BackupCalls<B, C> {
  list(signal?: AbortSignal): Promise<readonly B[]>;
  get(name: string, signal?: AbortSignal): Promise<Reply<B>>;
  create(body: C, signal?: AbortSignal): Promise<Reply<Operation>>;
  rename(name: string, newName: string, signal?: AbortSignal): Promise<Reply<Operation>>;
  delete(name: string, signal?: AbortSignal): Promise<Reply<Operation>>;
  open(name: string, signal?: AbortSignal): Promise<BackupExport>;
}
export type ContainerBackups = BackupCalls<Backup, BackupCreate>;
export type VolumeBackups = BackupCalls<VolumeBackup, VolumeBackupCreate>;

export const backupsOf = (http: Http, container: string): ContainerBackups => callsAt(http, containerPath(container));

export const volumeBackupsOf = (http: Http, pool: string, volume: string): VolumeBackups =>
  callsAt(http, `${volumesPath(pool)}/${encodeURIComponent(volume)}`);

const volumesPath = (pool: string): string => `/1.0/storage-pools/${encodeURIComponent(pool)}/volumes/custom`;

function callsAt<B, C extends object>(http: Http, owner: string): BackupCalls<B, C> {
  const url = `${owner}/backups`;
  const one = (name: string): string => `${url}/${encodeURIComponent(name)}`;
  return {
    list: async (signal) =>
      (await http.send<readonly B[]>({ method: 'GET', path: url, query: { recursion: 1 } }, signal)).metadata,
    get: (name, signal) => http.send({ method: 'GET', path: one(name) }, signal),
    create: (json, signal) => http.send({ method: 'POST', path: url, json }, signal),
    rename: (name, newName, signal) => http.send({ method: 'POST', path: one(name), json: { name: newName } }, signal),
    delete: (name, signal) => http.send({ method: 'DELETE', path: one(name), json: {} }, signal),
    async open(name, signal) {
      const reply = await http.open({ method: 'GET', path: `${one(name)}/export` }, signal);
      const sizeBytes = Number(header(reply.headers, 'content-length') ?? NaN);
      return { body: reply.body, ...(Number.isSafeInteger(sizeBytes) ? { sizeBytes } : {}) };
    },
  };
}

export interface BackupImport {
  /** Path of the file, or its content. */
  readonly source: string | Readable;
  /** The pool for a custom volume; absent: it becomes a container. */
  readonly volumeIn?: string;
  /** Overrides the name in the backup. */
  readonly pool?: string;
  readonly name?: string;
  readonly target?: string;
  /** Allows a backup that grants access to the host: privileged, paths of the host, raw.* and the like. */
  readonly allowHostAccess?: boolean;
  /** Called only for files: the length of a stream is unknown. */
  readonly onProgress?: OnSent;
}

/** Starts the upload; the reply carries the operation that makes the container or volume. */
export async function importBackup(http: Http, wanted: BackupImport, signal?: AbortSignal): Promise<Reply<Operation>> {
  const { source, pool, name, target, allowHostAccess = false } = wanted;
  const content = typeof source === 'string' ? createReadStream(source) : source;
  const size = typeof source === 'string' ? (await stat(source)).size : undefined;
  const stream = counted(content, size, wanted.onProgress);
  const length = size === undefined ? {} : { 'content-length': String(size) };
  const values = {
    ...withoutUndefined({ pool, name }),
    ...(allowHostAccess ? { 'allow-host-access': 'true' } : {}),
  };
  // Both prefixes: each server reads its own and ignores the other.
  const pairs = Object.entries(values).flatMap(([key, value]) => [
    [`X-SVC-${key}`, value],
    [`X-LXD-${key}`, value],
  ]);
  const headers = {
    'content-type': 'application/octet-stream',
    ...length,
    ...(Object.fromEntries(pairs) as Record<string, string>),
  };
  try {
    const path = wanted.volumeIn === undefined ? '/1.0/containers' : volumesPath(wanted.volumeIn);
    const call = { method: 'POST', path, query: { target }, stream, headers } as const;
    return await http.send<Operation>(call, signal);
  } finally {
    stream.destroy();
    content.destroy();
  }
}
