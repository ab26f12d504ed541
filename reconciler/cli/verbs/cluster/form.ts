// `gantry cluster bootstrap|add|join`: forms a cluster of one host, makes join tokens, and joins with one.
import { text as textOf } from 'node:stream/consumers';
import { decodeJoinToken, encodeJoinToken } from '../../../../server/api/cluster/join-token.ts';
import type { Operation } from '../../../../server/api/operation.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { withClient } from '../../session/connect.ts';
import type { RunOf } from '../../session/context.ts';
import { followOperation } from '../../session/follow-operation.ts';
import { checkClustered, explainAddress } from './check-members.ts';
import type { clusterAdd, clusterBootstrap, clusterJoin } from './cluster-verbs.ts';

export const bootstrapCluster: RunOf<typeof clusterBootstrap> = async (context, [name = '']) => {
  await withClient(context, async (client) => {
    const body = { server_name: name, enabled: true, ...at(context.options.address) };
    await followOperation(context, client, () => client.cluster.change(body, context.stop)).catch((error: unknown) => {
      throw explainAddress(error, client, context.options.address);
    });
    if (context.isJson) context.jsonObjects(await client.cluster.get(context.stop));
    context.out(`${client.host} is the first member of a cluster, ${name}`);
    context.note('To let another host in: gantry cluster add NAME');
  });
};

export const addMember: RunOf<typeof clusterAdd> = async (context, [name = '']) => {
  await withClient(context, async (client) => {
    await checkClustered(client, context.stop);
    const { token, addresses, expires } = tokenOf(await client.cluster.makeToken(name, context.stop));
    context.jsonObjects({ name, token, addresses, expires_at: expires });
    context.out(token);
    context.note(`Good for one use, until ${expires}. On ${name}: gantry cluster join TOKEN --address HOST:PORT`);
  });
};

export const joinCluster: RunOf<typeof clusterJoin> = async (context, [given = '']) => {
  const text = (given === '-' ? await textOf(context.io.stdin) : given).trim();
  const token = decodeJoinToken(text);
  if (token === undefined) throw usageError('The token is not one of gantry cluster add: it must be copied whole');
  const own = (context.options.memberConfig ?? []).map(memberConfigOf);
  await withClient(context, async (client) => {
    const { server_name } = token;
    const more = own.length === 0 ? {} : { member_config: own };
    const body = { server_name, enabled: true, cluster_token: text, ...at(context.options.address), ...more };
    await followOperation(context, client, () => client.cluster.change(body, context.stop)).catch((error: unknown) => {
      throw explainAddress(error, client, context.options.address);
    });
    if (context.isJson) context.jsonObjects(await client.cluster.get(context.stop));
    context.out(`${client.host} is the member ${server_name} of the cluster`);
    const found = (await client.cluster.members(context.stop)).find((one) => one.server_name === server_name);
    if (found?.status === 'Online' && found.message !== fine) context.note(found.message);
  });
};

/** The message of a healthy member. */
const fine = 'Fully operational';

/** `storage_pool/fast/source=/dev/sdb`, as the API has it. */
function memberConfigOf(given: string): Record<string, string> {
  const [, kind = '', name = '', key = '', value = ''] =
    /^(storage_pool|network)\/([^/=]+)\/([^/=]+)=(.*)$/s.exec(given) ?? [];
  if (kind === '')
    throw usageError(
      `--member-config ${JSON.stringify(given)} is not understood: write storage_pool/NAME/KEY=VALUE or network/NAME/KEY=VALUE`,
    );
  return { entity: kind.replace('_', '-'), name, key, value };
}

const at = (address: string | undefined): { readonly server_address?: string } =>
  address === undefined ? {} : { server_address: address };

/** The token in the metadata of the operation, in LXD's format. */
function tokenOf({ metadata }: Operation): {
  readonly token: string;
  readonly addresses: readonly string[];
  readonly expires: string;
} {
  const { serverName, secret, fingerprint, addresses, expiresAt } = metadata ?? {};
  const isWhole = typeof serverName === 'string' && typeof secret === 'string' && typeof fingerprint === 'string';
  if (!isWhole || !Array.isArray(addresses))
    throw commandError('The server made no token: its answer lacks the name, secret or addresses');
  const known = addresses.filter((address) => typeof address === 'string');
  const expires = typeof expiresAt === 'string' ? expiresAt : '';
  const parts = { server_name: serverName, fingerprint, addresses: known, secret, expires_at: expires };
  return { token: encodeJoinToken(parts), addresses: known, expires };
}
