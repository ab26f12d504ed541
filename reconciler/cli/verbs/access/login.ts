// `gantry login|logout HOST`: logs a user in at the issuer of a server, and forgets the login.
import { createClient, type Client } from '../../../../server/client/client.ts';
import { parseEndpoint, renderEndpoint } from '../../../../server/client/transport/host-endpoint.ts';
import { prefixedHeader } from '../../../../server/client/transport/reply.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import type { Command, Run } from '../../session/context.ts';
import { serverOptions } from '../../session/contexts.ts';
import { clientOptionsOf } from '../../session/host.ts';
import { readLogin, removeLogin, writeLogin } from '../../session/login-file.ts';
import { logIn, loginOf, type IssuerOfHost } from '../../session/login.ts';
import type { LoginOptions } from './access-verbs.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export const login: Run<LoginOptions> = async (context, [given = '']) => {
  const { host: named, serverCert } = await serverOptions(context.options, given, context.io.env);
  const host = hostOf(named);
  const { tls } = await clientOptionsOf(serverCert === undefined ? {} : { serverCert });
  const issuer = await issuerOf(context, host, tls);
  const show = (address: string, code: string): void =>
    void context.io.stderr.write(`Open ${address} and enter the code ${code}\n`);
  const tokens = await logIn(issuer, show, context.stop);
  const made = loginOf(host, issuer, tokens, context.io.nowMs());
  const pin = tls?.serverCertificate === undefined ? {} : { server_cert: tls.serverCertificate };
  const bearer = { current: () => made.access_token, fresh: () => Promise.resolve(made.access_token) };
  const client = createClient(host, { bearer, ...withoutUndefined({ tls }) });
  const { auth } = await using(client, async () => (await client.server(context.stop)).metadata);
  await writeLogin(context.io.env, { ...made, ...pin });
  context.jsonObjects({ host, issuer: issuer.issuer, auth });
  context.out(`Logged in at ${host}`);
  if (auth !== 'trusted' && auth !== 'restricted')
    context.note(
      `${host} does not trust this user: none of its groups is in oidc.groups.trusted or oidc.groups.projects.*`,
    );
};

export const logout: Run = async (context, [given = '']) => {
  const host = hostOf((await serverOptions({}, given, context.io.env)).host);
  const known = await readLogin(context.io.env, host);
  await removeLogin(context.io.env, host);
  context.out(known === undefined ? `There is no login at ${host}` : `Logged out of ${host}`);
};

function hostOf([given = '']: readonly string[] = []): string {
  try {
    const endpoint = parseEndpoint(given);
    if (endpoint.kind === 'https') return renderEndpoint(endpoint);
  } catch (error) {
    throw usageError(reasonOf(error));
  }
  throw usageError(`${given} is a local socket, which needs no login: give https://name:8443`);
}

async function issuerOf(
  context: Command,
  host: string,
  tls: Awaited<ReturnType<typeof clientOptionsOf>>['tls'],
): Promise<IssuerOfHost> {
  const client = createClient(host, tls === undefined ? {} : { tls });
  return using(client, async () => {
    const { body, headers } = await client.http.open({ method: 'GET', path: '/1.0' }, context.stop);
    body.on('error', () => {}).destroy();
    const [issuer, clientId] = [prefixedHeader(headers, 'oidc-issuer'), prefixedHeader(headers, 'oidc-clientid')];
    if (issuer === undefined || clientId === undefined)
      throw commandError(`${host} has no issuer to log in at: it lacks oidc.issuer or oidc.client.id`);
    return { issuer, clientId, audience: prefixedHeader(headers, 'oidc-audience') };
  });
}

async function using<T>(client: Client, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await client.close();
  }
}
