// What can be said of a set of documents without a server: duplicates, cycles, and names that are not declared.
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Address, Document } from '../documents/document.ts';
import { waveProblems, wavesOf } from './waves.ts';
import { clashes } from '../clashes/index.ts';
import { foreignWarnings } from '../settings/lxd-settings.ts';
import { buildGraph } from './graph.ts';
import { normalizeDocuments } from './normalize.ts';
import { emptyWorld } from '../documents/observed.ts';

/**
 * References to what is not declared are warnings: it may exist on the server. `broken` are the addresses of documents
 * that could not be read, which are no reason to call them missing as well.
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

/** Objects that need each other in a circle: a mistake whatever a server holds. */
export function referenceCycles(documents: readonly Document[], broken: Iterable<Address> = []): readonly Diagnostic[] {
  const { objects } = normalizeDocuments(documents);
  return buildGraph(objects, undefined, new Set(broken)).diagnostics.filter(({ code }) => code === 'reference-cycle');
}
