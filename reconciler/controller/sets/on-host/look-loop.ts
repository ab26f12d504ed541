// Compares a set with one host whenever a comparison is asked for or due. Comparisons never overlap.
import { Alarm } from './alarm.ts';

export interface LookLoopDeps {
  /** Compares once; returns false when that is not possible now. Never rejects. */
  readonly look: (signal: AbortSignal) => Promise<boolean>;
  /** Times until a comparison is due by itself; past times are ignored. */
  readonly dueInMs: () => readonly number[];
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
  async run({ look, dueInMs }: LookLoopDeps, signal: AbortSignal): Promise<void> {
    const wake = this.#alarm.call;
    signal.addEventListener('abort', wake, { once: true });
    while (!signal.aborted) {
      if (!this.#isDue && (await this.#alarm.wait(dueInMs()))) this.#isDue = true;
      if (signal.aborted || !this.#isDue) continue;
      this.#isDue = false;
      if ((await look(signal)) && !this.#isDue) this.#release();
    }
    this.#release();
    signal.removeEventListener('abort', wake);
  }

  #release(): void {
    for (const done of this.#waiting.splice(0)) done();
  }
}
