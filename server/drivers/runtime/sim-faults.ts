// Lets a test tell the simulated runtime to fail or be slow, per operation and container. Decides nothing by itself.
import { setTimeout as sleep } from 'node:timers/promises';
import { DriverError } from '../driver-error.ts';

export type SimOperation =
  | 'recover'
  | 'start'
  | 'stop'
  | 'freeze'
  | 'unfreeze'
  | 'metrics'
  | 'updateLimits'
  | 'exec'
  | 'forget'
  | 'plug'
  | 'adjust'
  | 'unplug'
  | 'checkpoint'
  | 'restore';

/** What is to happen before the named operation does its work. */
export interface SimFault {
  readonly operation: SimOperation;
  /** Absent = every container. */
  readonly container?: string;
  /** Wait this long first; an abort of the operation ends the wait. */
  readonly delayMs?: number;
  /** Then throw this, or a DriverError Failed with this text, and change nothing. */
  readonly error?: Error | string;
  /** How many times; absent = until removed. */
  readonly times?: number;
}

/**
 * Faults of one simulated runtime:
 *   `inject({ operation: 'start', container: 'web', error: 'no space', times: 1 })` -> the next start of web fails;
 *   `inject({ operation: 'stop', delayMs: 500 })` -> every stop takes longer;
 *   `ignoreShutdown('web')` -> clean stops of web run into their time limit, forced ones work;
 *   `exitAtOnce('web')` -> its init ends during the start, which then fails;
 *   `refuseStateful('no tool')` -> run state can neither be stored nor restored here, for this reason.
 * All return a function that takes the fault back; `clear()` takes back all.
 */
export class SimFaults {
  readonly #faults: { readonly fault: SimFault; left: number }[] = [];
  readonly #deaf = new Set<string>();
  readonly #shortLived = new Set<string>();
  #statefulMissing: string | undefined;

  inject(fault: SimFault): () => void {
    const entry = { fault, left: fault.times ?? Number.POSITIVE_INFINITY };
    this.#faults.push(entry);
    return () => this.#remove(entry);
  }

  ignoreShutdown(container: string): () => void {
    this.#deaf.add(container);
    return () => this.#deaf.delete(container);
  }

  exitAtOnce(container: string): () => void {
    this.#shortLived.add(container);
    return () => this.#shortLived.delete(container);
  }

  refuseStateful(reason: string): () => void {
    this.#statefulMissing = reason;
    return () => {
      this.#statefulMissing = undefined;
    };
  }

  get statefulMissing(): string | undefined {
    return this.#statefulMissing;
  }

  clear(): void {
    this.#faults.length = 0;
    this.#statefulMissing = undefined;
    this.#deaf.clear();
    this.#shortLived.clear();
  }

  ignoresShutdown(container: string): boolean {
    return this.#deaf.has(container);
  }

  exitsAtOnce(container: string): boolean {
    return this.#shortLived.has(container);
  }

  /** Called by the runtime at the start of each operation. */
  async pass(operation: SimOperation, container: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const due = this.#faults.filter(
      ({ fault }) => fault.operation === operation && (fault.container ?? container) === container,
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
        throw new DriverError('Failed', `Cannot ${operation} container "${container}"`, new Error(error));
      }
    }
  }

  #remove(entry: { readonly fault: SimFault; left: number }): void {
    const at = this.#faults.indexOf(entry);
    if (at >= 0) this.#faults.splice(at, 1);
  }
}
