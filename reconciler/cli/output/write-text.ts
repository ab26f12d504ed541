// Writes a file that a user named, whole or not at all: a part of a manifest declares fewer objects, and an apply deletes the others.
import { stat } from 'node:fs/promises';
import { createWhole, replaceWhole, type FileContent, type FileWrite } from '../../../server/lib/durable-files.ts';
import { commandError } from '../errors/usage-error.ts';

/** `hint`: what to do when it exists. */
export async function createFile(path: string, content: FileContent, how?: FileWrite, hint = ''): Promise<void> {
  if (!(await createWhole(path, content, how))) throw commandError(`cannot write ${path}: it already exists${hint}`);
}

/** Readable by its owner only, since values may be secret. `force`: undefined where the verb has no such flag. */
export async function writeOutput(path: string, text: string, force?: boolean): Promise<void> {
  const isThere = force === true && (await stat(path).catch(() => undefined)) !== undefined;
  if (isThere) await replaceWhole(path, text);
  else await createFile(path, text, { mode: 0o600 }, force === undefined ? '' : '; --force overwrites it');
}
