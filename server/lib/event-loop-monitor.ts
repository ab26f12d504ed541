// Measures how long the event loop is blocked, and names the work in progress. Costs nothing without work in progress.
import { closeSync, openSync, readSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { attempt } from './shared/attempt.ts';

export interface LoopFigures {
  /** Only longer times count. */
  readonly limitMs: number;
  /** The longest time until now, in whole milliseconds. */
  readonly longestMs: number;
  readonly overLimit: number;
}

export interface EventLoopMonitorOptions {
  readonly limitMs?: number;
  /** Called after the loop was blocked longer than the limit, at most once in `quietMs`. */
  readonly onBlocked: (blockedMs: number, underWay: readonly string[]) => void;
  readonly quietMs?: number;
  readonly time?: LoopTime;
}

/** This class's view of time, so that tests can control it. */
export interface LoopTime {
  nowMs(): number;
  /** How long this thread has waited for a processor since its start. */
  waitedMs(): number;
  /** Calls back once; the result cancels it. */
  after(ms: number, callback: () => void): () => void;
  close(): void;
}

type Label = () => string;

const tickMs = 10;
/** Continues this long after the last work ended: some effects come later. */
const lingerMs = 1000;
const namesShown = 5;

export class EventLoopMonitor {
  readonly #limitMs: number;
  readonly #quietMs: number;
  readonly #onBlocked: EventLoopMonitorOptions['onBlocked'];
  readonly #time: LoopTime;
  readonly #underWay = new Set<Label>();
  /** Ended since the last tick. */
  #ended: Label[] = [];
  #cancel: (() => void) | undefined;
  #due = 0;
  #waitedMs = 0;
  #idleSince = 0;
  #quietUntil = 0;
  #longestMs = 0;
  #overLimit = 0;

  constructor(options: EventLoopMonitorOptions) {
    this.#limitMs = options.limitMs ?? 50;
    this.#quietMs = options.quietMs ?? 1000;
    this.#onBlocked = options.onBlocked;
    this.#time = options.time ?? threadTime();
  }

  get figures(): LoopFigures {
    return { limitMs: this.#limitMs, longestMs: Math.round(this.#longestMs), overLimit: this.#overLimit };
  }

  /** Marks the start of work; `label` is called only if the loop was blocked. Call the result once, at the end of the work. */
  enter(label: Label): () => void {
    // Two pieces of work may share one label function.
    const own: Label = () => label();
    this.#underWay.add(own);
    if (this.#cancel === undefined) this.#arm();
    return () => {
      if (!this.#underWay.delete(own)) return;
      if (this.#ended.length < namesShown) this.#ended.push(own);
      if (this.#underWay.size === 0) this.#idleSince = this.#time.nowMs();
    };
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#underWay.clear();
    this.#ended = [];
    this.#time.close();
  }

  #arm(): void {
    this.#due = this.#time.nowMs() + tickMs;
    this.#waitedMs = this.#time.waitedMs();
    this.#cancel = this.#time.after(tickMs, () => this.#tick());
  }

  #tick(): void {
    const now = this.#time.nowMs();
    const late = now - this.#due;
    // On a busy machine the thread waits for a processor: no request causes that.
    const blockedMs = late > this.#longestMs || late > this.#limitMs ? late - this.#waitedSince() : 0;
    this.#longestMs = Math.max(this.#longestMs, blockedMs);
    if (blockedMs > this.#limitMs) this.#report(blockedMs, now);
    this.#ended = [];
    this.#cancel = undefined;
    if (this.#underWay.size > 0 || now - this.#idleSince < lingerMs) this.#arm();
  }

  #waitedSince(): number {
    return this.#time.waitedMs() - this.#waitedMs;
  }

  #report(blockedMs: number, now: number): void {
    this.#overLimit += 1;
    if (now < this.#quietUntil) return;
    this.#quietUntil = now + this.#quietMs;
    const labels = [...this.#ended, ...[...this.#underWay].toReversed()].slice(0, namesShown);
    this.#onBlocked(Math.round(blockedMs), [...new Set(labels.map((label) => label()))]);
  }
}

/** Time of this thread. The waiting time is the second number of schedstat, in nanoseconds; without schedstat it is 0. */
function threadTime(): LoopTime {
  let file = isMainThread ? openIfThere(`/proc/self/task/${process.pid}/schedstat`) : undefined;
  const bytes = Buffer.alloc(64);
  return {
    nowMs: () => performance.now(),
    waitedMs: () => {
      if (file === undefined) return 0;
      const text = bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, 0));
      return Number(text.split(' ', 2)[1] ?? 0) / 1e6;
    },
    after: (ms, callback) => {
      const timer = setTimeout(callback, ms);
      timer.unref();
      return () => clearTimeout(timer);
    },
    close: () => {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

const openIfThere = (path: string): number | undefined => attempt(() => openSync(path, 'r'));
