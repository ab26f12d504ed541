// The tries to bring one host to its target: which target was tried, what failed, and when the next try may begin.
import { type RetryTimes, retryPauseMs } from '../../decide/retry.ts';

/** Another run has the lock of the set, or another set comes first. */
const waitPauseMs = 5000;

export class Attempts {
  readonly #retry: RetryTimes;
  readonly #failed = new Map<string, string>();
  #tried: string | undefined;
  #failures = 0;
  #againAtMs = 0;

  constructor(retry: RetryTimes) {
    this.#retry = retry;
  }

  /** The target of the last try that ended, as `nameOf` names it. */
  get tried(): string | undefined {
    return this.#tried;
  }

  /** Why objects failed in the last run, by address. */
  get failed(): ReadonlyMap<string, string> {
    return this.#failed;
  }

  /** The time until the next try may begin; not above 0 when it may. A clock that was set back prolongs no pause. */
  waitMs(nowMs: number): number {
    const leftMs = this.#againAtMs - nowMs;
    return leftMs > Math.max(this.#retry.longestMs, waitPauseMs) ? 0 : leftMs;
  }

  /** Called for new documents: earlier failures say nothing about them. */
  forget(): void {
    this.#failures = 0;
    this.#againAtMs = 0;
    this.#failed.clear();
  }

  retryNow(): void {
    this.#againAtMs = 0;
  }

  /** Nothing can or must be changed. */
  noteDone(target: string): void {
    this.#failed.clear();
    this.#failures = 0;
    this.#tried = target;
  }

  /** A run ended. */
  ran(failures: readonly { readonly address: string; readonly what: string; readonly why: string }[]): void {
    this.#failed.clear();
    for (const { address, what, why } of failures) this.#failed.set(address, `${what}: ${why}`);
  }

  succeeded(): void {
    this.#failures = 0;
    this.#againAtMs = 0;
  }

  isApplied(target: string): void {
    this.#tried = target;
  }

  notDone(target: string, nowMs: number): void {
    this.#failures += 1;
    this.#tried = target;
    this.#againAtMs = nowMs + retryPauseMs(this.#retry, this.#failures, Math.random());
  }

  /** Called when another run was at work or another set comes first, which is no failure. */
  hasToWait(nowMs: number): void {
    this.#againAtMs = nowMs + waitPauseMs;
  }
}
