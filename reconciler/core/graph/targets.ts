// Narrows a set of objects to those that --target names with their dependencies (for a destroy: their dependents), without --exclude.
import { hint } from '../../../server/api/text/nearest-word.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Address, Document } from '../documents/document.ts';

export type Edges = ReadonlyMap<Address, readonly Address[]>;

export function reverseEdges(edges: Edges): Edges {
  const reversed = new Map<Address, Address[]>();
  for (const [from, targets] of edges) {
    for (const target of targets) {
      const sources = reversed.get(target);
      if (sources === undefined) reversed.set(target, [from]);
      else sources.push(from);
    }
  }
  return reversed;
}

/** The targets and all objects reachable from them. */
export function reachable(targets: readonly Address[], edges: Edges): ReadonlySet<Address> {
  const found = new Set<Address>(targets);
  for (const address of found) for (const next of edges.get(address) ?? []) found.add(next);
  return found;
}

export const without = (addresses: Iterable<Address>, left: ReadonlySet<Address>): ReadonlySet<Address> =>
  new Set([...addresses].filter((address) => !left.has(address)));

export function unknownAddresses(
  option: string,
  addresses: readonly Address[],
  objects: readonly Document[],
): readonly Diagnostic[] {
  const known = new Set<string>(objects.map((object) => object.address));
  return addresses
    .filter((address) => !known.has(address))
    .map((address) => ({
      severity: 'error',
      code: 'unknown-target',
      path: '',
      message: `${option} ${address} is not declared${hint(address, known)}`,
      remedy: 'targets are written as kind/name, such as container/web1',
    }));
}
