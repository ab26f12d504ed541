// Before a member answers a read from memory, it waits until memory holds everything that any member has acknowledged. If the store does
// not answer, the member answers from memory and says so.
import type { Contents } from '../records/contents.ts';
import { pause } from '../lib/shared/deadline.ts';
import type { Store } from '../store/store.ts';

export interface ReadBarrierDeps {
  readonly store: () => Store;
  readonly contents: Pick<Contents, 'reached'>;
}

/** The wait of one read. After a failure, other reads do not wait until the store has answered again. */
const longestMs = 1_000;
/** Longer than a store needs to decide a write. */
const patienceMs = 20_000;
const againMs = 100;
/** Longer than an election takes. */
const electionMs = 5_000;

export class ReadBarrier {
  readonly #deps: ReadBarrierDeps;
  /** The pending question, and the one after it: a read may only join a question that began after the read. */
  #asking: Promise<boolean> | undefined;
  #next: Promise<boolean> | undefined;
  #isAway = false;
  #answeredMs = performance.now();

  constructor(deps: ReadBarrierDeps) {
    this.#deps = deps;
  }

  /** When the store last answered, on the clock of performance.now(); undefined while it answers. */
  get silentSinceMs(): number | undefined {
    return this.#isAway ? this.#answeredMs : undefined;
  }

  /** For changes: asks only a store that did not answer the last time, or that is `inDoubt`. A store that answered at `heardMs` or later may
   *  be in an election, which a change waits for. False if it does not answer. */
  async answersChanges(inDoubt: boolean, heardMs: number): Promise<boolean> {
    if (!this.#isAway && !inDoubt) return true;
    return await this.passAtLast(Math.max(this.#answeredMs, heardMs) + electionMs - performance.now());
  }

  /** False if the store does not answer: memory may be old. */
  async pass(): Promise<boolean> {
    if (this.#isAway) {
      this.#ask().catch(() => {});
      return false;
    }
    return await this.#ask();
  }

  /** For reads that need current records: retries while the store does not answer. False if it never did. */
  async passAtLast(forMs = patienceMs): Promise<boolean> {
    const end = performance.now() + forMs;
    while (!(await this.#ask())) {
      if (performance.now() >= end) return false;
      await pause(againMs, undefined);
    }
    return true;
  }

  #ask(): Promise<boolean> {
    if (this.#asking === undefined) {
      this.#asking = this.#question().finally(() => {
        this.#asking = undefined;
      });
      return this.#asking;
    }
    this.#next ??= this.#asking.then(() => {
      this.#next = undefined;
      return this.#ask();
    });
    return this.#next;
  }

  async #question(): Promise<boolean> {
    const askedMs = performance.now();
    const over = AbortSignal.timeout(longestMs);
    const late = new Promise<undefined>((resolve) => over.addEventListener('abort', () => resolve(undefined)));
    const asked = this.#deps.store().lastWrite();
    asked.catch(() => {});
    const rev = await Promise.race([asked.catch(() => undefined), late]);
    const isHere = rev !== undefined && (await this.#deps.contents.reached(rev, over));
    this.#isAway = !isHere;
    if (isHere) this.#answeredMs = askedMs;
    if (!isHere && !over.aborted) await late;
    return isHere;
  }
}
