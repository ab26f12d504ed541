// Slows down whoever asks too often: says how long the next request of one container has to wait. Knows no clock of its own.

export interface PaceLimits {
  readonly perSecond: number;
  /** So many at once are not delayed. */
  readonly burst: number;
}

export class Pace {
  readonly #intervalMs: number;
  readonly #burstMs: number;
  /** When the next request would be due if they came evenly. */
  #dueMs = 0;

  constructor({ perSecond, burst }: PaceLimits) {
    this.#intervalMs = 1000 / perSecond;
    this.#burstMs = burst * this.#intervalMs;
  }

  /** Milliseconds to wait before doing it; counts it as done then. */
  next(nowMs: number): number {
    const due = Math.max(this.#dueMs, nowMs - this.#burstMs) + this.#intervalMs;
    this.#dueMs = due;
    return Math.max(0, due - nowMs);
  }
}
