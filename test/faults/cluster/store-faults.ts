// Faults between three writers and an etcd of three members, one function each; all of them end with everything repaired.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../support/random.ts';
import { type ClusterHosts, hostsMissing, makeHosts } from '../../support/cluster/hosts.ts';
import { slowDiskMissing } from '../../support/cluster/slow-disk.ts';
import { openRelay, type Relay } from '../../support/store/cuttable.ts';
import { startEtcd, type TestEtcd } from '../../support/store/etcd.ts';
import { pick } from './clients.ts';
import { openStoreTarget, type StoreTarget } from './store-target.ts';
import { leaderFaults, outageMs, quorumFaults, slowDiskOfLeader } from '../etcd/faults.ts';

export interface StoreWorld {
  readonly etcd: TestEtcd;
  readonly target: StoreTarget;
  /** The connections of each writer to all members of the etcd. */
  readonly ways: Readonly<Record<string, readonly Relay[]>>;
  /** A separate host for each member of the etcd; undefined if this machine supports none. */
  readonly hosts: ClusterHosts | undefined;
  close(): Promise<void>;
}

export const writerNames = ['writer1', 'writer2', 'writer3'] as const;

export async function openStoreWorld(): Promise<StoreWorld> {
  const hosts = hostsMissing() === undefined ? makeHosts(3) : undefined;
  let etcd: TestEtcd | undefined;
  const ways: Record<string, Relay[]> = {};
  const end = async (): Promise<void> => {
    for (const relay of Object.values(ways).flat()) relay.close();
    await etcd?.stop();
    hosts?.remove();
  };
  try {
    etcd = await startEtcd(hosts === undefined ? { members: 3 } : { hosts: hosts.hosts });
    for (const writer of writerNames) {
      ways[writer] = [];
      for (const endpoint of etcd.endpoints) ways[writer].push(await openRelay(endpoint));
    }
    const addresses = Object.entries(ways).map(([writer, relays]) => [writer, relays.map(({ address }) => address)]);
    const target = await openStoreTarget(Object.fromEntries(addresses), 'cluster-faults');
    const close = async (): Promise<void> => {
      try {
        await target.close();
      } finally {
        await end();
      }
    };
    return { etcd, target, ways, hosts, close };
  } catch (error) {
    await end();
    throw error;
  }
}

export const storeFaults = {
  ...leaderFaults,
  'a writer is cut off': async ({ ways }, random) => {
    const relays = ways[pick(writerNames, random)] ?? [];
    for (const relay of relays) relay.cut('both');
    await sleep(outageMs);
    for (const relay of relays) relay.mend();
  },
  'a writer hears no answers': async ({ ways }, random) => {
    const relays = ways[pick(writerNames, random)] ?? [];
    for (const relay of relays) relay.cut('answers');
    await sleep(outageMs);
    for (const relay of relays) relay.mend();
  },
  ...quorumFaults,
  'the leader is cut off from the others': async (world) => {
    const { leader, others, hosts } = placesOf(world);
    hosts.part([leader], others);
    await sleep(outageMs);
    hosts.mend();
  },
  'the leader does not hear the others': async (world) => {
    const { leader, others, hosts } = placesOf(world);
    hosts.deafen(leader, others);
    await sleep(outageMs);
    hosts.mend();
  },
  'the leader has a slow network': async (world) => {
    const { leader, hosts } = placesOf(world);
    hosts.slow(leader, 150);
    await sleep(outageMs);
    hosts.mend();
  },
  'the leader has a slow disk': slowDiskOfLeader,
} satisfies Record<string, (world: StoreWorld, random: Random) => Promise<void>>;

export type StoreFault = keyof typeof storeFaults;
const needsHosts: readonly StoreFault[] = [
  'the leader is cut off from the others',
  'the leader does not hear the others',
  'the leader has a slow network',
];
/** The faults that this machine can cause. */
export const storeFaultNames = (Object.keys(storeFaults) as StoreFault[]).filter((name) => {
  if (needsHosts.includes(name)) return hostsMissing() === undefined;
  return name !== 'the leader has a slow disk' || slowDiskMissing() === undefined;
});

function placesOf({ etcd, hosts }: StoreWorld) {
  const leader = hosts?.hosts[etcd.leader()];
  if (hosts === undefined || leader === undefined)
    throw new Error('the members of the etcd have no hosts of their own');
  return { leader, hosts, others: hosts.hosts.filter((host) => host !== leader) };
}
