// `gantry trust add|list|show|remove`: tokens for new clients, and the certificates that a server trusts.
import type { Operation } from '../../../../server/api/operation.ts';
import type { Certificate } from '../../../../server/api/server/certificate.ts';
import { encodeTrustToken } from '../../../../server/api/server/trust-token.ts';
import { hint } from '../../../../server/api/text/nearest-word.ts';
import type { Client } from '../../../../server/client/client.ts';
import { yamlText } from '../../../manifest/text/yaml-text.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { formatOf } from '../../flags/output-flags.ts';
import { withClient } from '../../session/connect.ts';
import type { RunOf } from '../../session/context.ts';
import type { trustAdd, trustList, trustRemove, trustShow } from './access-verbs.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export const addToken: RunOf<typeof trustAdd> = async (context, [name = '']) => {
  const { restricted, projects: list } = context.options;
  if (list !== undefined && restricted !== true) throw usageError('--projects needs --restricted');
  const projects = (list ?? '').split(',').filter((project) => project !== '');
  await withClient(context, async (client) => {
    const json = { type: 'client', name, token: true, ...(restricted === true ? { restricted, projects } : {}) };
    const call = { method: 'POST', path: '/1.0/certificates', json } as const;
    const { token, addresses, expires } = tokenOf((await client.http.send<Operation>(call, context.stop)).metadata);
    if (addresses.length === 0)
      context.note(`${client.host} listens on no address: set core.https_address before you make a token`);
    context.jsonObjects({ name, token, addresses, ...withoutUndefined({ expires_at: expires }) });
    context.out(token);
    context.note(`Good for one use${expires === undefined ? '' : `, until ${expires}`}: gantry trust join TOKEN`);
  });
};

interface MadeToken {
  readonly token: string;
  readonly addresses: readonly string[];
  readonly expires?: string;
}

/** The token in the metadata of the operation, in LXD's format. */
function tokenOf({ metadata }: Operation): MadeToken {
  const { secret, fingerprint, addresses, request, expiresAt } = metadata ?? {};
  const name = typeof request === 'object' && request !== null && 'name' in request ? request.name : undefined;
  const isWhole = typeof secret === 'string' && typeof fingerprint === 'string' && typeof name === 'string';
  if (!isWhole) throw commandError('The server made no token: it does not know the API extension certificate_token');
  const known = Array.isArray(addresses) ? addresses.filter((address) => typeof address === 'string') : [];
  const expires = typeof expiresAt === 'string' ? { expires_at: expiresAt } : {};
  return {
    token: encodeTrustToken({ client_name: name, fingerprint, addresses: known, secret, ...expires }),
    addresses: known,
    ...(typeof expiresAt === 'string' ? { expires: expiresAt } : {}),
  };
}

export const listTrusted: RunOf<typeof trustList> = async (context, _args, fleet) => {
  const { get } = await import('../objects/get.ts');
  return get(context, ['certificates'], fleet);
};

export const showTrusted: RunOf<typeof trustShow> = async (context, names) => {
  const format = context.isJson ? 'json' : formatOf(context.options.output, ['yaml', 'json']);
  await withClient(context, async (client) => {
    const found = (await chosen(client, names, context.stop)).map((certificate) => ({
      kind: 'certificate',
      ...certificate,
    }));
    const text =
      format === 'yaml'
        ? found.map((certificate) => `---\n${yamlText(certificate)}`).join('')
        : `${JSON.stringify(found.length === 1 ? found[0] : found, null, context.isJson ? 0 : 2)}\n`;
    context.io.stdout.write(text);
  });
};

export const removeTrusted: RunOf<typeof trustRemove> = async (context, names) => {
  await withClient(context, async (client) => {
    for (const { name, fingerprint } of await chosen(client, names, context.stop)) {
      await client.delete('certificate', fingerprint, context.stop);
      context.out(`${name} ${fingerprint}`);
    }
  });
};

/** Resolves all words before the caller changes anything. */
async function chosen(client: Client, words: readonly string[], signal: AbortSignal): Promise<readonly Certificate[]> {
  const all = await client.list('certificate', signal);
  return words.map((word) => {
    const named = all.filter(({ name }) => name === word);
    const found =
      named.length > 0 ? named : all.filter(({ fingerprint }) => word !== '' && fingerprint.startsWith(word));
    const [certificate, second] = found;
    if (certificate === undefined)
      throw commandError(
        `The certificate ${word} is not trusted there${hint(
          word,
          all.map(({ name }) => name),
        )}`,
      );
    if (second === undefined) return certificate;
    const fingerprints = found.map(({ fingerprint }) => fingerprint.slice(0, 12)).join(', ');
    throw commandError(`${word} fits ${found.length} certificates: give one of the fingerprints ${fingerprints}`);
  });
}
