// Polls a git server for the open pull requests of a generator, on an interval and after a webhook of its source.
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { durationMs } from '../../../server/api/text/durations.ts';
import type { Entry, PullRequestsConfig } from '../config/generator-schema.ts';
import { Alarm } from '../sets/on-host/alarm.ts';
import { readRequests } from './read-requests.ts';

export interface RequestWatchDeps {
  readonly name: string;
  readonly config: PullRequestsConfig;
  /** Makes paths of the configuration absolute. */
  readonly absolute: (path: string) => string;
  /** False while another controller is the active one. */
  readonly isActive: () => boolean;
  readonly onRequests: (entries: readonly Entry[]) => Promise<void>;
  readonly onError: (message: string) => void;
}

const defaultMs = 60_000;

export class RequestWatch {
  readonly #deps: RequestWatchDeps;
  readonly #alarm = new Alarm();
  #isDue = true;
  #said: string | undefined;

  constructor(deps: RequestWatchDeps) {
    this.#deps = deps;
  }

  get config(): PullRequestsConfig {
    return this.#deps.config;
  }

  lookNow(): void {
    this.#isDue = true;
    this.#alarm.call();
  }

  /** Ends when `signal` fires. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', this.#alarm.call, { once: true });
    const intervalMs = durationMs(this.#deps.config.interval ?? '') ?? defaultMs;
    while (!signal.aborted) {
      if (!this.#isDue) await this.#alarm.wait([intervalMs]);
      this.#isDue = false;
      if (!signal.aborted && this.#deps.isActive()) await this.#look(signal);
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { name, config, absolute, onRequests, onError } = this.#deps;
    try {
      await onRequests(await readRequests(name, config, absolute, signal));
      this.#said = undefined;
    } catch (error) {
      if (signal.aborted) return;
      const text = reasonOf(error);
      if (text !== this.#said) onError(text);
      this.#said = text;
    }
  }
}
