// Slows down frequent requests of a container and refuses excessive ones: returns how long the next request has to wait.
// Knows no clock of its own.

export interface PaceLimits {
  readonly perSecond: number;
  /** So many at once are not delayed. */
  readonly burst: number;
  /** A request that would have to wait longer is refused. */
  readonly maxWaitMs: number;
}

export class Pace {
  readonly #intervalMs: number;
  readonly #burstMs: number;
  readonly #maxWaitMs: number;
  /** When the next request would be due if they came evenly. */
  #dueMs = 0;

  constructor({ perSecond, burst, maxWaitMs }: PaceLimits) {
    this.#intervalMs = 1000 / perSecond;
    this.#burstMs = burst * this.#intervalMs;
    this.#maxWaitMs = maxWaitMs;
  }

  /** Milliseconds to wait before doing it, which counts it as done then; undefined: it is refused and not counted. */
  next(nowMs: number): number | undefined {
    const due = Math.max(this.#dueMs, nowMs - this.#burstMs) + this.#intervalMs;
    if (due - nowMs > this.#maxWaitMs) return undefined;
    this.#dueMs = due;
    return Math.max(0, due - nowMs);
  }
}
