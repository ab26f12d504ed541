// Makes a directory that a user named, with its parents.
import { mkdirSync, statSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileError, FileError, hasCode } from './error-code.ts';

/**
 * As `mkdir` with `recursive`, which never returns where the file system refuses new names as missing ones: below /proc it tries again
 * for ever, with a whole core. Throws the error of the kernel, in words.
 */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  try {
    await mkdir(path, mode);
  } catch (error) {
    const parent = dirname(path);
    if (hasCode(error, 'ENOENT') && parent !== path) {
      await makeFolder(parent, mode);
      return mkdir(path, mode).catch(async (again: unknown) => needFolder(path, again));
    }
    await needFolder(path, error);
  }
}

/** The same for code that cannot wait. */
export function makeFolderSync(path: string, mode?: number): void {
  const attempt = (): unknown => {
    try {
      mkdirSync(path, mode);
      return undefined;
    } catch (error) {
      return error;
    }
  };
  let error = attempt();
  const parent = dirname(path);
  if (hasCode(error, 'ENOENT') && parent !== path) {
    makeFolderSync(parent, mode);
    error = attempt();
  }
  if (error === undefined) return;
  const found = mayExist(error) ? statSync(path, { throwIfNoEntry: false }) : undefined;
  if (found?.isDirectory() !== true) throw failure(path, error);
}

async function needFolder(path: string, error: unknown): Promise<void> {
  const found = mayExist(error) ? await stat(path).catch(() => undefined) : undefined;
  if (found?.isDirectory() !== true) throw failure(path, error);
}

const mayExist = (error: unknown): boolean => hasCode(error, 'EEXIST', 'EROFS', 'EACCES', 'EPERM');

function failure(path: string, error: unknown): unknown {
  const what = `cannot make the folder ${path}`;
  // The parent exists, so nothing is missing.
  return hasCode(error, 'ENOENT')
    ? new FileError(`${what}: its file system takes no new folders: name another place`, 'ENOENT', error)
    : fileError(what, error);
}
