// The store of a member that waits for a majority: its kept records can be read, writes are refused, watches deliver nothing.
import { openMemoryStore } from '../../store/memory/memory.ts';
import { type Store, StoreError } from '../../store/store.ts';
import type { KeptRecords } from './kept-records.ts';

const silent = (): Promise<never> =>
  Promise.reject(new StoreError('Unavailable', 'most of the etcds with the records of the cluster cannot be reached'));

export async function openSilentStore({ records }: KeptRecords): Promise<Store> {
  const memory = openMemoryStore({ maxRevisions: 1 });
  const ops = records.map(([put, document]) => ({ put, value: Buffer.from(document) }));
  for (let from = 0; from < ops.length; from += 1) await memory.txn([], ops.slice(from, from + 1));
  return {
    get: (key) => memory.get(key),
    range: (prefix, options) => memory.range(prefix, options),
    watch: (prefix, fromRev, signal) => memory.watch(prefix, fromRev, signal),
    status: () => memory.status(),
    snapshot: (sink) => memory.snapshot(sink),
    txn: silent,
    lease: silent,
    compact: silent,
    lastWrite: silent,
    close: () => memory.close(),
  };
}
