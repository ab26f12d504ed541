// Lets a test make the simulated networks fail or be slow, per operation and network.
import { SimFaultList, type InjectedFault } from '../sim-fault-list.ts';

export type SimNetworkOperation =
  | 'fillConfig'
  | 'up'
  | 'setRules'
  | 'down'
  | 'setHosts'
  | 'releaseLease'
  | 'leases'
  | 'state'
  | 'interfaces';

export interface SimNetworkFault extends InjectedFault<SimNetworkOperation> {
  /** Absent = every network. */
  readonly network?: string;
}

export class SimNetworkFaults {
  readonly #faults = new SimFaultList<SimNetworkFault>();

  inject(fault: SimNetworkFault): () => void {
    return this.#faults.inject(fault);
  }

  clear(): void {
    this.#faults.clear();
  }

  /** Called by the driver at the start of each operation; `network` is empty for those of no single network. */
  pass(operation: SimNetworkOperation, network: string, signal?: AbortSignal): Promise<void> {
    const what = `${operation} of network ${network}`;
    return this.#faults.pass({ operation, what }, (fault) => (fault.network ?? network) === network, signal);
  }
}
