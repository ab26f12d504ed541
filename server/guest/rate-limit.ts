// Delays frequent requests of a container and refuses excessive ones: returns how long the next request must wait. Has no clock.

export interface PaceLimits {
  readonly perSecond: number;
  /** This many at once are not delayed. */
  readonly burst: number;
  /** A request with a longer delay is refused. */
  readonly maxWaitMs: number;
}

export class Pace {
  readonly #intervalMs: number;
  readonly #burstMs: number;
  readonly #maxWaitMs: number;
  /** When the next request would be due at an even rate. */
  #dueMs = 0;

  constructor({ perSecond, burst, maxWaitMs }: PaceLimits) {
    this.#intervalMs = 1000 / perSecond;
    this.#burstMs = burst * this.#intervalMs;
    this.#maxWaitMs = maxWaitMs;
  }

  /** Milliseconds until the request may run, which counts it; undefined: it is refused and not counted. */
  next(nowMs: number): number | undefined {
    const due = Math.max(this.#dueMs, nowMs - this.#burstMs) + this.#intervalMs;
    if (due - nowMs > this.#maxWaitMs) return undefined;
    this.#dueMs = due;
    return Math.max(0, due - nowMs);
  }
}
