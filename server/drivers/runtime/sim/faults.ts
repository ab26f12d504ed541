// Lets a test make the simulated runtime fail or be slow, per operation and container.
import { SimFaultList, type InjectedFault } from '../../sim-fault-list.ts';

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

export interface SimFault extends InjectedFault<SimOperation> {
  /** Absent = every container. */
  readonly container?: string;
}

/** Faults of one simulated runtime: `inject({ operation: 'start', container: 'web', error: 'no space', times: 1 })` -> the next start of
 *  web fails; `inject({ operation: 'stop', delayMs: 500 })` -> every stop takes longer; `inject({ operation: 'stop', held: promise })` ->
 *  every stop waits for the promise first; `ignoreShutdown('web')` -> clean stops of web time out, forced ones work; `exitAtOnce('web')` ->
 *  its init ends during the start, which then fails; `refuseCheckpoints('no tool')` -> checkpoints can neither be made nor restored here,
 *  for this reason. All return a function that removes the fault; `clear()` removes all. */
export class SimFaults {
  readonly #faults = new SimFaultList<SimFault>();
  readonly #deaf = new Set<string>();
  readonly #shortLived = new Set<string>();
  #checkpointsMissing: string | undefined;

  inject(fault: SimFault): () => void {
    return this.#faults.inject(fault);
  }

  ignoreShutdown(container: string): () => void {
    this.#deaf.add(container);
    return () => this.#deaf.delete(container);
  }

  exitAtOnce(container: string): () => void {
    this.#shortLived.add(container);
    return () => this.#shortLived.delete(container);
  }

  refuseCheckpoints(reason: string): () => void {
    this.#checkpointsMissing = reason;
    return () => {
      this.#checkpointsMissing = undefined;
    };
  }

  get checkpointsMissing(): string | undefined {
    return this.#checkpointsMissing;
  }

  clear(): void {
    this.#faults.clear();
    this.#checkpointsMissing = undefined;
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
  pass(operation: SimOperation, container: string, signal?: AbortSignal): Promise<void> {
    const what = `Cannot ${operation} container "${container}"`;
    return this.#faults.pass({ operation, what }, (fault) => (fault.container ?? container) === container, signal);
  }
}
