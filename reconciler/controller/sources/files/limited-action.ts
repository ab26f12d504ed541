// Lets one action at a time work on the folders of a source, each for a limited time.
import { ConcurrencyLimit } from '../../../../server/lib/shared/concurrency-limit.ts';
import { DeadlineError, within } from '../../../../server/lib/shared/deadline.ts';
import { sourceErrors } from '../source.ts';

export type LimitedAction = <T>(
  name: string,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
) => Promise<T>;

/** Runs actions in turn; one that takes too long is a `limit` problem. `what` names the source in messages. */
export function limitedAction(what: string, timeoutMs: number, turns = new ConcurrencyLimit(1)): LimitedAction {
  return (name, signal, work) =>
    turns.run(() =>
      within(timeoutMs, work, signal).catch((error: unknown) => {
        if (!(error instanceof DeadlineError)) throw error;
        const message = `${what}: ${name} took longer than ${timeoutMs} ms; raise limits.timeout`;
        throw sourceErrors.limit(message, { cause: error });
      }),
    );
}
