// Creates containers from a backup file: hashes the file, finds the pool for its container, and uploads it.
import { createReadStream } from 'node:fs';
import { importBackup } from '../../../server/client/files/backups.ts';
import { ClientError } from '../../../server/client/client-error.ts';
import { sha256Of } from '../../../server/client/files/file-helpers.ts';
import { rootDisk } from '../../../server/api/devices/index.ts';
import { needExtension, type Link } from '../../connection/link.ts';
import { DiagnosticError, failure } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';
import type { Context, CreateContext } from '../../framework/object-type.ts';
import { isMap, isUnknown, unknownValue, type Value } from '../../framework/value.ts';
import type { ContainerState, Source } from './container-attributes.ts';
import { performCreate } from '../shared/write.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** SHA-256 of the file. Throws DiagnosticError when it cannot be read. */
export async function backupHash(file: string): Promise<string> {
  try {
    return await sha256Of(createReadStream(file));
  } catch (error) {
    const why = reasonOf(error);
    const detail = `${why}. Relative paths start at the directory in which Terraform runs.`;
    throw new DiagnosticError([failure(`Cannot read the backup file ${file}`, detail, at('source', 'file'))], error);
  }
}

/**
 * The source with the hash of its file. The file of an existing container may be gone: then the former hash stays. Throws
 * DiagnosticError when a needed file cannot be read.
 */
export async function withBackupHash(planned: Value, prior: Source | null): Promise<Value> {
  if (!isMap(planned) || isUnknown(planned['type'])) return planned;
  if (planned['type'] !== 'backup') return { ...planned, sha256: null };
  const { file } = planned;
  if (typeof file !== 'string') return { ...planned, sha256: unknownValue };
  try {
    return { ...planned, sha256: await backupHash(file) };
  } catch (error) {
    if (prior?.type !== 'backup' || prior.file !== file) throw error;
    return { ...planned, sha256: prior.sha256 };
  }
}

/** Compares by content; an import knows only the path. Ignores the path and `allow_host_access`. */
export const isSameBackup = (before: Source, after: Source): boolean =>
  before.sha256 === null || after.sha256 === null ? before.file === after.file : before.sha256 === after.sha256;

/** Uploads the file and waits until the container exists. Resolves to its source with the hash of the bytes read. */
export async function createFromBackup(
  context: CreateContext<Link>,
  planned: ContainerState,
  source: Source,
  target: string | undefined,
): Promise<Source> {
  const { client } = context;
  needExtension(client, 'container_backup', 'create containers from backups');
  const file = source.file ?? '';
  const sha256 = await backupHash(file);
  if (source.sha256 !== null && source.sha256 !== sha256) {
    const detail = 'Plan again, so that the plan shows the new content of the backup.';
    throw new DiagnosticError([
      failure(`The backup file ${file} has changed since the plan`, detail, at('source', 'file')),
    ]);
  }
  const pool = await poolOf(context, planned);
  const wanted = {
    source: file,
    name: planned.name,
    allowHostAccess: source.allow_host_access === true,
    ...withoutUndefined({ pool, target }),
  };
  try {
    await performCreate(context, () => importBackup(client.client.http, wanted, context.signal));
  } catch (error) {
    throw withRemedy(error, file);
  }
  return { ...source, sha256 };
}

/** Replaces the error of gantryd, which names command-line flags. */
function withRemedy(error: unknown, file: string): unknown {
  if (!(error instanceof ClientError)) return error;
  const [, found] = /brings access to the host: (.*?)\. If you trust/s.exec(error.message) ?? [];
  if (found === undefined) return error;
  const detail = `It has ${found}. If you trust its origin, set source.allow_host_access = true: the container keeps only the configured config and devices, and the snapshots of the backup unchanged.`;
  const summary = `The backup file ${file} requests access to the host`;
  return new DiagnosticError([failure(summary, detail, at('source', 'allow_host_access'))], error);
}

/** The pool of the configured root disk: the container's, else its profiles'. Undefined: the server uses the backup's. */
async function poolOf({ client, signal }: Context<Link>, planned: ContainerState): Promise<string | undefined> {
  const own = rootDisk(planned.devices ?? {})?.pool ?? '';
  if (own !== '') return own;
  for (const name of (planned.profiles ?? []).toReversed()) {
    const pool = rootDisk((await client.client.get('profile', name, signal)).metadata.devices)?.pool ?? '';
    if (pool !== '') return pool;
  }
  return undefined;
}
