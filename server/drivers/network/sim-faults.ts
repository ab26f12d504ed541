// Lets a test tell the simulated networks to fail or be slow, per operation and network. Decides nothing by itself.
import { setTimeout as sleep } from 'node:timers/promises';
import { DriverError } from '../driver-error.ts';

export type SimNetworkOperation =
  | 'fillConfig'
  | 'up'
  | 'down'
  | 'setHosts'
  | 'releaseLease'
  | 'leases'
  | 'state'
  | 'interfaces';

/** What is to happen before the named operation does its work. */
export interface SimNetworkFault {
  readonly operation: SimNetworkOperation;
  /** Absent = every network. */
  readonly network?: string;
  /** Wait this long first; an abort of the operation ends the wait. */
  readonly delayMs?: number;
  /** Then throw this, or a DriverError Failed with this text, and change nothing. */
  readonly error?: Error | string;
  /** How many times; absent = until removed. */
  readonly times?: number;
}

interface Entry {
  readonly fault: SimNetworkFault;
  left: number;
}

export class SimNetworkFaults {
  #entries: Entry[] = [];

  /** Returns what takes the fault back. */
  inject(fault: SimNetworkFault): () => void {
    const entry = { fault, left: fault.times ?? Number.POSITIVE_INFINITY };
    this.#entries.push(entry);
    return () => this.#remove(entry);
  }

  clear(): void {
    this.#entries = [];
  }

  /** Called by the driver at the start of each operation; `network` is empty for those of no single network. */
  async pass(operation: SimNetworkOperation, network: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const due = this.#entries.filter(
      ({ fault }) => fault.operation === operation && (fault.network ?? network) === network,
    );
    for (const entry of due) {
      entry.left--;
      if (entry.left <= 0) this.#remove(entry);
      const { delayMs, error } = entry.fault;
      if (delayMs !== undefined) {
        await sleep(delayMs, undefined, signal === undefined ? {} : { signal }).catch((reason: unknown) => {
          throw signal?.reason ?? reason;
        });
      }
      if (error instanceof Error) throw error;
      if (error !== undefined) {
        throw new DriverError('Failed', `${operation} of network ${network}`, new Error(error));
      }
    }
  }

  #remove(entry: Entry): void {
    this.#entries = this.#entries.filter((other) => other !== entry);
  }
}
