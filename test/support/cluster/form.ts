// Forms a cluster over the public API, as an administrator does: the first server founds it, the others join with a token each.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Answer } from '../daemons/daemon.ts';

export interface Candidate {
  readonly name: string;
  /** HOST:PORT where the others reach it. */
  readonly address: string;
  /** Its state directory. */
  readonly dir: string;
  call(method: string, path: string, body?: object): Promise<Answer>;
}

/** LXD takes the token as a password, and separately the certificate of the cluster, which its client fetches. */
export type Kind = 'gantryd' | 'lxd';

export async function formCluster(kind: Kind, candidates: readonly Candidate[]): Promise<void> {
  const [first, ...others] = candidates;
  if (first === undefined) return;
  await found(first);
  for (const other of others) await joinCluster(kind, first, other);
}

export async function found(first: Candidate): Promise<void> {
  await done(first, 'PUT', '/1.0', { config: { 'core.https_address': first.address } });
  await done(first, 'PUT', '/1.0/cluster', { server_name: first.name, enabled: true });
}

/** Through any member. */
export async function joinCluster(kind: Kind, member: Candidate, host: Candidate): Promise<void> {
  const token = await joinToken(member, host.name);
  const certificate = kind === 'lxd' ? readFileSync(join(member.dir, 'cluster.crt'), 'utf8') : '';
  await done(host, 'PUT', '/1.0/cluster', {
    server_name: host.name,
    enabled: true,
    server_address: host.address,
    ...(kind === 'lxd'
      ? { cluster_address: member.address, cluster_certificate: certificate, cluster_password: token }
      : { cluster_token: token }),
  });
}

/** The token that a client of LXD 5.0 builds from the operation. */
export async function joinToken(member: Candidate, name: string): Promise<string> {
  const answer = await member.call('POST', '/1.0/cluster/members', { server_name: name });
  if (answer.status !== 202) throw refusal(member, 'POST /1.0/cluster/members', answer.bytes.toString());
  const { serverName, secret, fingerprint, addresses, expiresAt } = answer.metadata.metadata as Record<string, unknown>;
  const token = { server_name: serverName, fingerprint, addresses, secret, expires_at: expiresAt };
  return Buffer.from(JSON.stringify(token)).toString('base64');
}

/** Sends, waits for the end of the operation if there is one; throws with the reason when it fails. */
export async function done(
  server: Pick<Candidate, 'name' | 'call'>,
  method: string,
  path: string,
  body?: object,
): Promise<void> {
  const answer = await server.call(method, path, body);
  if (answer.status >= 300) throw refusal(server, `${method} ${path}`, answer.bytes.toString());
  if (answer.status !== 202) return;
  const ended = await server.call('GET', String(answer.body.operation).replace(/(\?|$)/, '/wait$1'));
  const { status, err } = (ended.metadata ?? {}) as { status?: string; err?: string };
  if (status !== 'Success') throw refusal(server, `${method} ${path}`, err ?? ended.bytes.toString());
}

const refusal = ({ name }: Pick<Candidate, 'name'>, what: string, why: string): Error =>
  new Error(`${name}: ${what} failed: ${why}`);
