// The files of a container as Terraform keeps them: hashed here and there, compared, written.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path/posix';
import { Readable } from 'node:stream';
import { isNotFound } from '../../server/client/client-error.ts';
import { filesOf, type Files } from '../../server/client/files.ts';
import type { Link } from '../connection/link.ts';
import { DiagnosticError, failure } from '../framework/diagnostic.ts';
import type { Context } from '../framework/provider.ts';
import type { FileSpec } from './container-attributes.ts';

export const filesIn = (context: Context<Link>, container: string): Files =>
  filesOf(context.client.client.http, container);

/** Of the content that the configuration asks for; undefined while it is not known. */
export async function wantedHash(file: {
  readonly content: unknown;
  readonly source: unknown;
}): Promise<string | undefined> {
  if (typeof file.content === 'string') return createHash('sha256').update(file.content).digest('hex');
  if (typeof file.source !== 'string') return undefined;
  try {
    return await hashOf(createReadStream(file.source));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const detail = `${why}. Relative paths start at the directory in which Terraform runs.`;
    throw new DiagnosticError([failure(`Cannot read the file ${file.source}`, detail)], error);
  }
}

async function hashOf(stream: Readable): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of stream as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}

/** A body that nobody reads any more; its connection reports that as an error, which nobody would hear. */
export function discard(body: Readable): void {
  body.on('error', () => {});
  body.destroy();
}

/** As it is in the container; undefined: there is no such file. */
export async function readFileSpec(
  files: Files,
  path: string,
  before: FileSpec,
  signal: AbortSignal,
): Promise<FileSpec | undefined> {
  try {
    const entry = await files.read(path, signal);
    const sha256 = entry.type === 'file' ? await hashOf(entry.body) : `(a ${entry.type})`;
    const isSameMode = Number.parseInt(before.mode ?? '', 8) === (entry.mode & 0o7777);
    const mode = isSameMode ? before.mode : `0${(entry.mode & 0o7777).toString(8).padStart(3, '0')}`;
    return { ...before, mode, uid: entry.uid, gid: entry.gid, sha256 };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Writes it with the directories that lead to it. */
export async function writeFileSpec(files: Files, path: string, file: FileSpec, signal: AbortSignal): Promise<void> {
  await makeDirectories(files, dirname(path), signal);
  const attributes = { mode: Number.parseInt(file.mode ?? '0644', 8), uid: file.uid ?? 0, gid: file.gid ?? 0 };
  if (file.source !== null) {
    const { size } = await stat(file.source);
    await files.write(path, createReadStream(file.source), { ...attributes, sizeBytes: size }, signal);
    return;
  }
  const content = Buffer.from(file.content ?? '');
  await files.write(path, Readable.from([content]), { ...attributes, sizeBytes: content.length }, signal);
}

export async function makeDirectories(files: Files, path: string, signal: AbortSignal): Promise<void> {
  const steps = path.split('/').filter((step) => step !== '');
  for (let count = 1; count <= steps.length; count += 1) {
    const directory = `/${steps.slice(0, count).join('/')}`;
    const found = await files.read(directory, signal).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (found?.type === 'file') discard(found.body);
    if (found === undefined) await files.makeDirectory(directory, {}, signal);
  }
}

export async function deleteFile(files: Files, path: string, signal: AbortSignal): Promise<void> {
  try {
    await files.delete(path, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
