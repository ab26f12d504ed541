// The saga that deletes an unused storage pool with the driver's data in it.
import type { Saga } from '../../../operations/saga.ts';
import { removeRecord } from '../../shared/saga-records.ts';
import { refuseUsedPool } from '../pool-users.ts';
import { poolSpec } from '../pools.ts';
import type { PoolParams, PoolSagaDeps } from './pool-create.ts';

export function deletePoolSaga({ records, pools }: PoolSagaDeps): Saga<PoolParams> {
  return {
    kind: 'pool-delete',
    onRestart: 'finish',
    begin(changes, { name, document }) {
      refuseUsedPool(records, name);
      changes.claim('pools', name);
      changes.put('pools', name, { ...document, lifecycle: 'deleting' });
    },
    steps: [
      {
        name: 'pool',
        execute: ({ name, document }) => pools.driver(document.driver).deletePool(poolSpec(name, document)),
      },
    ],
    commit: (changes, { name }) => removeRecord(records, changes, 'pools', name),
    rollBack: (changes, { name, document }) => changes.put('pools', name, { ...document, lifecycle: 'ready' }),
  };
}
