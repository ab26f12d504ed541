// Tells the other members, for as long as this one renews its lease, that it is there and what its containers do.
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
  /** Seconds without a sign of life after which the others count it as gone, by the settings as they are now. */
  readonly ttlSeconds: () => number;
  readonly present: () => PresentSignal;
  /** Names of all containers of this member. */
  readonly containers: () => Iterable<string>;
  /** What a container does now; actions under way do not count. */
  readonly statusOf: (container: string) => StatusCode;
  readonly log: Log;
  /** Before a lost lease is asked for: others that lost theirs at the same time are to ask at other moments. */
  readonly spreadMs: () => number;
  /** The lease has ended although this member still runs. `ended`: when it was noticed that the others may act. */
  readonly onLost?: () => void;
  /** What ends here in time when the lease does is ended by others than this daemon, too. */
  readonly isFenced: () => boolean;
  /** Resolves when what runs here ends by then, on the clock of performance.now(), whatever becomes of this daemon. Never throws. */
  readonly beforeTelling: (untilMs: number) => Promise<void>;
}

/** All containers are looked at this often, in case something changed without a word; the load is told this often when it changed much. */
const lookEveryMs = 15_000;
const opsPerTxn = 60;
/** How long shutdown waits for the store to revoke the lease. */
const longestStopMs = 2000;
/** Before a lost lease is asked for again. */
const againMs = 500;
/** A lease is overdue after this share of its time to live; three renewals are sent in that time. */
const overdueShare = 0.5;

export class Presence {
  readonly #deps: PresenceDeps;
  readonly #ended = new AbortController();
  #lease: Lease | undefined;
  /** The same lease, also after it has ended. */
  #newest: Lease | undefined;
  /** The lease of the sign of life that the others see. */
  #publishedLease: Lease | undefined;
  #ttlSeconds = 0;
  #retiming: Promise<void> | undefined;
  /** What the others were told, and those whose status may be another now. */
  #published = new Map<string, StatusCode>();
  readonly #dirty = new Set<string>();
  #isAllDirty = true;
  #isSelfDirty = false;
  #present: PresentSignal | undefined;
  #isToldFenced: boolean | undefined;
  #flushing: Promise<void> | undefined;
  #again = false;
  #timer: NodeJS.Timeout | undefined;
  #held: Promise<void> = Promise.resolve();

  constructor(deps: PresenceDeps) {
    this.#deps = deps;
  }

  /** Resolves when the others can see it. */
  async start(): Promise<void> {
    await this.#grant();
    this.#held = this.#keep();
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

  /** On the clock of performance.now(): until then no other member takes this one for lost. */
  get heldUntilMs(): number {
    const [lease, published] = [this.#lease, this.#publishedLease];
    if (lease === undefined || published === undefined) return Number.NEGATIVE_INFINITY;
    return Math.min(lease.heldUntilMs(), published.heldUntilMs());
  }

  /** A renewal has failed: the store may not answer. */
  get isOverdue(): boolean {
    return performance.now() - this.renewedMs > this.#ttlSeconds * overdueShare * 1000;
  }

  /** When the store confirmed the newest lease last, on the clock of performance.now(). */
  get renewedMs(): number {
    return (this.#newest?.heldUntilMs() ?? Number.NEGATIVE_INFINITY) - this.#ttlSeconds * 1000;
  }

  /** Whether the others know that what runs here ends with the lease; undefined: this member does not know what they know. */
  get isToldFenced(): boolean | undefined {
    return this.#isToldFenced;
  }

  /** Its status may have changed; the others hear of it with the next `flush`. */
  mark(container: string): void {
    this.#dirty.add(container);
  }

  /** Its status may have changed; the others hear of it soon, or with the next `flush`. */
  touch(container: string): void {
    this.mark(container);
    setImmediate(() => void this.flush().catch(() => {}));
  }

  /** When it resolves, the others can see what this member says of itself. */
  async publish(): Promise<void> {
    this.#isSelfDirty = true;
    await this.flush();
  }

  /** When it resolves, the others can see what the containers of this member did when it was called. */
  async flush(): Promise<void> {
    const isFenceTold = this.#deps.isFenced() === this.#isToldFenced;
    const isDirty = this.#dirty.size > 0 || this.#isAllDirty || this.#isSelfDirty;
    if (!isDirty && isFenceTold && this.#flushing === undefined) return;
    this.#again = true;
    this.#flushing ??= this.#flushAll().finally(() => {
      this.#flushing = undefined;
    });
    await this.#flushing;
  }

  /** The time to live may be another one now: its keys move to a lease of that. Never throws: a later call makes up for it. */
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
    await this.#retiming;
    await Promise.race([this.#endLease(), delay(longestStopMs, undefined, { ref: false })]);
    await this.#held;
  }

  /** The others see at once that this member is away; without it they see it when the lease ends. */
  async #endLease(): Promise<void> {
    await this.#flushing?.catch(() => {});
    await this.#lease?.revoke().catch(() => {});
  }

  async #grant(): Promise<void> {
    const ttlSeconds = this.#deps.ttlSeconds();
    const lease = await this.#deps.store.lease(ttlSeconds);
    await this.#deps.beforeTelling(lease.heldUntilMs());
    this.#hold(lease, ttlSeconds);
    await this.flush().catch((error: unknown) => {
      // It would be renewed for ever.
      void lease.revoke().catch(() => {});
      throw error;
    });
  }

  /** All keys are put again, under this lease. */
  #hold(lease: Lease, ttlSeconds: number): void {
    this.#published = new Map();
    this.#present = undefined;
    this.#isToldFenced = undefined;
    this.#isAllDirty = true;
    this.#lease = lease;
    this.#newest = lease;
    this.#ttlSeconds = ttlSeconds;
  }

  /** The former lease ends after the others can see everything under the new one: they never miss this member. */
  async #retime(): Promise<void> {
    const former = this.#lease;
    const ttlSeconds = this.#deps.ttlSeconds();
    if (former === undefined || ttlSeconds === this.#ttlSeconds) return;
    const lease = await this.#deps.store.lease(ttlSeconds);
    // It was lost, or given up, meanwhile.
    await this.#deps.beforeTelling(Math.min(former.heldUntilMs(), lease.heldUntilMs()));
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
    this.#deps.log.info(`The others count this member as offline after ${ttlSeconds} s without a sign of life now`);
  }

  /** A lease that was lost (the store was away for too long) is asked for again. */
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
          this.#isToldFenced = undefined;
          this.#deps.log.warn(`Telling the other members what runs here failed: ${errorText(error)}`);
          throw error;
        });
      if (this.#lease !== lease) continue;
      this.#isToldFenced = isFenced;
      this.#publishedLease = lease;
    }
  }

  #changes(lease: string, isFenced: boolean): Op[] {
    const { member, statusOf, containers, present } = this.#deps;
    const ops: Op[] = [];
    // In one transaction with the sign of life: who saw an earlier one of these knows that this member was there meanwhile.
    if (isFenced !== this.#isToldFenced) {
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
