// Compares a set with one host whenever a comparison is asked for or due. Comparisons never overlap.
import { Alarm } from './alarm.ts';

export interface LookLoopDeps {
  /** Compares once; returns false when that is not possible now. Never rejects. */
  readonly look: (signal: AbortSignal) => Promise<boolean>;
  /** When a comparison is due by itself; past times are ignored. */
  readonly dueMs: () => readonly number[];
  readonly nowMs: () => number;
}

export class LookLoop {
  readonly #alarm = new Alarm();
  #waiting: (() => void)[] = [];
  #isDue = false;

  /** Compares soon, or after the comparison that is running. */
  ask(): void {
    this.#isDue = true;
    this.#alarm.call();
  }

  /** Resolves at the end of the next comparison. */
  next(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  /** Ends when `signal` fires. */
  async run({ look, dueMs, nowMs }: LookLoopDeps, signal: AbortSignal): Promise<void> {
    const wake = this.#alarm.call;
    signal.addEventListener('abort', wake, { once: true });
    while (!signal.aborted) {
      if (!this.#isDue && (await this.#alarm.wait(dueMs().map((ms) => ms - nowMs())))) this.#isDue = true;
      if (signal.aborted || !this.#isDue) continue;
      this.#isDue = false;
      const beganMs = nowMs();
      const due = dueMs();
      const isDone = await look(signal);
      // The comparison may not have seen what came due meanwhile, and it is past now.
      this.#isDue ||= [...due, ...dueMs()].some((ms) => beganMs < ms && ms <= nowMs());
      if (isDone && !this.#isDue) this.#release();
    }
    this.#release();
    signal.removeEventListener('abort', wake);
  }

  #release(): void {
    for (const done of this.#waiting.splice(0)) done();
  }
}
