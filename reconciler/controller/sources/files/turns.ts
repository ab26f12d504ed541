// Lets one action at a time work on the folders of a source, each for a limited time.
import { DeadlineError, within } from '../../../../server/lib/shared/deadline.ts';
import { SourceError } from '../source.ts';

export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work, work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

export type LimitedAction = <T>(
  name: string,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
) => Promise<T>;

/** Actions in turns; one that takes too long is a `limit` problem. `what` names the source in messages. */
export function limitedAction(what: string, timeoutMs: number, turns = new Turns()): LimitedAction {
  return (name, signal, work) =>
    turns.take(() =>
      within(timeoutMs, work, signal).catch((error: unknown) => {
        if (!(error instanceof DeadlineError)) throw error;
        const message = `${what}: ${name} took longer than ${timeoutMs} ms; raise limits.timeout`;
        throw new SourceError('limit', message, { cause: error });
      }),
    );
}
