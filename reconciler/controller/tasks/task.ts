// A piece of work that ends with the controller, or alone when the configuration no longer asks for it.

export class Task {
  readonly #own = new AbortController();
  readonly #running: Promise<unknown>;

  constructor(end: AbortSignal, work: (signal: AbortSignal) => Promise<unknown>) {
    const stop = (): void => this.#own.abort(end.reason);
    if (end.aborted) stop();
    else end.addEventListener('abort', stop, { once: true, signal: this.#own.signal });
    this.#running = work(this.#own.signal);
    // A failure reaches those who wait for the run.
    this.#running.catch(() => undefined);
  }

  /** Resolves when it ended by itself or with the controller. */
  async ended(): Promise<void> {
    await this.#running;
  }

  /** Its step at work ends first. */
  async end(why: string): Promise<void> {
    this.#own.abort(new Error(why));
    await this.#running;
  }
}
