// The saga that creates a storage pool on the host and records it.
import type { Saga } from '../../../operations/saga.ts';
import type { PoolDocument } from '../../../records/documents.ts';
import type { Records } from '../../../records/records.ts';
import { removeRecord } from '../../shared/saga-records.ts';
import { poolSpec, type Pools } from '../pools.ts';

export interface PoolParams {
  readonly name: string;
  readonly document: PoolDocument;
}

export interface PoolSagaDeps {
  readonly records: Records;
  readonly pools: Pools;
}

export function createPoolSaga({ records, pools }: PoolSagaDeps): Saga<PoolParams> {
  return {
    kind: 'pool-create',
    onRestart: 'unwind',
    begin: (changes, { name, document }) => changes.put('pools', name, { ...document, lifecycle: 'creating' }),
    steps: [
      {
        name: 'pool',
        execute: ({ name, document }, context) =>
          pools.driver(document.driver).createPool(poolSpec(name, document), context.signal),
        undo: ({ name, document }) => pools.driver(document.driver).deletePool(poolSpec(name, document)),
      },
    ],
    commit: (changes, { name, document }) => changes.put('pools', name, document),
    rollBack: (changes, { name }) => removeRecord(records, changes, 'pools', name),
  };
}
