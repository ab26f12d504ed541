// Calls the caller's `look` when the event socket reports a change, after a lost connection, and periodically.
import type { Event } from '../../../server/client/events/event-types.ts';
import type { EventsOptions } from '../../../server/client/events/event-stream.ts';
import { longestTimerMs } from '../../../server/lib/shared/deadline.ts';
import { seenIn, type LifecycleChange } from '../../core/drift/lifecycle-changes.ts';

export interface Occasion {
  /** Events since the last look, in the order of arrival. */
  readonly seen: readonly LifecycleChange[];
  /** Events may be missing: observe everything. */
  readonly isWhole: boolean;
}

export interface WatchDeps {
  readonly events: (signal: AbortSignal, options: EventsOptions) => AsyncIterable<Event>;
  /** Calls never overlap. The watch reports an error and tries again. */
  readonly look: (occasion: Occasion, signal: AbortSignal) => Promise<void>;
  /** `lost`: no events arrive; `back`: events arrive again, and a full look follows. */
  readonly onConnection: (state: 'lost' | 'back') => void;
  readonly onFailure: (error: unknown) => void;
  /** Called once at the start with a function that triggers a full look. */
  readonly onStart?: (lookNow: () => void) => void;
  /** Time between periodic looks; called before each wait. */
  readonly intervalMs: () => number;
  /** Events come in bursts: how long to wait for more. */
  readonly gatherMs?: number;
  /** Pause after a failed look; grows with each further failure. */
  readonly retryMs?: number;
  /** Time limit for the first connection; after it the first look happens without one. */
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
  #seen: LifecycleChange[] = [];
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

  /** True when the look succeeded. */
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

  /** Resolves when the first connection is up or its time limit has passed, and keeps listening. */
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
    // A look after the first connection sees earlier changes.
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

  /** Waits for an event and its burst. When the period is over instead, requests a full look. */
  async #sleep(ms: number, isIdle: boolean): Promise<void> {
    const isWoken = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), Math.min(ms, longestTimerMs));
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
