// The saga that renames an unused network: removes the old bridge and makes a new one.
import type { Saga } from '../../../operations/saga.ts';
import { networkSpec } from '../network-spec.ts';
import { refuseUsedNetwork } from '../network-users.ts';
import type { NetworkParams, NetworkSagaDeps } from './network-create.ts';

export type RenameNetworkParams = NetworkParams & { readonly to: string };

export function renameNetworkSaga({ records, network }: NetworkSagaDeps): Saga<RenameNetworkParams> {
  return {
    kind: 'network-rename',
    onRestart: 'unwind',
    begin(changes, { name, to }) {
      refuseUsedNetwork(records, name);
      changes.claim('networks', name);
      changes.claim('networks', to);
    },
    steps: [
      {
        name: 'old bridge',
        execute: ({ name }) => network.down(name),
        undo: ({ name, document }) =>
          network.up(networkSpec(records, name, document.config), new AbortController().signal),
      },
      {
        name: 'new bridge',
        execute: ({ to, document }, { signal }) => network.up(networkSpec(records, to, document.config), signal),
        undo: ({ to }) => network.down(to),
      },
    ],
    commit(changes, { name, to, document }) {
      changes.delete('networks', name);
      changes.put('networks', to, document);
    },
  };
}
