// Realises the cluster's pools and networks on each member: here by own use cases, elsewhere by a request to the member.
import type { ServiceParts } from '../shared/service-parts.ts';
import type { Cluster } from '../../membership/cluster.ts';
import type { Member } from '../../membership/members.ts';
import { daemonCaller } from '../shared/caller.ts';
import type { Records } from '../../records/records.ts';
import { networkUsers } from '../networks/network-users.ts';
import type { Networks } from '../networks/networks.ts';
import { poolUsers } from '../storage/pool-users.ts';
import type { StoragePools } from '../storage/storage-pools.ts';
import type { Realisation } from './definition-parts.ts';
import { networkKeys, poolKeys } from '../shared/member-keys.ts';

export type RealisationDeps = Pick<ServiceParts, 'records' | 'cluster'>;

interface UseCases {
  create(name: string, type: string, config: Readonly<Record<string, string>>, description: string): Promise<void>;
  put(name: string, config: Readonly<Record<string, string>>, description: string): Promise<void>;
  delete(name: string): Promise<void>;
}

export function poolRealisation({ records, cluster }: RealisationDeps, pools: StoragePools): Realisation {
  const own: UseCases = {
    create: (name, driver, config, description) => pools.create(daemonCaller, { name, driver, config, description }),
    put: (name, config, description) => pools.put(daemonCaller, name, { config, description }, undefined),
    delete: (name) => pools.delete(daemonCaller, name),
  };
  return {
    what: 'storage pool',
    kind: 'poolDefinitions',
    keys: poolKeys,
    here: (name) => {
      const document = records.pools.get(name)?.document;
      return document && { ...document, isReady: document.lifecycle === 'ready' };
    },
    of: (member, name) => ofMember(records, 'pools', member, name),
    users: (name) => poolUsers(records, name),
    ...spread(cluster, '/1.0/storage-pools', (name, type) => ({ name, driver: type }), own),
  };
}

export function networkRealisation({ records, cluster }: RealisationDeps, networks: Networks): Realisation {
  const own: UseCases = {
    create: (name, type, config, description) => networks.create(daemonCaller, { name, type, config, description }),
    put: (name, config, description) => networks.put(daemonCaller, name, { config, description }, undefined),
    delete: (name) => networks.delete(daemonCaller, name),
  };
  return {
    what: 'network',
    kind: 'networkDefinitions',
    keys: networkKeys,
    here: (name) => {
      const document = records.networks.get(name)?.document;
      return document && { ...document, isReady: document.lifecycle === 'ready' };
    },
    of: (member, name) => ofMember(records, 'networks', member, name),
    users: (name) => networkUsers(records, name),
    ...spread(cluster, '/1.0/networks', (name, type) => ({ name, type }), own),
  };
}

const ofMember = (records: Records, kind: 'pools' | 'networks', member: number, name: string) =>
  records.others.having(kind, name).find((entry) => entry.member === member)?.document;

function spread(
  cluster: Cluster,
  path: string,
  named: (name: string, type: string) => Readonly<Record<string, string>>,
  own: UseCases,
): Pick<Realisation, 'create' | 'change' | 'remove'> {
  const at = (name: string): string => `${path}/${encodeURIComponent(name)}`;
  const ask = async (member: Member, method: string, where: string, body?: object): Promise<void> => {
    await cluster.ask(member, method, where, body);
  };
  return {
    create: (member, name, type, { config, description }) =>
      member.isHere
        ? own.create(name, type, config, description)
        : ask(member, 'POST', path, { ...named(name, type), config, description }),
    change: (member, name, { config, description }) =>
      member.isHere ? own.put(name, config, description) : ask(member, 'PUT', at(name), { config, description }),
    remove: (member, name) => (member.isHere ? own.delete(name) : ask(member, 'DELETE', at(name))),
  };
}
