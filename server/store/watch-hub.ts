// Fans out committed transactions to watchers: a short ring of the newest, the backend's history behind it. Watchers own only a position,
// so a slow one costs no memory and never misses or repeats a transaction.
import { checkRev, checkText } from './keys.ts';
import { storeErrors } from './store-errors.ts';
import type { Rev, StoreEvent } from './store.ts';

export interface WatchBatch {
  readonly rev: Rev;
  readonly events: readonly StoreEvent[];
}

export interface HistoryPage {
  readonly batches: readonly WatchBatch[];
  /** Every revision up to here has been processed. */
  readonly through: Rev;
}

export interface WatchHubDeps {
  readonly rev: Rev;
  readonly compactRev: () => Rev;
  /** The next page of history from `fromRev` on; throws Compacted if it was removed. */
  readonly readHistory: (prefix: string, fromRev: Rev) => Promise<HistoryPage>;
}

const ringLimits = { batches: 256, bytes: 1024 * 1024 };

export class WatchHub {
  readonly #deps: WatchHubDeps;
  readonly #sleeping = new Set<() => void>();
  #ring: WatchBatch[] = [];
  #ringBytes = 0;
  #lastRev: Rev;
  #watchers = 0;
  #ended: { readonly error?: Error } | undefined;

  constructor(deps: WatchHubDeps) {
    this.#deps = deps;
    this.#lastRev = deps.rev;
  }

  /** The revision of the newest published transaction. */
  get lastRev(): Rev {
    return this.#lastRev;
  }

  /** False: `publish` needs only the revision. */
  get isWatched(): boolean {
    return this.#watchers > 0;
  }

  /** Publishes one committed transaction; revisions must come in order without a gap. */
  publish(rev: Rev, makeEvents: () => readonly StoreEvent[]): void {
    if (rev !== this.#lastRev + 1) throw new Error(`published revision ${rev} after ${this.#lastRev}`);
    this.#lastRev = rev;
    if (!this.isWatched) return;
    const events = makeEvents();
    this.#ring.push({ rev, events });
    this.#ringBytes += eventBytes(events);
    while (this.#ring.length > ringLimits.batches || (this.#ringBytes > ringLimits.bytes && this.#ring.length > 1)) {
      this.#ringBytes -= eventBytes(this.#ring.shift()?.events ?? []);
    }
    this.#wakeAll();
  }

  async *watch(prefix: string, fromRev: Rev, signal: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
    checkText(prefix);
    checkRev(fromRev, 'watch from');
    const wake = (): void => this.#wakeAll();
    this.#watchers += 1;
    signal.addEventListener('abort', wake);
    try {
      if (fromRev < this.#deps.compactRev()) throw storeErrors.compacted(fromRev, this.#deps.compactRev());
      let next = fromRev;
      while (!this.#ended && !signal.aborted) {
        if (next > this.#lastRev) {
          await this.#published();
          continue;
        }
        const page = await this.#page(prefix, next);
        yield* touching(page.batches, prefix, signal);
        next = page.through + 1;
      }
      if (this.#ended?.error && !signal.aborted) throw this.#ended.error;
    } finally {
      signal.removeEventListener('abort', wake);
      this.#watchers -= 1;
      if (!this.isWatched) this.#forgetRing();
    }
  }

  /** Ends all watches: quietly, or with the error that ended the store. */
  end(error?: Error): void {
    this.#ended ??= error === undefined ? {} : { error };
    this.#forgetRing();
    this.#wakeAll();
  }

  async #page(prefix: string, next: Rev): Promise<HistoryPage> {
    const first = this.#ring[0]?.rev;
    if (first !== undefined && next >= first) {
      return { batches: this.#ring.slice(next - first), through: this.#lastRev };
    }
    try {
      return await this.#deps.readHistory(prefix, next);
    } catch (error) {
      if (this.#ended) return { batches: [], through: next };
      throw error;
    }
  }

  #published(): Promise<void> {
    return new Promise((resolve) => {
      this.#sleeping.add(resolve);
    });
  }

  #wakeAll(): void {
    const sleeping = [...this.#sleeping];
    this.#sleeping.clear();
    for (const wake of sleeping) wake();
  }

  #forgetRing(): void {
    this.#ring = [];
    this.#ringBytes = 0;
  }
}

function* touching(batches: readonly WatchBatch[], prefix: string, signal: AbortSignal): Generator<WatchBatch> {
  for (const { rev, events } of batches) {
    if (signal.aborted) return;
    const touched = events.filter((event) => eventKey(event).startsWith(prefix));
    if (touched.length > 0) yield { rev, events: touched };
  }
}

export function eventKey(event: StoreEvent): string {
  return event.type === 'put' ? event.record.key : event.key;
}

function eventBytes(events: readonly StoreEvent[]): number {
  return events.reduce((sum, event) => sum + 100 + (event.type === 'put' ? event.record.value.byteLength : 0), 0);
}
