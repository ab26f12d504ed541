// The examples of the provider, in the folders that registries read.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { repository } from '../cli/programs.ts';

const folder = join(repository, 'provider/examples');

/** `path`: below provider/examples. */
export const example = (path: string): string => readFileSync(join(folder, path), 'utf8');

export const exampleFiles = (): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'README.md')
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));

/** The examples of one sort: `resources`, `data-sources`. */
export const examplesOf = (sort: string): readonly string[] =>
  exampleFiles()
    .filter((path) => path.startsWith(`${sort}/`) && path.endsWith('.tf'))
    .map(example);
