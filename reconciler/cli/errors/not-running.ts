// Says that a container does not run, and which verb makes it run.
import { ClientError } from '../../../server/client/client-error.ts';
import type { Client } from '../../../server/client/client.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { CliError } from './usage-error.ts';

export function notRunning(name: string, status: string, code: ExitCode, cause?: unknown): CliError {
  const effect = status === 'Frozen' ? 'lets it continue' : 'starts it';
  return new CliError(`container/${name} is ${status.toLowerCase()}: gantry start ${name} ${effect}`, code, cause);
}

/** For `catch` of a request that needs a running container: throws `notRunning` where that is why, and other errors as they are. */
export const explainPower =
  (client: Client, name: string, signal: AbortSignal) =>
  async (cause: unknown): Promise<never> => {
    if (!(cause instanceof ClientError) || cause.status !== 400) throw cause;
    const status = await statusOf(client, name, signal);
    if (status === 'Stopped' || status === 'Frozen') throw notRunning(name, status, exitCodes.error, cause);
    throw cause;
  };

/** Undefined when it cannot be read. */
async function statusOf(client: Client, name: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await client.containerState(name, signal)).metadata.status;
  } catch {
    return undefined;
  }
}
