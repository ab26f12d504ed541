// Checks without the generators whether the bindings are up to date: compares hashes of their inputs and of every file. Pure.
import { createHash } from 'node:crypto';
import type { Files } from './adjust.ts';

export interface Seal {
  /** The hash of the schemas, with the provider's version. */
  readonly schema: string;
  /** The hash of the generators' lock file. */
  readonly generators: string;
  /** Path below cdktn/generated to hash. */
  readonly files: Readonly<Record<string, string>>;
}

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

export const sealOf = (from: { readonly schema: string; readonly generators: string }, files: Files): Seal => ({
  schema: hashOf(from.schema),
  generators: hashOf(from.generators),
  files: Object.fromEntries(
    [...files].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([path, text]) => [path, hashOf(text)]),
  ),
});

/** Messages about the differences; empty when the bindings are up to date. */
export function brokenSeals(sealed: Seal, now: Seal): readonly string[] {
  const paths = [...new Set([...Object.keys(sealed.files), ...Object.keys(now.files)])].sort();
  return [
    ...(sealed.schema === now.schema ? [] : ['the schemas of the provider or its version have changed']),
    ...(sealed.generators === now.generators ? [] : ['the versions of the generators have changed']),
    ...paths
      .filter((path) => sealed.files[path] !== now.files[path])
      .map((path) => `${path} differs from the generated file`),
  ];
}
