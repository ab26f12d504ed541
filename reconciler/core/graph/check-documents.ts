// Checks a set of documents without a server: duplicates, cycles, and names that are not declared.
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Address, Document } from '../documents/document.ts';
import { waveProblems, wavesOf } from './waves.ts';
import { clashes } from '../clashes/index.ts';
import { foreignWarnings } from '../settings/lxd-settings.ts';
import { buildGraph, findCycles } from './graph.ts';
import { normalizeDocuments } from './normalize.ts';
import { emptyWorld } from '../documents/observed.ts';

/**
 * References to undeclared objects are warnings: the server may have them. `broken` are the addresses of documents
 * that could not be read: they are not reported as missing as well.
 */
export function validateDocuments(
  documents: readonly Document[],
  broken: Iterable<Address> = [],
): readonly Diagnostic[] {
  const { objects, diagnostics } = normalizeDocuments(documents);
  const { needs, diagnostics: references } = buildGraph(objects, undefined, new Set(broken));
  const waves = waveProblems(objects, needs, wavesOf(objects, needs));
  return [...diagnostics, ...references, ...waves, ...foreignWarnings(objects), ...clashes(objects, emptyWorld)];
}

/** Dependency cycles: an error on every server. */
export const referenceCycles = (documents: readonly Document[]): readonly Diagnostic[] =>
  findCycles(normalizeDocuments(documents).objects);
