// Folders of tests below the folder for temporary files, removed when the file that made them has ended.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made = new Set<string>();

/** A new folder without links in its path, removed automatically. `name`: the prefix of its name. */
export const tempFolder = (name: string): string => removedAtEnd(mkdtempSync(join(realpathSync(tmpdir()), name)));

/** The same for a folder that exists elsewhere. */
export function removedAtEnd(folder: string): string {
  // A file whose tests are all skipped runs no hook.
  if (made.size === 0) process.once('exit', removeTempFolders);
  made.add(folder);
  return folder;
}

/** A program of the tests, such as a shell that saves its state, may still add a file: such a folder is removed again. */
export function removeTempFolders(): void {
  process.removeListener('exit', removeTempFolders);
  for (const folder of made) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  made.clear();
}
