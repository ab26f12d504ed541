// The saga that creates the bridge of a network and records it.
import type { ServiceParts } from '../../shared/service-parts.ts';
import type { Saga } from '../../../operations/saga.ts';
import type { NetworkDocument } from '../../../records/documents.ts';
import { removeRecord } from '../../shared/saga-records.ts';
import { networkSpec, requireAcls } from '../network-spec.ts';

export interface NetworkParams {
  readonly name: string;
  readonly document: NetworkDocument;
}

export type NetworkSagaDeps = Pick<ServiceParts, 'records' | 'network'>;

export function createNetworkSaga({ records, network }: NetworkSagaDeps): Saga<NetworkParams> {
  return {
    kind: 'network-create',
    onRestart: 'unwind',
    begin: (changes, { name, document }) => {
      requireAcls(changes, document.config);
      changes.put('networks', name, { ...document, lifecycle: 'creating' });
    },
    steps: [
      {
        name: 'bridge',
        execute: ({ name, document }, { signal }) => network.up(networkSpec(records, name, document.config), signal),
        undo: ({ name }) => network.down(name),
      },
    ],
    commit: (changes, { name, document }) => changes.put('networks', name, document),
    rollBack: (changes, { name }) => removeRecord(records, changes, 'networks', name),
  };
}
