// Measures how long the event loop is held, and names the work that was under way then. Costs nothing while nothing is under way.
import { closeSync, openSync, readSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

export interface LoopFigures {
  /** Longer than this counts. */
  readonly limitMs: number;
  /** The longest time so far, in whole milliseconds. */
  readonly longestMs: number;
  /** How often it was longer than the limit. */
  readonly overLimit: number;
}

export interface LoopWatchOptions {
  readonly limitMs?: number;
  /** Called after the loop was held longer than the limit, at most once in `quietMs`. */
  readonly onHold: (heldMs: number, underWay: readonly string[]) => void;
  readonly quietMs?: number;
  readonly time?: LoopTime;
}

/** Time as this class sees it, so that tests can own it. */
export interface LoopTime {
  nowMs(): number;
  /** How long this thread could have run but another one had the processor, since its start. */
  waitedMs(): number;
  /** Calls back once; the result cancels. */
  after(ms: number, callback: () => void): () => void;
  /** Nothing is asked any more. */
  close(): void;
}

type Label = () => string;

const tickMs = 10;
/** Goes on looking this long after the last work ended: some of it comes later. */
const lingerMs = 1000;
const namesShown = 5;

export class LoopWatch {
  readonly #limitMs: number;
  readonly #quietMs: number;
  readonly #onHold: LoopWatchOptions['onHold'];
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

  constructor(options: LoopWatchOptions) {
    this.#limitMs = options.limitMs ?? 50;
    this.#quietMs = options.quietMs ?? 1000;
    this.#onHold = options.onHold;
    this.#time = options.time ?? threadTime();
  }

  get figures(): LoopFigures {
    return { limitMs: this.#limitMs, longestMs: Math.round(this.#longestMs), overLimit: this.#overLimit };
  }

  /** Work begins; `label` is asked only when the loop was held. The result is to be called once, at the work's end. */
  enter(label: Label): () => void {
    // Two pieces of work may have the same function as label.
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
    // On a busy machine the thread waits for a processor: that is nothing that a request did.
    const held = late > this.#longestMs || late > this.#limitMs ? late - this.#waitedSince() : 0;
    this.#longestMs = Math.max(this.#longestMs, held);
    if (held > this.#limitMs) this.#note(held, now);
    this.#ended = [];
    this.#cancel = undefined;
    if (this.#underWay.size > 0 || now - this.#idleSince < lingerMs) this.#arm();
  }

  #waitedSince(): number {
    return this.#time.waitedMs() - this.#waitedMs;
  }

  #note(heldMs: number, now: number): void {
    this.#overLimit += 1;
    if (now < this.#quietUntil) return;
    this.#quietUntil = now + this.#quietMs;
    const labels = [...this.#ended, ...[...this.#underWay].toReversed()].slice(0, namesShown);
    this.#onHold(Math.round(heldMs), [...new Set(labels.map((label) => label()))]);
  }
}

/** Of this thread. The kernel counts the waiting in the second number of schedstat, in nanoseconds; where it does not, it is 0. */
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

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch {
    return undefined;
  }
}
