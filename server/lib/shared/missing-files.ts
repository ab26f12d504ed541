// Files that may be missing: undefined stands for one that is not there, and every other error is thrown.
import { readFileSync } from 'node:fs';
import { access, readFile } from 'node:fs/promises';

/** For `catch`. */
export function ifMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

export const readIfThere = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(ifMissing);

/** A missing file and one that cannot be reached are not there. */
export const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** The text of a small file; empty when it cannot be read. */
export function textOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
