// A task that ends with the controller, or earlier when the configuration drops it.

export class Task {
  readonly #own = new AbortController();
  readonly #running: Promise<unknown>;

  constructor(end: AbortSignal, work: (signal: AbortSignal) => Promise<unknown>) {
    const stop = (): void => this.#own.abort(end.reason);
    if (end.aborted) stop();
    else end.addEventListener('abort', stop, { once: true, signal: this.#own.signal });
    this.#running = work(this.#own.signal);
    // Callers of `ended` receive the failure.
    this.#running.catch(() => undefined);
  }

  /** Resolves when the task has ended. */
  async ended(): Promise<void> {
    await this.#running;
  }

  /** Waits for its running step. */
  async end(why: string): Promise<void> {
    this.#own.abort(new Error(why));
    await this.#running;
  }
}
