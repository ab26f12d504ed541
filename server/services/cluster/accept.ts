// Admits a host to this member's cluster.
import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import type { ClusterAccept, ClusterAccepted } from '../../api/cluster/cluster.ts';
import { AppError, errors } from '../../api/errors.ts';
import { compareVersions } from '../../api/text/compare-versions.ts';
import { checkTrustPassword } from '../../auth/trust.ts';
import { sameSecret, secretHash } from '../../lib/secrets.ts';
import { fingerprintOfPem } from '../../membership/keys/identity.ts';
import { readMembership } from '../../membership/membership.ts';
import type { JoinTokenDocument } from '../../records/cluster-documents.ts';
import type { Caller } from '../shared/caller.ts';
import type { ClusterUseCaseDeps } from './deps.ts';
import { memberAddress } from './member-address.ts';
import { readMemberConfig, takeMemberConfig } from './joining/member-config.ts';
import { checkMemberName } from './member-name.ts';
import { attempt } from '../../lib/shared/attempt.ts';

const reachMs = 5_000;

/** Throws AppError forbidden for a wrong secret, badRequest or exists for a host that cannot be a member. */
export async function accept(
  deps: ClusterUseCaseDeps,
  caller: Caller,
  body: ClusterAccept,
  signal: AbortSignal,
): Promise<ClusterAccepted> {
  const { records, clock, certificates, stores, stateDir, cluster } = deps;
  if (!cluster.isOn) throw errors.notClustered('This server is not part of a cluster: none can be joined through it');
  const admittedBy = await admit(deps, caller, body, signal);
  const name = body.server_name;
  checkMemberName(name);
  const found = memberAddress('server_address', body.address);
  if ('problem' in found) throw errors.invalid('cluster membership', [found.problem]);
  const { address } = found;
  const own = readMemberConfig(body.member_config ?? []);
  if ('problems' in own) throw errors.invalid('cluster membership', own.problems);
  checkVersion(body.version, deps);
  const certificate = memberCertificate(body);
  await checkReached(address, body.certificate);
  const membership = await readMembership(stateDir);
  const config = records.cluster.get('config')?.document;
  if (membership === undefined || config === undefined) throw errors.internal('The cluster has no description');
  const { number, keys } = await records.retry((changes) => {
    if (records.members.has(name)) throw errors.exists('cluster member', name);
    const taken = records.members.list().find(({ document }) => document.address === address);
    if (taken !== undefined)
      throw errors.badRequest(`The address ${address} is that of the cluster member ${taken.name}`);
    // It may have been used, or replaced by a newer one, since.
    if (admittedBy !== 'password' && records.joinTokens.get(name)?.document.secretHash !== admittedBy.secretHash)
      throw wrongSecret();
    const current = records.cluster.get('config')?.document ?? config;
    const { nextNumber } = current;
    changes.put('cluster', 'config', { ...current, nextNumber: nextNumber + 1 });
    changes.put('members', name, {
      v: 1,
      number: nextNumber,
      address,
      architecture: body.architecture,
      joinedAt: clock.timestamp(),
      release: body.version,
      certificate,
    });
    takeMemberConfig(records, changes, nextNumber, own.values);
    if (admittedBy !== 'password') changes.delete('joinTokens', name);
    const shared = deps.keyChange.get();
    const keys = { ...shared, ...deps.keyChange.withShare(shared, { number: nextNumber, certificate }) };
    changes.put('clusterKeys', 'current', keys);
    return { number: nextNumber, keys };
  });
  deps.log.info(`The host ${name} at ${address} may join the cluster as member ${number}`);
  deps.events.lifecycle('cluster-member-added', `/1.0/cluster/members/${name}`, caller);
  // This member may still serve with the previous certificate.
  const { certPem, keyPem } = records.cluster.get('config')?.document.certificate ?? certificates.current;
  return {
    number,
    cluster_uuid: membership.clusterUuid,
    certificate: certPem,
    key: keyPem,
    store: await stores.share(membership.store),
    keys: { ...keys, trusted: [...keys.trusted] },
  };
}

/** The token is used up by the admission. */
async function admit(
  { records, clock, attempts, log }: ClusterUseCaseDeps,
  caller: Caller,
  { server_name: name, secret }: ClusterAccept,
  signal: AbortSignal,
): Promise<Pick<JoinTokenDocument, 'secretHash'> | 'password'> {
  const token = records.joinTokens.get(name)?.document;
  const isGood = token !== undefined && sameSecret(token.secretHash, secretHash(secret));
  if (isGood && clock.nowMs() < Date.parse(token.expiresAt)) return token;
  await checkTrustPassword(
    { class: 'untrusted', address: caller.requestor.address },
    secret,
    {
      attempts,
      stored: records.server.get('config')?.document.config['core.trust_password'],
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      onWrong: (address) => log.warn(`A host at ${address} wanted to join the cluster with a wrong secret`),
    },
    signal,
  ).catch((error: unknown) => {
    throw error instanceof AppError && error.code === 'forbidden' ? wrongSecret() : error;
  });
  return 'password';
}

const wrongSecret = (): AppError =>
  errors.forbidden(
    'Joining the cluster is not authorized: the token is not valid for this name (it was used, has expired or was withdrawn), or the password is wrong',
  );

/** The oldest member determines what the others write, because it must be able to read it; a newer one waits. */
function checkVersion(version: string, { records }: ClusterUseCaseDeps): void {
  const min = records.cluster.get('config')?.document.minVersion ?? '0.0.0';
  if (compareVersions(version, min) < 0)
    throw errors.badRequest(
      `The host has the release ${version}, the cluster needs ${min} at least: upgrade the host first`,
    );
}

/** Reads the member certificate of the joining host. Throws AppError badRequest if it sends none. */
function memberCertificate({ member_certificate: pem }: ClusterAccept): string {
  if (fingerprintOfPem(pem) === undefined)
    throw errors.invalid('cluster membership', [
      { path: 'member_certificate', message: 'must be a certificate in PEM form' },
    ]);
  return pem;
}

/** Connects to check that the host listens there, with that certificate. */
async function checkReached(address: string, certificate: string): Promise<void> {
  const url = new URL(`https://${address}`);
  await new Promise<void>((resolve, reject) => {
    const fail = (why: string): void => {
      socket.destroy();
      reject(errors.badRequest(`The cluster cannot reach the host at its server_address ${address}: ${why}`));
    };
    const socket = connect({
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port || '443'),
      rejectUnauthorized: false,
      timeout: reachMs,
    });
    socket.once('error', (error) => fail(error.message));
    socket.once('timeout', () => fail(`no answer in ${reachMs / 1000} s`));
    socket.once('secureConnect', () => {
      const { raw } = socket.getPeerCertificate();
      if (!isCertificate(raw, certificate)) return fail('another server answers there');
      socket.destroy();
      resolve();
    });
  });
}

const isCertificate = (raw: Uint8Array, pem: string): boolean =>
  attempt(() => new X509Certificate(pem).raw.equals(raw), false);
