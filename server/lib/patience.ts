// Limits the time of a call's attempts at several members. A slow cluster answers late: retrying with the same limit would only add load.
// So the limit doubles each time that as many attempts as there are members timed out. Pure.

export interface PatienceLimits {
  /** The first attempt's limit at each member. */
  readonly attemptMs: number;
  /** For all attempts: none begins later. */
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

  wasLate(): void {
    this.#late += 1;
  }

  /** The next attempt's limit: at least the first limit, and at most that far beyond the total. */
  limitMs(members: number): number {
    const { attemptMs } = this.#limits;
    const grown = attemptMs * 2 ** Math.floor(this.#late / Math.max(1, members));
    return Math.max(attemptMs, Math.min(grown, this.#endMs - this.#nowMs()));
  }
}
