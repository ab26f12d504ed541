// The saga that deletes an unused network: its bridge and its record.
import type { Saga } from '../../../operations/saga.ts';
import { removeRecord } from '../../shared/saga-records.ts';
import { networkSpec } from '../network-spec.ts';
import { refuseUsedNetwork } from '../network-users.ts';
import type { NetworkParams, NetworkSagaDeps } from './network-create.ts';

export function deleteNetworkSaga({ records, network }: NetworkSagaDeps): Saga<NetworkParams> {
  return {
    kind: 'network-delete',
    onRestart: 'finish',
    begin(changes, { name, document }) {
      refuseUsedNetwork(records, name);
      changes.claim('networks', name);
      changes.put('networks', name, { ...document, lifecycle: 'deleting' });
    },
    steps: [
      {
        name: 'bridge',
        execute: ({ name }) => network.down(name),
        undo: ({ name, document }) =>
          network.up(networkSpec(records, name, document.config), new AbortController().signal),
      },
    ],
    commit: (changes, { name }) => removeRecord(records, changes, 'networks', name),
    rollBack: (changes, { name, document }) => changes.put('networks', name, { ...document, lifecycle: 'ready' }),
  };
}
