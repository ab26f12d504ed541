// `gantry backup create|list|export|import|delete`: backups of containers and custom volumes from the command line.
import type { Run, RunOf } from '../../session/context.ts';
import { Readable } from 'node:stream';
import { formatBytes } from '../../../../server/api/text/byte-size.ts';
import type { Backup } from '../../../../server/api/container/backup.ts';
import type { VolumeBackup } from '../../../../server/api/storage/volume-backup.ts';
import type { Http } from '../../../../server/client/transport/http.ts';
import { backupsOf, importBackup, volumeBackupsOf } from '../../../../server/client/files/backups.ts';
import type { backupCreate, backupImport } from './backup-verbs.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { paintFor } from '../../output/paint.ts';
import { createFile } from '../../output/write-text.ts';
import { withClient } from '../../session/connect.ts';
import { download } from '../../output/download.ts';
import { utcSecondOrNever } from '../../../core/text/times.ts';
import { renderTable } from '../../output/table.ts';
import { CliError, commandError } from '../../errors/usage-error.ts';
import { needReadableFile } from '../../errors/readable-file.ts';
import { uploadProgress } from '../../session/upload-progress.ts';
import { followOperation } from '../../session/follow-operation.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

/** An owner with a slash is a volume: container names have none. */
function placeOf(owner: string): { readonly pool: string; readonly volume: string } | undefined {
  const slash = owner.indexOf('/');
  return slash < 0 ? undefined : { pool: owner.slice(0, slash), volume: owner.slice(slash + 1) };
}

function callsOf(http: Http, owner: string) {
  const place = placeOf(owner);
  return place === undefined ? backupsOf(http, owner) : volumeBackupsOf(http, place.pool, place.volume);
}

export const createBackup: RunOf<typeof backupCreate> = async (context, [container = '', name]) => {
  const { containerOnly, optimized, compression, expires } = context.options;
  const body = {
    ...withoutUndefined({ name }),
    ...(containerOnly === true ? { [placeOf(container) === undefined ? 'container_only' : 'volume_only']: true } : {}),
    ...(optimized === true ? { optimized_storage: true } : {}),
    ...withoutUndefined({ compression_algorithm: compression }),
    // Both members: older servers only read the second.
    ...(expires === undefined ? {} : { expires_at: expires, expiry: expires }),
  };
  await withClient(context, async (client) => {
    const backups = callsOf(client.http, container);
    const made = await followOperation(context, client, () => backups.create(body, context.stop));
    const shown = typeof made['backup_name'] === 'string' ? made['backup_name'] : (name ?? '');
    context.jsonObjects({ container, name: shown });
    context.out(shown);
  });
};

export const listBackups: Run<HostOptions> = async (context, [container = '']) => {
  await withClient(context, async (client) => {
    const backups = await callsOf(client.http, container).list(context.stop);
    if (context.isJson) context.jsonObjects(backups);
    else {
      const head = ['NAME', 'CREATED', 'EXPIRES', 'SNAPSHOTS', 'OPTIMIZED', 'SIZE'];
      context.out(renderTable(head, backups.map(rowOf), paintFor(context.color)));
    }
  });
};

/** Older servers only return the older names. */
const rowOf = (backup: Partial<Backup & VolumeBackup>): readonly string[] => [
  backup.name?.slice(backup.name.indexOf('/') + 1) ?? '',
  utcSecondOrNever(backup.created_at ?? backup.creation_date ?? ''),
  utcSecondOrNever(backup.expires_at ?? backup.expiry_date ?? ''),
  backup.container_only === true || backup.volume_only === true ? 'no' : 'yes',
  backup.optimized_storage === true ? 'yes' : 'no',
  backup.size === undefined ? '' : formatBytes(backup.size),
];

/** Never overwrites a file; removes an incomplete one. */
export const exportBackup: Run<HostOptions> = async (
  context,
  [container = '', name = '', file = `${container.replaceAll('/', '-')}-${name}.backup`],
) => {
  await withClient(context, async (client) => {
    const { body, sizeBytes } = await callsOf(client.http, container).open(name, context.stop);
    const what = `The backup ${container}/${name}`;
    const whole = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      let bytes = 0;
      for await (const chunk of chunks) {
        bytes += chunk.length;
        yield chunk;
      }
      if (sizeBytes !== undefined && bytes !== sizeBytes)
        throw commandError(`${what} was cut off: received ${bytes} of ${sizeBytes} bytes`);
    };
    try {
      await download(
        context,
        what,
        Readable.from(whole(body)),
        file === '-' ? context.io.raw.stdout : (chunks) => createFile(file, chunks, { mode: 0o600 }),
      );
      if (file !== '-') context.out(file);
    } finally {
      body.on('error', () => {}).destroy();
    }
  });
};

export const importBackupFile: RunOf<typeof backupImport> = async (context, [file = '', name]) => {
  const { storage, allowHostAccess } = context.options;
  const place = placeOf(name ?? '');
  if (place !== undefined && storage !== undefined)
    throw new CliError(`The pool is in ${name}: leave --storage out`, exitCodes.usage);
  const plain = place === undefined ? name : place.volume;
  if (file !== '-') await needReadableFile(file, 'the file of a backup');
  const wanted = {
    source: file === '-' ? context.io.stdin : file,
    onProgress: uploadProgress(context, file),
    ...withoutUndefined({ pool: storage }),
    ...(place === undefined ? {} : { volumeIn: place.pool }),
    ...(plain === undefined || plain === '' ? {} : { name: plain }),
    ...(allowHostAccess === true ? { allowHostAccess } : {}),
  };
  await withClient(context, async (client) => {
    let made = plain ?? '';
    await followOperation(context, client, async () => {
      const reply = await importBackup(client.http, wanted, context.stop);
      const { resources } = reply.metadata;
      const [url] = resources?.['containers'] ?? resources?.['instances'] ?? resources?.['storage_volumes'] ?? [];
      made = url === undefined ? made : decodeURIComponent(url.split('?')[0]?.split('/').at(-1) ?? '');
      return reply;
    });
    if (context.isJson)
      context.jsonObjects(place === undefined ? { container: made } : { pool: place.pool, volume: made });
    else context.out(place === undefined ? made : `${place.pool}/${made}`);
  });
};

export const deleteBackups: Run<HostOptions> = async (context, [container = '', ...names]) => {
  await withClient(context, async (client) => {
    const backups = callsOf(client.http, container);
    for (const name of names) await client.operations.run(() => backups.delete(name, context.stop), context.stop);
  });
};
