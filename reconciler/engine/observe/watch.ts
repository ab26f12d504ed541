// Looks again whenever the event socket tells of a change, after a lost connection, and from time to time without any reason. What
// looking means is the caller's business.
import type { Event } from '../../../server/client/events/event-types.ts';
import type { EventsOptions } from '../../../server/client/events/event-stream.ts';
import { seenIn, type Seen } from '../../core/drift/lifecycle-changes.ts';

export interface Occasion {
  /** Since the last look, in the order in which they came. */
  readonly seen: readonly Seen[];
  /** Something may have been missed: look at everything. */
  readonly isWhole: boolean;
}

export interface WatchDeps {
  readonly events: (signal: AbortSignal, options: EventsOptions) => AsyncIterable<Event>;
  /** Never two at once. What it throws is told and tried again. */
  readonly look: (occasion: Occasion, signal: AbortSignal) => Promise<void>;
  /** `lost`: nothing is heard for now; `back`: it is again, and a whole look follows. */
  readonly onConnection: (state: 'lost' | 'back') => void;
  readonly onFailure: (error: unknown) => void;
  /** Given once at the begin: what makes it look at everything now. */
  readonly onStart?: (lookNow: () => void) => void;
  /** Between two looks without a reason; asked before each wait. */
  readonly intervalMs: () => number;
  /** Events come in bursts: so long is waited for more of them. */
  readonly gatherMs?: number;
  /** After a failed look; longer after each that follows it. */
  readonly retryMs?: number;
  /** How long the first connection may take before the first look is made without it. */
  readonly connectMs?: number;
  /** Project of the connection. */
  readonly project?: string;
}

/** Ends when `signal` fires; never rejects. */
export async function watch(deps: WatchDeps, signal: AbortSignal): Promise<void> {
  const watcher = new Watcher(deps, signal);
  await watcher.run();
}

const longestRetryMs = 30_000;

class Watcher {
  readonly #deps: WatchDeps;
  readonly #signal: AbortSignal;
  #seen: Seen[] = [];
  #isWhole = true;
  #wake = (): void => {};

  constructor(deps: WatchDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    const { intervalMs, retryMs = 2000 } = this.#deps;
    const wake = (): void => this.#wake();
    this.#signal.addEventListener('abort', wake);
    this.#deps.onStart?.(() => this.#missed());
    const listening = this.#listen();
    try {
      let failures = 0;
      while (!this.#signal.aborted) {
        const isGood = await this.#look();
        failures = isGood ? 0 : failures + 1;
        if (isGood && this.#seen.length === 0 && !this.#isWhole) await this.#sleep(intervalMs(), true);
        else if (!isGood) await this.#sleep(Math.min(longestRetryMs, retryMs * 2 ** (failures - 1)), false);
      }
    } finally {
      this.#signal.removeEventListener('abort', wake);
      await listening;
    }
  }

  /** True when the look was made. */
  async #look(): Promise<boolean> {
    const seen = this.#seen;
    const isWhole = this.#isWhole;
    this.#seen = [];
    this.#isWhole = false;
    try {
      await this.#deps.look({ seen, isWhole }, this.#signal);
      return true;
    } catch (error) {
      if (this.#signal.aborted) return true;
      this.#isWhole = true;
      this.#seen = [...seen, ...this.#seen];
      this.#deps.onFailure(error);
      return false;
    }
  }

  /** Resolves once the first connection stands, or is not to be waited for; goes on listening. */
  async #listen(): Promise<void> {
    const { events, onConnection, project } = this.#deps;
    let isLost = false;
    const onGap: EventsOptions['onGap'] = (reason) => {
      if (reason === 'disconnected' && !isLost) {
        isLost = true;
        onConnection('lost');
      }
      if (reason === 'disconnected') return;
      if (reason === 'reconnected' && isLost) onConnection('back');
      isLost = reason === 'reconnected' ? false : isLost;
      this.#missed();
    };
    // What happened before the first connection stood is seen by a look after it.
    const onReady = (): void => {
      if (isLost) onConnection('back');
      isLost = false;
      this.#missed();
    };
    for await (const event of events(this.#signal, { onGap, onReady })) {
      const found = event.type === 'lifecycle' ? seenIn(event.metadata, event.timestamp, project) : [];
      if (found.length === 0) continue;
      this.#seen.push(...found);
      this.#wake();
    }
  }

  #missed(): void {
    this.#isWhole = true;
    this.#wake();
  }

  /** Until an event and a little longer, or until the time is over: then for everything. */
  async #sleep(ms: number, isIdle: boolean): Promise<void> {
    const isWoken = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), ms);
      this.#wake = (): void => {
        clearTimeout(timer);
        resolve(true);
      };
      if (this.#signal.aborted) this.#wake();
    });
    this.#wake = (): void => {};
    if (!isWoken) this.#isWhole = true;
    else if (isIdle && !this.#signal.aborted)
      await new Promise((resolve) => {
        setTimeout(resolve, this.#deps.gatherMs ?? 100);
      });
  }
}
