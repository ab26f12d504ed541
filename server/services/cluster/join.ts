// Makes this host a member of an existing cluster: requests admission, opens the cluster's store, and moves its records there.
import type { ClusterPut, MemberConfig } from '../../api/cluster/cluster.ts';
import { errors } from '../../api/errors.ts';
import type { Records } from '../../records/records.ts';
import { decodeDocument } from '../../records/codec.ts';
import { load } from '../../store/load.ts';
import type { Store } from '../../store/store.ts';
import { askToJoin, type KnownCluster } from './joining/ask-to-join.ts';
import { becomeMember } from './become-member.ts';
import { asMember } from './convert-records.ts';
import type { ClusterUseCaseDeps } from './deps.ts';
import { readMemberConfig } from './joining/member-config.ts';
import { decodeJoinToken, requireJoinToken } from '../../api/cluster/join-token.ts';
import { namesText } from '../../api/text/names-text.ts';

export interface JoinPlan {
  readonly known: KnownCluster;
  readonly secret: string;
  readonly memberConfig: readonly MemberConfig[];
}

/** Reads a token, or address, certificate and password. Throws AppError badRequest that names what is missing or wrong. */
export function planJoin(name: string, body: ClusterPut): JoinPlan {
  const text = body.cluster_token ?? '';
  const token = text === '' ? decodeJoinToken(body.cluster_password ?? '') : requireJoinToken(text);
  if (token !== undefined && token.server_name !== name)
    throw errors.invalid('cluster membership', [
      { path: 'server_name', message: `must be ${token.server_name}: the token lets a host of that name in` },
    ]);
  const address = body.cluster_address ?? '';
  const addresses = [...(address === '' ? [] : [address]), ...(token?.addresses ?? [])];
  const certificate = body.cluster_certificate ?? '';
  if (token === undefined && certificate === '')
    throw errors.invalid('cluster membership', [
      { path: 'cluster_certificate', message: 'is required to join without a token' },
    ]);
  const own = readMemberConfig(body.member_config ?? []);
  if ('problems' in own) throw errors.invalid('cluster membership', own.problems);
  return {
    memberConfig: own.values,
    known: { addresses, ...(token === undefined ? { certificate } : { fingerprint: token.fingerprint }) },
    secret: token?.secret ?? body.cluster_password ?? '',
  };
}

/** Containers of a joining host could have names that the cluster already uses. Throws AppError badRequest. */
export function checkEmpty(records: Records): void {
  const found = [
    ...records.containers.list().map(({ name }) => `the container ${name}`),
    ...records.volumes.list().map(({ name }) => `the storage volume ${name}`),
    ...records.pools.list().map(({ name }) => `the storage pool ${name}`),
    ...records.networks.list().map(({ name }) => `the network ${name}`),
    ...records.images.list().map(({ name }) => `the image ${name.slice(0, 12)}`),
  ];
  if (found.length === 0) return;
  throw errors.badRequest(
    `This host cannot join a cluster because it has ${namesText(found, 3)}: delete it here first (containers can be copied into the cluster before)`,
  );
}

/** A member may have removed this host again. Throws AppError badRequest. */
async function checkLetIn(store: Store, name: string, number: number): Promise<void> {
  const { records } = await store.range('/members/');
  const numbers = records.map(({ key, value }) => decodeDocument('members', key, value).number);
  if (!numbers.includes(number))
    throw errors.badRequest(
      `The member ${name} was removed from the cluster while this host was joining: make a new token, and join again`,
    );
}

export async function join(deps: ClusterUseCaseDeps, name: string, address: string, plan: JoinPlan): Promise<void> {
  const { stores, certificates, architecture, version, identity, keys } = deps;
  await becomeMember(deps, address, async () => {
    const accepted = await askToJoin(plan.known, {
      server_name: name,
      address,
      certificate: certificates.current.certPem,
      member_certificate: (await identity.ensure()).certPem,
      version,
      architecture,
      secret: plan.secret,
      ...(plan.memberConfig.length === 0 ? {} : { member_config: [...plan.memberConfig] }),
    });
    const { number, cluster_uuid: clusterUuid, certificate: certPem, key: keyPem } = accepted;
    await keys.join(number, accepted.keys);
    const store = await stores.keep(accepted.store, address);
    return {
      membership: { number, clusterUuid, store },
      certPem,
      keyPem,
      async fill(opened, from) {
        await checkLetIn(opened.store, name, number);
        await load(opened.store, asMember(from, number, false));
      },
    };
  });
}
