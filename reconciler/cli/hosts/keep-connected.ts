// Keeps a watching command connected to a host: reports once that it is unreachable, and retries.
import { pause } from '../../../server/lib/shared/deadline.ts';
import type { Client } from '../../../server/client/client.ts';
import type { Context } from '../session/context.ts';
import type { HostOptions } from '../flags/host-flags.ts';
import { codeOf, messageOf } from '../errors/error-outcome.ts';
import { exitCodes, type ExitCode } from '../errors/exit-codes.ts';
import { withClient } from '../session/connect.ts';
import { outcomeWord } from './each-host.ts';

const againMs = 10_000;

/**
 * Returns the exit code of `work`, or why it could not start before `end`. Retries only while the host is unreachable.
 */
export async function keepConnected(
  context: Context<HostOptions>,
  end: AbortSignal,
  work: (client: Client) => Promise<ExitCode>,
): Promise<ExitCode> {
  let lastNote = '';
  let code: ExitCode = exitCodes.ok;
  while (!end.aborted) {
    try {
      return await withClient({ ...context, stop: end }, work);
    } catch (error) {
      if (end.aborted) break;
      code = codeOf(error);
      const text = `${outcomeWord(code)}: ${messageOf(error)}`;
      const isAgain = code === exitCodes.unreachable;
      if (text !== lastNote) context.note(isAgain ? `${text}; retrying` : text);
      lastNote = text;
      if (!isAgain) return code;
      await pause(againMs, end).catch(() => undefined);
    }
  }
  return context.stop.aborted ? exitCodes.interrupted : code;
}
