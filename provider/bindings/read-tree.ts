// Reads all files of a folder, by their path below it.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Files } from './adjust.ts';

export const readTree = (folder: string): Files =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [relative(folder, path), readFileSync(path, 'utf8')]),
  );
