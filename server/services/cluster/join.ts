// Makes this host a member of a cluster that exists: it is let in, opens the store of the cluster, and brings what is on its host.
import type { ClusterPut } from '../../api/cluster/cluster.ts';
import { errors } from '../../api/errors.ts';
import type { Records } from '../../records/records.ts';
import { load } from '../../store/load.ts';
import { askToJoin, type KnownCluster } from './ask-to-join.ts';
import { becomeMember } from './become-member.ts';
import { asMember } from './convert-records.ts';
import type { ClusterUseCaseDeps } from './deps.ts';
import { decodeJoinToken, requireJoinToken } from '../../api/cluster/join-token.ts';

export interface JoinPlan {
  readonly known: KnownCluster;
  readonly secret: string;
}

/** From the token, or from address, certificate and password. Throws AppError badRequest that names what is missing or wrong. */
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
  return {
    known: {
      addresses,
      ...(token === undefined ? { certificate } : { fingerprint: token.fingerprint }),
    },
    secret: token?.secret ?? body.cluster_password ?? '',
  };
}

/** A host with containers of its own would bring names that the cluster may have already. Throws AppError badRequest. */
export function checkEmpty(records: Records): void {
  const found = [
    ...records.containers.list().map(({ name }) => `the container ${name}`),
    ...records.volumes.list().map(({ name }) => `the storage volume ${name}`),
    ...records.pools.list().map(({ name }) => `the storage pool ${name}`),
    ...records.networks.list().map(({ name }) => `the network ${name}`),
    ...records.images.list().map(({ name }) => `the image ${name.slice(0, 12)}`),
  ];
  if (found.length === 0) return;
  const shown = found.slice(0, 3).join(', ') + (found.length > 3 ? ` and ${found.length - 3} more` : '');
  throw errors.badRequest(
    `This host cannot join a cluster because it has ${shown}: it brings none: delete it here first (containers can be copied into the cluster before)`,
  );
}

export async function join(deps: ClusterUseCaseDeps, name: string, address: string, plan: JoinPlan): Promise<void> {
  const { stores, certificates, architecture, version } = deps;
  await becomeMember(deps, address, async () => {
    const accepted = await askToJoin(plan.known, {
      server_name: name,
      address,
      certificate: certificates.current.certPem,
      version,
      architecture,
      secret: plan.secret,
    });
    const { number, cluster_uuid: clusterUuid, certificate: certPem, key: keyPem } = accepted;
    const store = await stores.keep(accepted.store, address, keyPem);
    return {
      membership: { number, clusterUuid, store },
      certPem,
      keyPem,
      fill: (opened, from) => load(opened.store, asMember(from, number, false)),
    };
  });
}
