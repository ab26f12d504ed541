// Writes the bindings for CDKTF next to those for cdktn. Git ignores them: builds, type checks and tests write them first.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { filesForCdktf } from './for-cdktf.ts';
import { readTree } from './read-tree.ts';

/** Writes only files that differ, so that a concurrent reader never sees an unchanged file half written. */
export function writeCdktf(repository: string): void {
  const bindings = join(repository, 'provider/bindings');
  const folder = join(bindings, 'cdktf');
  const files = filesForCdktf(readTree(join(bindings, 'cdktn')));
  mkdirSync(folder, { recursive: true });
  for (const path of readTree(folder).keys()) {
    if (!files.has(path)) rmSync(join(folder, path));
  }
  for (const [path, text] of files) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    if (textOf(file) !== text) writeFileSync(file, text);
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
