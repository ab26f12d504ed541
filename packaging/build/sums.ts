// The checksums of a release, and their signature: by them a user knows that a package is the one that was built.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.ts';

export const sums = 'SHA256SUMS';

/** Writes `SHA256SUMS` of all files below the folder. With `key`, a key of gpg, `SHA256SUMS.asc` is their signature. Returns the text. */
export function writeSums(folder: string, key: string | undefined, env: Readonly<Record<string, string>> = {}): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  const line = (path: string): string =>
    `${createHash('sha256').update(readFileSync(path)).digest('hex')}  ${path.slice(folder.length + 1)}\n`;
  const text = files.map(line).join('');
  writeFileSync(join(folder, sums), text);
  if (key !== undefined && key !== '')
    run('gpg', ['--batch', '--yes', '--armor', '--detach-sign', '--local-user', key, join(folder, sums)], env);
  return text;
}
