// The leases held through one open store: renewed while the process runs, ended by revoke, stall or close.
import { storeErrors } from './store-errors.ts';
import type { Lease } from './store.ts';

export interface LeaseClock {
  nowMs(): number;
  /** Calls `tick` every `ms` until the returned function is called. */
  every(ms: number, tick: () => void): () => void;
}

/** Monotonic: a suspended machine or a corrected wall clock does not end leases. */
export const systemLeaseClock: LeaseClock = {
  nowMs: () => performance.now(),
  every: (ms, tick) => {
    const timer = setInterval(tick, ms);
    timer.unref();
    return () => clearInterval(timer);
  },
};

export interface LeaseDeps {
  readonly clock: LeaseClock;
  /** Deletes the lease and every key it holds in one transaction. */
  readonly drop: (id: string) => Promise<void>;
}

interface HeldLease {
  readonly ttlMs: number;
  readonly resolveLost: () => void;
  stopTicking: () => void;
  renewedAtMs: number;
  expired: boolean;
  ending: Promise<void> | undefined;
}

export class LeaseBook {
  readonly #deps: LeaseDeps;
  readonly #leases = new Map<string, HeldLease>();

  constructor(deps: LeaseDeps) {
    this.#deps = deps;
  }

  hold(id: string, ttlSeconds: number): Lease {
    const ttlMs = ttlSeconds * 1000;
    const { clock } = this.#deps;
    let resolveLost = (): void => {};
    const lost = new Promise<void>((resolve) => {
      resolveLost = resolve;
    });
    const stopTicking = clock.every(ttlMs / 3, () => this.#tick(id));
    this.#leases.set(id, {
      ttlMs,
      resolveLost,
      stopTicking,
      renewedAtMs: clock.nowMs(),
      expired: false,
      ending: undefined,
    });
    const heldUntilMs = (): number => (this.#leases.get(id)?.renewedAtMs ?? Number.NEGATIVE_INFINITY) + ttlMs;
    return { id, lost, heldUntilMs, revoke: () => this.#end(id) };
  }

  /** Ends every lease; if its keys cannot be deleted now, the lease counts as lost, too, and the next open deletes them. */
  async closeAll(): Promise<void> {
    await Promise.allSettled([...this.#leases.keys()].map((id) => this.#end(id)));
    this.forgetAll();
  }

  /** For a failed store: notifies the holders, changes no key. */
  forgetAll(): void {
    for (const id of this.#leases.keys()) this.#forget(id);
  }

  /** The lease, and its keys, ended without this process. */
  lose(id: string): void {
    this.#forget(id);
  }

  #tick(id: string): void {
    const lease = this.#leases.get(id);
    if (lease === undefined) return;
    const nowMs = this.#deps.clock.nowMs();
    lease.expired ||= nowMs - lease.renewedAtMs > lease.ttlMs;
    if (!lease.expired) lease.renewedAtMs = nowMs;
    // The next tick retries a failed deletion (disk full).
    else this.#end(id).catch(() => {});
  }

  #end(id: string): Promise<void> {
    const lease = this.#leases.get(id);
    if (lease === undefined) return Promise.resolve();
    lease.ending ??= this.#deps.drop(id).then(
      () => this.#forget(id),
      (error: unknown) => {
        lease.ending = undefined;
        throw error instanceof Error ? error : storeErrors.noLease(id);
      },
    );
    return lease.ending;
  }

  #forget(id: string): void {
    const lease = this.#leases.get(id);
    lease?.stopTicking();
    this.#leases.delete(id);
    lease?.resolveLost();
  }
}
