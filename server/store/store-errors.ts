// The wording of store errors that several files raise.
import { type Rev, StoreError } from './store.ts';

export const storeErrors = {
  compacted: (fromRev: Rev, compactRev: Rev) =>
    new StoreError('Compacted', `revision ${fromRev} is compacted; history starts at ${compactRev}`, { compactRev }),
  futureCompaction: (keepFrom: Rev, rev: Rev) =>
    new StoreError('Invalid', `cannot compact to revision ${keepFrom}: the store is at ${rev}`),
  closed: () => new StoreError('Unavailable', 'the store is closed'),
  noLease: (id: string) => new StoreError('Invalid', `there is no lease ${id}`),
  corruptRecord: (key: string) =>
    new StoreError('Corrupt', `record ${key} does not match its checksum: the store file is damaged`),
};
