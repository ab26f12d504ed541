// Records at the end of a saga: deleted if they still exist, or made usable again.
import type { Documents, Kind } from '../../records/documents.ts';
import type { Changes, Collection, Records } from '../../records/records.ts';

export function removeRecord(records: Records, changes: Changes, kind: Kind, name: string): void {
  if (records[kind].has(name)) changes.delete(kind, name);
}

type OwnedByASaga = { [K in Kind]: Documents[K] extends { readonly lifecycle: unknown } ? K : never }[Kind];

/** After a failed deletion, so that it can be retried. */
export function makeReady<K extends OwnedByASaga>(records: Records, changes: Changes, kind: K, name: string): void {
  const entry = (records[kind] as unknown as Collection<K>).get(name);
  if (entry !== undefined) changes.put(kind, name, { ...entry.document, lifecycle: 'ready' });
}
