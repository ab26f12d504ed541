// Backup endpoints of containers: requests to use cases and back; uploads are received here, files streamed.
import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { errors } from '../../api/errors.ts';
import { isTrue } from '../../api/text/value-checks.ts';
import type { Operation } from '../../api/operation.ts';
import { backupUploadPath } from '../../services/shared/backups.ts';
import type { Backups } from '../../services/transfer/backups/backups.ts';
import type { BackupUpload } from '../../services/transfer/backups/restore.ts';
import { counted, type Room } from '../../services/shared/room.ts';
import type { Caller } from '../../services/shared/caller.ts';
import { rangeOf } from '../byte-range.ts';
import { bodyOf } from '../linger.ts';
import { async_, collection, type RouteContext, type RouteReply, type RouteTable, type WithParams } from '../route.ts';

export interface BackupRouteDeps {
  readonly backups: Backups;
  /** See backupRoom. */
  readonly room: (project: string) => Room | undefined;
  readonly restore: (caller: Caller, upload: BackupUpload, signal: AbortSignal) => Promise<Operation>;
  readonly dir: string;
  readonly headerPrefix: string;
}

export function backupRoutes({ backups }: Pick<BackupRouteDeps, 'backups'>) {
  const names = (context: WithParams<'name' | 'backup'>) => [context.params.name, context.params.backup] as const;
  return {
    'backups.list': (context) => {
      const container = context.params.name;
      return collection(
        context.query,
        () => backups.urls(container),
        () => backups.list(container),
      );
    },
    'backups.create': async (context) =>
      async_(await backups.create(context.caller, context.params.name, context.body)),
    'backups.get': (context) => ({ kind: 'sync', metadata: backups.get(...names(context)) }),
    'backups.post': (context) => {
      const { name } = context.body;
      return async_(backups.rename(context.caller, ...names(context), name));
    },
    'backups.delete': (context) => async_(backups.delete(context.caller, ...names(context))),
    'backups.export': (context) => sendFile(backups.file(...names(context)).path, context.request),
  } satisfies Partial<RouteTable>;
}

/** In parts when asked for: what was cut off can be fetched on. */
async function sendFile(path: string, request: IncomingMessage): Promise<RouteReply> {
  const { size } = await stat(path);
  const range = rangeOf(request.headers.range, size);
  const headers = {
    'content-type': 'application/octet-stream',
    'content-disposition': 'inline;filename=',
    'accept-ranges': 'bytes',
  };
  if (range === undefined)
    return {
      kind: 'stream',
      headers: { ...headers, 'content-length': String(size) },
      stream: createReadStream(path, { highWaterMark: 256 * 1024 }),
    };
  const { first, last } = range;
  return {
    kind: 'stream',
    status: 206,
    headers: {
      ...headers,
      'content-length': String(last - first + 1),
      'content-range': `bytes ${first}-${last}/${size}`,
    },
    stream: createReadStream(path, { start: first, end: last, highWaterMark: 256 * 1024 }),
  };
}

/** POST containers with the file as body; the headers `pool` and `name` stand over what is in it, `allow-host-access` takes what
 *  reaches onto the host. */
export async function receiveBackup(
  deps: Omit<BackupRouteDeps, 'backups'>,
  context: Pick<RouteContext, 'request' | 'signal' | 'caller'>,
): Promise<RouteReply> {
  const { request, signal } = context;
  const header = (name: string): string | undefined => {
    const value = request.headers[`${deps.headerPrefix}${name}`];
    const first = Array.isArray(value) ? value[0] : value;
    return first === '' ? undefined : first;
  };
  const [pool, name] = [header('pool'), header('name')];
  const path = await backupUploadPath(deps.dir);
  try {
    const room = deps.room(context.caller.project);
    room?.(Number(request.headers['content-length'] ?? 0));
    await pipeline(bodyOf(request), within(room), createWriteStream(path, { mode: 0o600 }), { signal });
  } catch (error) {
    await rm(path, { force: true });
    const isFull = error instanceof Error && 'code' in error && error.code === 'ENOSPC';
    throw isFull ? errors.internal('Receiving the backup failed: the disk is full', error) : error;
  }
  const allowHostAccess = isTrue(header('allow-host-access'));
  const upload = {
    path,
    allowHostAccess,
    ...(pool === undefined ? {} : { pool }),
    ...(name === undefined ? {} : { name }),
  };
  return async_(await deps.restore(context.caller, upload, signal));
}

/** Passes bytes on until they are too many. */
const within = (room: Room | undefined) =>
  async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const take = room === undefined ? undefined : counted(room);
    for await (const chunk of chunks) {
      take?.(chunk.length);
      yield chunk;
    }
  };
