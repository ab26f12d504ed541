// Treats missing files as undefined, and throws every other error.
import { readFileSync } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { attempt } from './attempt.ts';

/** For `catch`. */
export function ifMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

export const readIfThere = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(ifMissing);

/** False for a missing or unreachable file. */
export const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** The text of a small file; empty if it cannot be read. */
export const textOrNothing = (path: string): string => attempt(() => readFileSync(path, 'utf8'), '');
