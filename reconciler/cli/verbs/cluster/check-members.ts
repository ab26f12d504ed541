// Explains wrong cluster commands, before a request or after its refusal: no cluster, no such member, no address.
import { hint } from '../../../../server/api/text/nearest-word.ts';
import type { Client } from '../../../../server/client/client.ts';
import { ClientError } from '../../../../server/client/client-error.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { CliError, commandError } from '../../errors/usage-error.ts';

/** Throws CliError when the server is not in a cluster. */
export async function checkClustered(client: Client, signal: AbortSignal): Promise<void> {
  if ((await client.cluster.get(signal)).enabled) return;
  throw commandError(`${client.host} is not part of a cluster: gantry cluster bootstrap NAME makes one of it`);
}

/** Throws CliError for names that no member of the cluster has. */
export async function checkMembers(client: Client, names: readonly string[], signal: AbortSignal): Promise<void> {
  await checkClustered(client, signal);
  const members = (await client.cluster.members(signal)).map(({ server_name: name }) => name);
  const wrong = names.find((name) => !members.includes(name));
  if (wrong === undefined) return;
  throw commandError(
    `The cluster has no member ${wrong}${hint(wrong, members)}: its members are ${members.join(', ')}`,
  );
}

/** Explains the refusal of a server without a cluster address in terms of the command line's flags. */
export function explainAddress(error: unknown, client: Client, address: string | undefined): unknown {
  const isMissing =
    address === undefined &&
    error instanceof ClientError &&
    error.details.some(({ path }) => path === 'server_address');
  if (!isMissing) return error;
  return new CliError(
    `Where do the other members reach ${client.host}? Say it with --address HOST:PORT, or set core.https_address`,
    exitCodes.usage,
    error,
  );
}
