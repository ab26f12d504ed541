// The order of power actions, and the clean stops and restarts under way. A container may ignore the request to shut down, and without a
// time limit its shutdown lasts for ever: it waits in this order, outside the lock of the container, so that other work can go on.
import { setTimeout as sleep } from 'node:timers/promises';
import { tooLate } from '../../../drivers/runtime/wait-exit.ts';
import { KeyedMutex } from '../../../lib/keyed-mutex.ts';
import type { ShutdownBook } from '../shared/state-deps.ts';

export class Shutdowns implements ShutdownBook {
  readonly #turns = new KeyedMutex();
  /** Clean stops after which no other action was requested. */
  readonly #stops = new Map<string, Promise<void>>();
  readonly #pending = new Set<string>();

  inTurn(name: string, work: () => Promise<void>): Promise<void> {
    this.#stops.delete(name);
    return this.#turns.run(name, work);
  }

  async stopInTurn(name: string, timeoutMs: number | undefined, stop: () => Promise<void>): Promise<void> {
    const last = this.#stops.get(name);
    if (last !== undefined) return inTime(last, name, timeoutMs);
    const now = this.#turns.run(name, stop);
    this.#stops.set(name, now);
    try {
      await now;
    } finally {
      if (this.#stops.get(name) === now) this.#stops.delete(name);
    }
  }

  async during(name: string, shutdown: () => Promise<void>): Promise<void> {
    this.#pending.add(name);
    try {
      await shutdown();
    } finally {
      this.#pending.delete(name);
    }
  }

  isPending = (name: string): boolean => this.#pending.has(name);

  takeOver(name: string): void {
    this.#pending.delete(name);
    this.#stops.delete(name);
  }
}

async function inTime(stop: Promise<void>, name: string, timeoutMs: number | undefined): Promise<void> {
  if (timeoutMs === undefined) return stop;
  const over = new AbortController();
  const late = sleep(timeoutMs, undefined, { signal: over.signal }).then(() =>
    Promise.reject(tooLate(name, timeoutMs)),
  );
  try {
    await Promise.race([stop, late]);
  } finally {
    over.abort();
  }
}
