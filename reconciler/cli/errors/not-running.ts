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
  async (error: unknown): Promise<never> => {
    if (!(error instanceof ClientError) || error.status !== 400) throw error;
    const status = await client.containerState(name, signal).then(
      ({ metadata }) => metadata.status,
      () => undefined,
    );
    if (status === 'Stopped' || status === 'Frozen') throw notRunning(name, status, exitCodes.error, error);
    throw error;
  };
