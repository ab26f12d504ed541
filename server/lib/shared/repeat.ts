// Runs something again that failed by a coincidence.
import { setTimeout as sleep } from 'node:timers/promises';

export interface Repeat {
  /** Whether this failure is one that another run may not meet. */
  readonly mayPass: (error: unknown) => boolean;
  /** Runs in all. */
  readonly runs: number;
  readonly pauseMs: number;
}

/** Throws the error of the last run, or the first one that does not pass. */
export async function repeatWhile<T>(run: () => Promise<T>, { mayPass, runs, pauseMs }: Repeat): Promise<T> {
  for (let ran = 1; ran < runs; ran += 1)
    try {
      return await run();
    } catch (error) {
      if (!mayPass(error)) throw error;
      await sleep(pauseMs);
    }
  return run();
}
