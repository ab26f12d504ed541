// The files of a container: hashes the configured and the live content, compares them, writes.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path/posix';
import { Readable } from 'node:stream';
import { makeDirectories, readIfThere, sha256Of } from '../../../server/client/files/file-helpers.ts';
import { filesOf, type Files } from '../../../server/client/files/container-files.ts';
import { withoutHidden } from '../../../server/client/files/hidden-files.ts';
import { isGantry, type Link } from '../../connection/link.ts';
import { replacingFiles, steadily } from './replace-files.ts';
import { DiagnosticError, failure } from '../../framework/diagnostic.ts';
import type { Context } from '../../framework/object-type.ts';
import type { FileSpec } from './container-attributes.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';

export function filesIn(context: Context<Link>, container: string): Files {
  const { client } = context.client;
  const files = filesOf(client.http, container);
  const replacing = isGantry(context.client) ? files : replacingFiles(files, container);
  return withoutHidden(replacing, client, container, context.signal);
}

/** Hash of the configured content; undefined while it is not known. */
export async function wantedHash(file: {
  readonly content: unknown;
  readonly source: unknown;
}): Promise<string | undefined> {
  if (typeof file.content === 'string') return createHash('sha256').update(file.content).digest('hex');
  if (typeof file.source !== 'string') return undefined;
  try {
    return await sha256Of(createReadStream(file.source));
  } catch (error) {
    const why = reasonOf(error);
    const detail = `${why}. Relative paths start at the directory in which Terraform runs.`;
    throw new DiagnosticError([failure(`Cannot read the file ${file.source}`, detail)], error);
  }
}

/** The file as it is in the container; undefined when it does not exist. */
export async function readFileSpec(
  files: Files,
  path: string,
  before: FileSpec,
  signal: AbortSignal,
): Promise<FileSpec | undefined> {
  const entry = await readIfThere(files, path, signal);
  if (entry === undefined) return undefined;
  const sha256 = entry.type === 'file' ? await sha256Of(entry.body) : `(a ${entry.type})`;
  const isSameMode = Number.parseInt(before.mode ?? '', 8) === (entry.mode & 0o7777);
  const mode = isSameMode ? before.mode : `0${(entry.mode & 0o7777).toString(8).padStart(3, '0')}`;
  return { ...before, mode, uid: entry.uid, gid: entry.gid, sha256 };
}

/** Writes the file and its missing parent directories. */
export async function writeFileSpec(
  files: Files,
  path: string,
  file: Omit<FileSpec, 'content' | 'sha256'> & { readonly content: string | Buffer | null },
  signal: AbortSignal,
): Promise<void> {
  await makeDirectories(files, dirname(path), signal);
  const attributes = { mode: Number.parseInt(file.mode ?? '0644', 8), uid: file.uid ?? 0, gid: file.gid ?? 0 };
  if (file.source !== null) {
    const { source } = file;
    const sizeBytes = (await stat(source)).size;
    await steadily(() => files.write(path, createReadStream(source), { ...attributes, sizeBytes }, signal), signal);
    return;
  }
  const content = Buffer.isBuffer(file.content) ? file.content : Buffer.from(file.content ?? '');
  const write = { ...attributes, sizeBytes: content.length };
  await steadily(() => files.write(path, Readable.from([content]), write, signal), signal);
}
