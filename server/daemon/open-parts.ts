// The open parts of a daemon, closed in reverse order: when it stops, and when its start fails half way.
import { failuresOf, runAll } from '../lib/run-all.ts';

type Close = () => void | Promise<void>;

/** A part that fails to close does not keep the others open. */
export class OpenParts {
  readonly #closes: Close[] = [];

  add(close: Close): void {
    this.#closes.push(close);
  }

  /** Throws what could not be closed. */
  closeAll(): Promise<void> {
    return runAll(this.#closes.splice(0).toReversed());
  }

  /** After a failure, which matters more than one of closing. */
  async abandon(): Promise<void> {
    await failuresOf(this.#closes.splice(0).toReversed());
  }
}
