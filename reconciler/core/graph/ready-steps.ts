// Finds the steps after which the dependencies of an object are in their declared state.
import type { Address } from '../documents/document.ts';

/** Ids of the steps after which an object is in its declared state. */
export type Ready = ReadonlyMap<Address, readonly string[]>;

const noIds: readonly string[] = [];

/** Ids of the steps after which all of `addresses` are in their declared state. An object without steps counts by its own dependencies. */
export function readyIds(addresses: readonly Address[] | undefined, ready: Ready): readonly string[] {
  if (addresses === undefined || ready.size === 0) return noIds;
  const ids = new Set<string>();
  for (const address of addresses) for (const id of ready.get(address) ?? noIds) ids.add(id);
  return ids.size === 0 ? noIds : [...ids].sort();
}
