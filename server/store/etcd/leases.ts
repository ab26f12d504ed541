// Leases of etcd: kept alive while this process runs, lost when etcd reports it or was out of reach for the time to live.
import { setTimeout as pause } from 'node:timers/promises';
import { LeaseBook, type LeaseClock } from '../leases.ts';
import { type Lease, StoreError } from '../store.ts';
import { EtcdFailure } from './failure.ts';
import { KeepAlive } from './keep-alive.ts';
import type { EtcdLink } from './link.ts';

/** How long closing waits while etcd does not answer. */
const longestCloseMs = 2000;

export class EtcdLeases {
  readonly #link: EtcdLink;
  readonly #book: LeaseBook;
  readonly #renewals: KeepAlive;
  #closing = false;

  constructor(link: EtcdLink, clock: LeaseClock) {
    this.#link = link;
    this.#renewals = new KeepAlive(link);
    this.#book = new LeaseBook({ clock, drop: (id) => this.#revoke(id) });
  }

  async grant(ttlSeconds: number): Promise<Lease> {
    const askedAtMs = performance.now();
    const granted = await this.#link.call('LeaseGrant', { TTL: Math.ceil(ttlSeconds) });
    if (granted.error !== '') throw new StoreError('Unavailable', `etcd grants no lease: ${granted.error}`);
    const lease = this.#book.hold(granted.ID, ttlSeconds);
    const confirmedAtMs = this.#keepAlive(lease, Number(granted.TTL) * 1000, askedAtMs);
    const ttlMs = Math.min(ttlSeconds, Number(granted.TTL)) * 1000;
    return { ...lease, heldUntilMs: () => confirmedAtMs() + ttlMs };
  }

  get isClosing(): boolean {
    return this.#closing;
  }

  /** Without an answer of etcd the leases expire: closing does not wait for that. */
  async closeAll(): Promise<void> {
    this.#closing = true;
    const ended = this.#book.closeAll().catch(() => {});
    await Promise.race([ended, pause(longestCloseMs, undefined, { ref: false })]);
    this.#book.forgetAll();
    this.#renewals.close();
  }

  /** Three times within the time to live; on the real clock, like etcd. Returns when the last renewal that etcd confirmed was sent. */
  #keepAlive({ id, lost }: Lease, ttlMs: number, grantedAtMs: number): () => number {
    let confirmedAtMs = grantedAtMs;
    let isAsking = false;
    const ask = async (): Promise<void> => {
      const askedAtMs = performance.now();
      if (askedAtMs - confirmedAtMs > ttlMs) return this.#book.lose(id);
      if (isAsking) return;
      isAsking = true;
      try {
        const left = await this.#renewals.renew(id);
        if (left > 0) confirmedAtMs = askedAtMs;
        else this.#book.lose(id);
      } catch {
        // The next renewal may succeed; the time to live decides.
      } finally {
        isAsking = false;
      }
    };
    const timer = setInterval(() => void ask(), ttlMs / 3);
    timer.unref();
    void lost.then(() => clearInterval(timer));
    return () => confirmedAtMs;
  }

  async #revoke(id: string): Promise<void> {
    try {
      await this.#link.call('LeaseRevoke', { ID: id });
    } catch (error) {
      if (!(error instanceof EtcdFailure)) throw error;
      // An earlier attempt may have revoked it, or it has expired.
      if (error.kind !== 'noLease') throw error.toStoreError();
    }
  }
}

/** The time left in seconds after one renewal, 0 if the lease has ended. Throws EtcdFailure. */
export async function renew(link: EtcdLink, id: string): Promise<number> {
  const keepAlive = new KeepAlive(link);
  return await keepAlive.renew(id).finally(() => keepAlive.close());
}
