// Repeats an attempt that a watching command depends on while it fails for a temporary reason, and says what it waits for.
import { pause } from '../../../server/lib/shared/deadline.ts';
import type { Output } from '../session/context.ts';
import { messageOf } from '../errors/error-outcome.ts';
import { jsonLine } from '../output/render-json.ts';

const firstPauseMs = 1000;
const longestPauseMs = 30_000;

export interface Persistence {
  /** What is waited for: `the manifests`, `the server`. */
  readonly what: string;
  /** Whether an error is temporary; all others are thrown. */
  readonly passes: (error: unknown) => boolean;
  /** Ends the repetition: the last error is thrown. */
  readonly end: AbortSignal;
}

export async function retryUntilReachable<T>(
  context: Output,
  attempt: () => Promise<T>,
  { what, passes, end }: Persistence,
): Promise<T> {
  let told = '';
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      return await attempt();
    } catch (error) {
      if (end.aborted || !passes(error)) throw error;
      const text = `Waiting for ${what}: ${messageOf(error)}. Retrying`;
      if (messageOf(error) !== told) {
        told = messageOf(error);
        context.note(text);
        const fields = { diagnostic: { severity: 'warning', summary: told, detail: '' } };
        context.json(jsonLine('diagnostic', text, fields, context.io.nowMs(), 'warn'));
      }
      await pause(pauseMs, end).catch(() => {
        throw error;
      });
    }
  }
}
