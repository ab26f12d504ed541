// Writes a file that a user named, whole or not at all: a part of a manifest declares fewer objects, and an apply deletes the others.
import { randomBytes } from 'node:crypto';
import { chmod, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hasCode } from '../../../server/lib/shared/error-code.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { commandError } from '../errors/usage-error.ts';

/** Rejects with EEXIST if it exists. */
export async function createFile(path: string, text: string, mode?: number): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx', ...(mode === undefined ? {} : { mode }) });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) await rm(path, { force: true });
    throw error;
  }
}

/** Replaces atomically, with its mode: a full disk leaves the old text. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const path = await realpath(file);
  const { mode } = await stat(path);
  const fresh = `${path}.${randomBytes(4).toString('hex')}.new`;
  try {
    await createFile(fresh, text);
    await chmod(fresh, mode);
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw commandError(`cannot write ${file}: ${reasonOf(error)}`, error);
  }
}

/** Readable by its owner only, since values may be secret. `force`: undefined where the verb has no such flag. */
export async function writeOutput(path: string, text: string, force?: boolean): Promise<void> {
  const there = force === true ? await stat(path).catch(() => undefined) : undefined;
  if (there?.isFile() === true) return replaceFile(path, text);
  try {
    // A device or a pipe takes the text as it is.
    await (there === undefined ? createFile(path, text, 0o600) : writeFile(path, text));
  } catch (error) {
    const isThere = hasCode(error, 'EEXIST');
    const hint = force === undefined ? '' : '; --force overwrites it';
    throw commandError(`cannot write ${path}: ${isThere ? `it already exists${hint}` : reasonOf(error)}`, error);
  }
}
