// Waits for a call or for the earliest of some times, whichever comes first.
const longestMs = 3_600_000;

export class Alarm {
  #wake = (): void => {};

  /** Ends the current wait, if there is one. */
  readonly call = (): void => this.#wake();

  /** Returns true at the earliest of these times, and false after a call. Past times are ignored. */
  wait(inMs: readonly number[]): Promise<boolean> {
    const waits = inMs.filter((ms) => ms > 0);
    return new Promise((resolve) => {
      const end = (isDue: boolean): void => {
        clearTimeout(timer);
        this.#wake = (): void => {};
        resolve(isDue);
      };
      const timer = waits.length === 0 ? undefined : setTimeout(() => end(true), Math.min(...waits, longestMs) + 5);
      this.#wake = (): void => end(false);
    });
  }
}
