// Limits the time of the attempts of one call to several members. A cluster that is slow for all answers late: asked again with the same limit, it would only
// have more to do. So the limit doubles each time that as many attempts as there are members came to nothing. Pure.

export interface PatienceLimits {
  /** For the first attempt at each member. */
  readonly attemptMs: number;
  /** For all attempts: the last one begins before. */
  readonly totalMs: number;
}

export class Patience {
  readonly #limits: PatienceLimits;
  readonly #nowMs: () => number;
  readonly #endMs: number;
  #late = 0;

  constructor(limits: PatienceLimits, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#nowMs = nowMs;
    this.#endMs = nowMs() + limits.totalMs;
  }

  get isOver(): boolean {
    return this.#nowMs() >= this.#endMs;
  }

  /** An attempt had no answer within its limit. */
  wasLate(): void {
    this.#late += 1;
  }

  /** For the next attempt: never less than the first limit, never past the end of all for longer than that. */
  limitMs(members: number): number {
    const { attemptMs } = this.#limits;
    const grown = attemptMs * 2 ** Math.floor(this.#late / Math.max(1, members));
    return Math.max(attemptMs, Math.min(grown, this.#endMs - this.#nowMs()));
  }
}
