// Makes a directory that a user named, with its parents.
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileError, hasCode } from './error-code.ts';

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

async function needFolder(path: string, error: unknown): Promise<void> {
  const found = hasCode(error, 'EEXIST', 'EROFS', 'EACCES', 'EPERM')
    ? await stat(path).catch(() => undefined)
    : undefined;
  if (found?.isDirectory() !== true) throw fileError(`cannot make the folder ${path}`, error);
}
