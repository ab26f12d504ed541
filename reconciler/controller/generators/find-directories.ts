// Finds the directories of a checkout that match a generator. Ignores links and hidden directories.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { starPattern } from '../../core/text/star-pattern.ts';
import type { DirectoriesConfig, Entry } from '../config/generator-schema.ts';

const matcherOf = (pattern: string): readonly RegExp[] =>
  pattern
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .map((part) => starPattern(part, '[^/]*'));

/** Sorted by path. `folder`: the checkout. */
export async function findDirectories(
  folder: string,
  { include, exclude = [] }: Pick<DirectoriesConfig, 'include' | 'exclude'>,
): Promise<readonly Entry[]> {
  const barred = exclude.map(matcherOf);
  const found = new Set<string>();
  for (const pattern of include) await walk(folder, [], matcherOf(pattern), found);
  return [...found]
    .filter((path) => !barred.some((parts) => isMatch(parts, path.split('/'))))
    .sort()
    .map((path) => ({ path, name: path.slice(path.lastIndexOf('/') + 1) }));
}

/** Excluding a directory excludes all below it. */
const isMatch = (parts: readonly RegExp[], path: readonly string[]): boolean =>
  parts.length <= path.length && parts.every((part, at) => part.test(path[at] ?? ''));

async function walk(
  folder: string,
  below: readonly string[],
  [first, ...rest]: readonly RegExp[],
  found: Set<string>,
): Promise<void> {
  if (first === undefined) return;
  const entries = await readdir(join(folder, ...below), { withFileTypes: true });
  for (const entry of entries) {
    if (!entry.isDirectory() || entry.name.startsWith('.') || !first.test(entry.name)) continue;
    const path = [...below, entry.name];
    if (rest.length === 0) found.add(path.join('/'));
    else await walk(folder, path, rest, found);
  }
}
