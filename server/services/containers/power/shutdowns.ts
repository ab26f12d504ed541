// Shutdowns under way. A container may ignore the request to shut down, and without a time limit the stop that waits for it holds the
// container's lock for ever: a forced action kills the container instead of waiting for its turn.
import type { RuntimeDriver } from '../../../drivers/runtime/driver.ts';

export class Shutdowns {
  readonly #runtime: Pick<RuntimeDriver, 'probe' | 'stop'>;
  readonly #pending = new Set<string>();

  constructor(runtime: Pick<RuntimeDriver, 'probe' | 'stop'>) {
    this.#runtime = runtime;
  }

  async during(name: string, shutdown: () => Promise<void>): Promise<void> {
    this.#pending.add(name);
    try {
      await shutdown();
    } finally {
      this.#pending.delete(name);
    }
  }

  /** Kills the container if it is shutting down, which ends that shutdown. False: it was not. */
  async cutShort(name: string, signal: AbortSignal): Promise<boolean> {
    if (!this.#pending.has(name)) return false;
    try {
      await this.#runtime.stop(name, { force: true }, signal);
    } catch (error) {
      // It may have obeyed at this moment.
      if (this.#runtime.probe(name).status !== 'stopped') throw error;
    }
    return true;
  }
}
