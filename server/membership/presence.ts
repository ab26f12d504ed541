// Publishes, under a lease, that this member is present and the status of its containers.
import { setTimeout as delay } from 'node:timers/promises';
import { type StatusCode, statusCodes } from '../api/status.ts';
import type { Log } from '../lib/log.ts';
import { errorText } from '../lib/shared/reason.ts';
import { pause } from '../lib/shared/deadline.ts';
import type { Lease, Op, Store } from '../store/store.ts';
import { isOther } from './presence-rules.ts';
import {
  encodeFence,
  encodePresent,
  encodeStatus,
  fenceKey,
  presentKey,
  type PresentSignal,
  statusKey,
} from './signals.ts';

export interface PresenceDeps {
  readonly store: Store;
  readonly member: number;
  /** Seconds without a renewal after which the others consider this member lost, by the current settings. */
  readonly ttlSeconds: () => number;
  readonly present: () => PresentSignal;
  /** Names of all containers of this member. */
  readonly containers: () => Iterable<string>;
  /** The container's status; actions in progress do not count. */
  readonly statusOf: (container: string) => StatusCode;
  readonly log: Log;
  /** The delay before a lost lease is acquired again: members that lost theirs together must not return together. */
  readonly spreadMs: () => number;
  /** The lease has ended although this member still runs. `ended`: when this member noticed. */
  readonly onLost?: () => void;
  /** Whether a guard outside this daemon ends everything here in time when the lease ends. */
  readonly isFenced: () => boolean;
  /** Resolves when everything here is sure to end by then (on the clock of performance.now()), whatever happens to this daemon. Never
   *  throws. */
  readonly beforePublishing: (untilMs: number) => Promise<void>;
}

/** How often the status of all containers is compared, for changes without a notice; and how often a changed load is published. */
const lookEveryMs = 15_000;
const opsPerTxn = 60;
/** How long shutdown waits for the store to revoke the lease. */
const longestStopMs = 2000;
/** The pause before a lost lease is acquired again. */
const againMs = 500;
/** A lease is overdue after this share of its time to live; three renewals are sent in that time. */
const overdueShare = 0.5;

export class Presence {
  readonly #deps: PresenceDeps;
  readonly #ended = new AbortController();
  #lease: Lease | undefined;
  /** The current lease, also after it has ended. */
  #newest: Lease | undefined;
  /** The lease of the published presence key. */
  #publishedLease: Lease | undefined;
  #ttlSeconds = 0;
  #retiming: Promise<void> | undefined;
  /** The published status of each container, and the containers whose status may have changed. */
  #published = new Map<string, StatusCode>();
  readonly #dirty = new Set<string>();
  #isAllDirty = true;
  #isSelfDirty = false;
  #present: PresentSignal | undefined;
  #isFencePublished: boolean | undefined;
  #flushing: Promise<void> | undefined;
  #again = false;
  #timer: NodeJS.Timeout | undefined;
  #keeping: Promise<void> = Promise.resolve();

  constructor(deps: PresenceDeps) {
    this.#deps = deps;
  }

  /** Resolves when the others can see it. */
  async start(): Promise<void> {
    await this.#grant();
    this.#keeping = this.#keep();
    this.#timer = setInterval(() => {
      this.#isAllDirty = true;
      void this.flush().catch(() => {});
      void this.retime();
    }, lookEveryMs);
    this.#timer.unref();
  }

  get isHeld(): boolean {
    return this.#lease !== undefined;
  }

  /** On the clock of performance.now(): no other member considers this one lost before that. */
  get heldUntilMs(): number {
    const [lease, published] = [this.#lease, this.#publishedLease];
    if (lease === undefined || published === undefined) return Number.NEGATIVE_INFINITY;
    return Math.min(lease.heldUntilMs(), published.heldUntilMs());
  }

  /** A renewal has failed: the store may not answer. */
  get isOverdue(): boolean {
    return performance.now() - this.renewedMs > this.#ttlSeconds * overdueShare * 1000;
  }

  /** When the store last confirmed the newest lease, on the clock of performance.now(). */
  get renewedMs(): number {
    return (this.#newest?.heldUntilMs() ?? Number.NEGATIVE_INFINITY) - this.#ttlSeconds * 1000;
  }

  /** Whether the others know that everything here ends with the lease; undefined: not known. */
  get isFencePublished(): boolean | undefined {
    return this.#isFencePublished;
  }

  /** The container's status may have changed; `flush` publishes it. */
  mark(container: string): void {
    this.#dirty.add(container);
  }

  /** The container's status may have changed; it is published soon, or with the next `flush`. */
  touch(container: string): void {
    this.mark(container);
    setImmediate(() => void this.flush().catch(() => {}));
  }

  /** Resolves when the others can see the current presence of this member. */
  async publish(): Promise<void> {
    this.#isSelfDirty = true;
    await this.flush();
  }

  /** Resolves when the others can see the status that its containers had at the call. */
  async flush(): Promise<void> {
    const isFenceCurrent = this.#deps.isFenced() === this.#isFencePublished;
    const isDirty = this.#dirty.size > 0 || this.#isAllDirty || this.#isSelfDirty;
    if (!isDirty && isFenceCurrent && this.#flushing === undefined) return;
    this.#again = true;
    // A call may come when the last round is over and `#flushing` still there.
    while (this.#again) {
      this.#flushing ??= this.#flushAll().finally(() => {
        this.#flushing = undefined;
      });
      await this.#flushing;
    }
  }

  /** The time to live may have changed: moves the keys to a lease of that length. Never throws: a later call retries. */
  async retime(): Promise<void> {
    this.#retiming ??= this.#retime()
      .catch((error: unknown) => {
        this.#deps.log.warn(`The lease of this member keeps its time to live: ${errorText(error)}`);
      })
      .finally(() => {
        this.#retiming = undefined;
      });
    await this.#retiming;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#ended.abort();
    await Promise.race([this.#endLease(), delay(longestStopMs, undefined, { ref: false })]);
  }

  /** Shows the others at once that this member is away; otherwise they notice when the lease ends. */
  async #endLease(): Promise<void> {
    await this.#retiming;
    await this.#flushing?.catch(() => {});
    await this.#lease?.revoke().catch(() => {});
    await this.#keeping;
  }

  async #grant(): Promise<void> {
    const ttlSeconds = this.#deps.ttlSeconds();
    const lease = await this.#deps.store.lease(ttlSeconds);
    await this.#deps.beforePublishing(lease.heldUntilMs());
    this.#hold(lease, ttlSeconds);
    await this.flush().catch((error: unknown) => {
      // Without this the lease would be renewed for ever.
      void lease.revoke().catch(() => {});
      throw error;
    });
  }

  /** Puts all keys again, under this lease. */
  #hold(lease: Lease, ttlSeconds: number): void {
    this.#published = new Map();
    this.#present = undefined;
    this.#isFencePublished = undefined;
    this.#isAllDirty = true;
    this.#lease = lease;
    this.#newest = lease;
    this.#ttlSeconds = ttlSeconds;
  }

  /** Ends the former lease only after everything is visible under the new one: the others never miss this member. */
  async #retime(): Promise<void> {
    const former = this.#lease;
    const ttlSeconds = this.#deps.ttlSeconds();
    if (former === undefined || ttlSeconds === this.#ttlSeconds) return;
    const lease = await this.#deps.store.lease(ttlSeconds);
    // The lease was lost, or given up, since.
    await this.#deps.beforePublishing(Math.min(former.heldUntilMs(), lease.heldUntilMs()));
    if (this.#lease !== former || this.#ended.signal.aborted) return await lease.revoke();
    this.#hold(lease, ttlSeconds);
    while (!this.#ended.signal.aborted) {
      const isTold = await this.flush().then(
        () => true,
        () => false,
      );
      if (isTold) break;
      await pause(againMs, this.#ended.signal).catch(() => {});
    }
    await former.revoke();
    this.#deps.log.info(`From now on the others count this member as offline after ${ttlSeconds} s without a renewal`);
  }

  /** Acquires a lease again that was lost (the store was away for too long). */
  async #keep(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      const held = this.#lease;
      await held?.lost;
      if (this.#ended.signal.aborted) return;
      if (this.#lease !== held) continue;
      this.#lease = undefined;
      this.#publishedLease = undefined;
      this.#deps.log.warn('The lease of this member has ended: the others count it as offline until it is renewed');
      this.#deps.onLost?.();
      while (this.#lease === undefined && !this.#ended.signal.aborted) {
        await pause(this.#deps.spreadMs(), this.#ended.signal).catch(() => {});
        if (this.#ended.signal.aborted) return;
        await this.#grant().catch(() => {
          this.#lease = undefined;
        });
        if (this.#lease === undefined) await pause(againMs, this.#ended.signal).catch(() => {});
      }
    }
  }

  async #flushAll(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      const lease = this.#lease;
      if (lease === undefined) return;
      const isFenced = this.#deps.isFenced();
      const ops = this.#changes(lease.id, isFenced);
      for (let from = 0; from < ops.length; from += opsPerTxn)
        await this.#deps.store.txn([], ops.slice(from, from + opsPerTxn)).catch((error: unknown) => {
          this.#isAllDirty = true;
          this.#published = new Map();
          this.#present = undefined;
          this.#isFencePublished = undefined;
          this.#deps.log.warn(`Publishing the status of the containers of this member failed: ${errorText(error)}`);
          throw error;
        });
      if (this.#lease !== lease) continue;
      this.#isFencePublished = isFenced;
      this.#publishedLease = lease;
    }
  }

  #changes(lease: string, isFenced: boolean): Op[] {
    const { member, statusOf, containers, present } = this.#deps;
    const ops: Op[] = [];
    // One transaction with the presence key: whoever saw an earlier value knows that this member was present in between.
    if (isFenced !== this.#isFencePublished) {
      const key = fenceKey(member);
      ops.push(isFenced ? { put: key, value: encodeFence({ ttlSeconds: this.#ttlSeconds }) } : { del: key });
    }
    const signal = present();
    if (this.#present === undefined || isOther(this.#present, signal)) {
      ops.push({ put: presentKey(member), value: encodePresent(signal), lease });
      this.#present = signal;
    }
    const names = this.#isAllDirty ? new Set([...containers(), ...this.#published.keys()]) : new Set(this.#dirty);
    this.#isAllDirty = false;
    this.#isSelfDirty = false;
    this.#dirty.clear();
    for (const name of names) {
      const code = statusOf(name);
      const published = this.#published.get(name);
      if (code === (published ?? statusCodes.stopped)) continue;
      const key = statusKey(member, name);
      if (code === statusCodes.stopped) {
        ops.push({ del: key });
        this.#published.delete(name);
      } else {
        ops.push({ put: key, value: encodeStatus(code), lease });
        this.#published.set(name, code);
      }
    }
    return ops;
  }
}
