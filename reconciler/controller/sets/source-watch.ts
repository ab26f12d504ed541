// Asks a source for its newest revision on an interval and after a webhook; pauses grow while the source does not answer.
import { longestTimerMs } from '../../../server/lib/shared/deadline.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { SourceStatus } from '../contract/index.ts';
import type { Source, SourceRevision } from '../sources/source.ts';
import { retryPauseMs } from '../decide/retry.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface SourceWatchDeps {
  readonly source: Pick<Source, 'name' | 'kind' | 'url' | 'check'>;
  readonly intervalMs: () => number;
  readonly onRevision: (revision: SourceRevision) => Promise<void>;
  readonly onStatus: (status: SourceStatus) => void;
  readonly onError: (message: string) => void;
  readonly nowMs: () => number;
}

export class SourceWatch {
  readonly #deps: SourceWatchDeps;
  #status: SourceStatus;
  #isDue = true;
  /** Resolves after the first check, also when it failed. */
  readonly checked: Promise<void>;
  #wasChecked = (): void => {};
  #wake = (): void => {};

  constructor(deps: SourceWatchDeps) {
    this.#deps = deps;
    const { name, kind, url } = deps.source;
    this.#status = { name, kind, url };
    this.checked = new Promise((resolve) => (this.#wasChecked = resolve));
  }

  get name(): string {
    return this.#deps.source.name;
  }

  get status(): SourceStatus {
    return this.#status;
  }

  lookNow(): void {
    this.#isDue = true;
    this.#wake();
  }

  /** Ends when `signal` fires. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    let failures = 0;
    while (!signal.aborted) {
      this.#isDue = false;
      failures = (await this.#check(signal)) ? 0 : failures + 1;
      this.#wasChecked();
      const intervalMs = this.#deps.intervalMs();
      const retry = { firstMs: Math.min(1000, intervalMs), longestMs: Math.max(1000, Math.min(60_000, intervalMs)) };
      await this.#sleep(failures === 0 ? intervalMs : retryPauseMs(retry, failures, Math.random()), signal);
    }
  }

  async #check(signal: AbortSignal): Promise<boolean> {
    const { source, onRevision, onStatus, onError, nowMs } = this.#deps;
    const { name, kind, url } = source;
    try {
      const found = await source.check(signal);
      const { revision, message, who, verified } = found;
      const isSame = this.#status.revision === revision && this.#status.error === undefined;
      this.#status = {
        name,
        kind,
        url,
        revision,
        ...withoutUndefined({ message, by: who }),
        checkedAt: new Date(nowMs()).toISOString(),
        ...(verified === undefined ? {} : { verified: `${verified.by} ${verified.signer ?? verified.key}` }),
      };
      if (!isSame) onStatus(this.#status);
      await onRevision(found);
      return true;
    } catch (error) {
      if (signal.aborted) return true;
      const text = reasonOf(error);
      if (this.#status.error !== text) onError(text);
      this.#status = { ...this.#status, error: text };
      onStatus(this.#status);
      return false;
    }
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isDue || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(ms, longestTimerMs));
      this.#wake = (): void => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = (): void => {};
  }
}
