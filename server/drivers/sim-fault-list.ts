// Faults that tests inject into simulated drivers: per operation and object, fail or be slow. Decides nothing by itself.
import { setTimeout as sleep } from 'node:timers/promises';
import { driverErrors } from './driver-error.ts';

/** What happens before the named operation does its work. */
export interface InjectedFault<Operation extends string> {
  readonly operation: Operation;
  /** Waits this long first; an abort of the operation ends the wait. */
  readonly delayMs?: number;
  /** Waits for this first, instead of a time. */
  readonly held?: Promise<unknown>;
  /** Then throws this, or a DriverError Failed with this text, and changes nothing. */
  readonly error?: Error | string;
  /** How many times; absent = until removed. */
  readonly times?: number;
}

interface Entry<F> {
  readonly fault: F;
  left: number;
}

export class SimFaultList<F extends InjectedFault<string>> {
  #entries: Entry<F>[] = [];

  inject(fault: F): () => void {
    const entry = { fault, left: fault.times ?? Number.POSITIVE_INFINITY };
    this.#entries.push(entry);
    return () => this.#remove(entry);
  }

  clear(): void {
    this.#entries = [];
  }

  /** Called by the driver at the start of each operation; `meets` selects the faults of its object. */
  async pass(
    { operation, what }: { readonly operation: F['operation']; readonly what: string },
    meets: (fault: F) => boolean,
    signal?: AbortSignal,
  ): Promise<void> {
    signal?.throwIfAborted();
    const due = this.#entries.filter(({ fault }) => fault.operation === operation && meets(fault));
    for (const entry of due) {
      entry.left--;
      if (entry.left <= 0) this.#remove(entry);
      const { delayMs, held, error } = entry.fault;
      await held;
      if (delayMs !== undefined) {
        await sleep(delayMs, undefined, signal === undefined ? {} : { signal }).catch((reason: unknown) => {
          throw signal?.reason ?? reason;
        });
      }
      if (error instanceof Error) throw error;
      if (error !== undefined) throw driverErrors.failed(what, new Error(error));
    }
  }

  #remove(entry: Entry<F>): void {
    this.#entries = this.#entries.filter((other) => other !== entry);
  }
}
