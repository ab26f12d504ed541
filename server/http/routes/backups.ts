// Backup endpoints of containers and custom volumes: requests to use cases and back; uploads are received here, files streamed.
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { errors } from '../../api/errors.ts';
import { isTrue } from '../../api/text/value-checks.ts';
import type { Operation } from '../../api/operation.ts';
import { backupUploadPath, renderBackup, renderVolumeBackup, type BackupEntry } from '../../services/shared/backups.ts';
import type { Backups } from '../../services/transfer/backups/backups.ts';
import type { BackupOf } from '../../services/transfer/backups/owner.ts';
import type { BackupUpload } from '../../services/transfer/backups/uploaded.ts';
import { counted, type Room } from '../../services/shared/room.ts';
import { bodyOf } from '../linger.ts';
import { uploadError } from '../upload-error.ts';
import {
  async_,
  collection,
  sync,
  type RouteContext,
  type RouteReply,
  type RouteTable,
  type WithParams,
} from '../route.ts';
import { sendFile } from '../send-file.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface UploadDeps {
  /** See backupRoom. */
  readonly room: (project: string) => Room | undefined;
  readonly dir: string;
  readonly headerPrefix: string;
}

const ofContainer = ({ params }: WithParams<'name'>): BackupOf => ({ container: params.name });

function ofVolume({ params }: WithParams<'pool' | 'type' | 'name'>): BackupOf {
  if (params.type !== 'custom')
    throw errors.badRequest(`Backups of volumes of type ${params.type} are made with what they belong to`);
  return { volume: { pool: params.pool, name: params.name } };
}

export function backupRoutes({ backups }: { readonly backups: Backups }) {
  const list = <R>(query: RouteContext['query'], of: BackupOf, render: (entry: BackupEntry) => R): RouteReply =>
    collection(
      query,
      () => backups.urls(of),
      () => backups.list(of).map(render),
    );
  return {
    'backups.list': (context) => list(context.query, ofContainer(context), renderBackup),
    'backups.create': async (context) =>
      async_(await backups.create(context.caller, ofContainer(context), context.body)),
    'backups.get': (context) => sync(renderBackup(backups.get(ofContainer(context), context.params.backup))),
    'backups.post': (context) =>
      async_(backups.rename(context.caller, ofContainer(context), context.params.backup, context.body.name)),
    'backups.delete': (context) => async_(backups.delete(context.caller, ofContainer(context), context.params.backup)),
    'backups.export': (context) =>
      sendFile(backups.file(ofContainer(context), context.params.backup).path, context.request.headers),
    'volumeBackups.list': (context) => list(context.query, ofVolume(context), renderVolumeBackup),
    'volumeBackups.create': async (context) =>
      async_(await backups.create(context.caller, ofVolume(context), context.body)),
    'volumeBackups.get': (context) => sync(renderVolumeBackup(backups.get(ofVolume(context), context.params.backup))),
    'volumeBackups.post': (context) =>
      async_(backups.rename(context.caller, ofVolume(context), context.params.backup, context.body.name)),
    'volumeBackups.delete': (context) =>
      async_(backups.delete(context.caller, ofVolume(context), context.params.backup)),
    'volumeBackups.export': (context) =>
      sendFile(backups.file(ofVolume(context), context.params.backup).path, context.request.headers),
  } satisfies Partial<RouteTable>;
}

/** A POST with the file as body; the headers `pool` and `name` override its content, `allow-host-access` accepts access to the host. */
export async function receiveBackup(
  deps: UploadDeps,
  context: Pick<RouteContext, 'request' | 'signal' | 'caller'>,
  restore: (upload: BackupUpload) => Promise<Operation>,
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
    throw uploadError('backup', path, error);
  }
  const allowHostAccess = isTrue(header('allow-host-access'));
  const upload = {
    path,
    allowHostAccess,
    ...withoutUndefined({ pool, name }),
  };
  return async_(await restore(upload));
}

const within = (room: Room | undefined) =>
  async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const take = room === undefined ? undefined : counted(room);
    for await (const chunk of chunks) {
      take?.(chunk.length);
      yield chunk;
    }
  };
