// Repeats a check: often while a change is likely, rarely at rest, never if there is nothing to check.

export type Rest = 'restless' | 'settled' | 'over';

export interface RestlessLoopDeps {
  /** Never throws. */
  readonly look: () => Promise<Rest>;
  readonly everyMs: { readonly restless: number; readonly settled: number };
  /** After `soon`. */
  readonly restlessMs: number;
}

export class RestlessLoop {
  readonly #deps: RestlessLoopDeps;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #restlessUntilMs = Number.NEGATIVE_INFINITY;
  #isOver = false;

  constructor(deps: RestlessLoopDeps) {
    this.#deps = deps;
  }

  /** Checks now, and often for a while; later calls in a row share the checks of the first. */
  soon(): void {
    if (this.#isOver) return;
    const nowMs = performance.now();
    const isRestless = nowMs < this.#restlessUntilMs;
    this.#restlessUntilMs = nowMs + this.#deps.restlessMs;
    if (!isRestless && this.#looking === undefined) this.#look();
  }

  /** Resolves when the running check has ended; starts no other one. */
  async stop(): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  /** Resolves when the running check has ended. */
  async idle(): Promise<void> {
    await this.#looking;
  }

  #look(): void {
    clearTimeout(this.#timer);
    this.#looking = this.#lookOnce();
  }

  async #lookOnce(): Promise<void> {
    const untilMs = this.#restlessUntilMs;
    const rest = await this.#deps.look();
    // What is told during a check may have come too late for it.
    const isAsked = this.#restlessUntilMs !== untilMs;
    this.#looking = undefined;
    this.#isOver ||= rest === 'over';
    if (this.#isOver) return;
    const { restless, settled } = this.#deps.everyMs;
    const isRestless = isAsked || rest === 'restless' || performance.now() < this.#restlessUntilMs;
    this.#timer = setTimeout(() => this.#look(), isRestless ? restless : settled);
    this.#timer.unref();
  }
}
