// Stops the container of a move, and starts it on the other server.
import { ClientError } from '../../../../server/client/client-error.ts';
import type { Client } from '../../../../server/client/client.ts';

export const statusOf = async (client: Client, name: string, signal?: AbortSignal): Promise<string> =>
  (await client.containerState(name, signal)).metadata.status;

export const isStopped = async (client: Client, name: string, signal?: AbortSignal): Promise<boolean> =>
  (await statusOf(client, name, signal)) === 'Stopped';

/** Kills it when it does not stop in time. */
export async function stopOrKill(
  client: Client,
  name: string,
  graceSeconds: number,
  signal: AbortSignal,
): Promise<void> {
  const stop = (how: object): Promise<unknown> =>
    client.operations.run(() => client.putContainerState(name, { action: 'stop', ...how }, signal), signal);
  await stop({ timeout: graceSeconds }).catch(async (error: unknown) => {
    if (signal.aborted || (await isStopped(client, name, signal))) return;
    if (!(error instanceof ClientError)) throw error;
    await stop({ force: true });
  });
}

export async function startOnce(client: Client, name: string, signal?: AbortSignal): Promise<void> {
  if (!(await isStopped(client, name, signal))) return;
  await client.operations.run(() => client.putContainerState(name, { action: 'start' }, signal), signal);
}
