// After which steps the objects that another needs are as they should be.
import type { Address } from '../documents/document.ts';

/** Ids of the steps after which an object is as it should be. */
export type Ready = ReadonlyMap<Address, readonly string[]>;

const noIds: readonly string[] = [];

/** Ids after which all of `addresses` are as they should be; through objects without steps to what those need. */
export function readyIds(addresses: readonly Address[] | undefined, ready: Ready): readonly string[] {
  if (addresses === undefined || ready.size === 0) return noIds;
  const ids = new Set<string>();
  for (const address of addresses) for (const id of ready.get(address) ?? noIds) ids.add(id);
  return ids.size === 0 ? noIds : [...ids].sort();
}
