// What can happen between three writers and an etcd of three members, one function each; all of them end with everything mended.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../support/random.ts';
import { openRelay, type Relay } from '../../support/store/cuttable.ts';
import { startEtcd, type TestEtcd } from '../../support/store/etcd.ts';
import { pick } from './clients.ts';
import { openStoreTarget, type StoreTarget } from './store-target.ts';

export interface StoreWorld {
  readonly etcd: TestEtcd;
  readonly target: StoreTarget;
  /** Of each writer, its ways to all members of the etcd. */
  readonly ways: Readonly<Record<string, readonly Relay[]>>;
  close(): Promise<void>;
}

export const writerNames = ['writer1', 'writer2', 'writer3'] as const;

export async function openStoreWorld(): Promise<StoreWorld> {
  const etcd = await startEtcd({ members: 3 });
  const ways: Record<string, Relay[]> = {};
  const end = async (): Promise<void> => {
    for (const relay of Object.values(ways).flat()) relay.close();
    await etcd.stop();
  };
  try {
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
    return { etcd, target, ways, close };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Longer than an election. */
const outageMs = 2_500;

export const storeFaults = {
  'the leader is killed': async ({ etcd }) => {
    const leader = etcd.leader();
    await etcd.kill(leader);
    await sleep(outageMs);
    await etcd.start(leader);
  },
  'the leader is frozen': async ({ etcd }) => {
    const leader = etcd.leader();
    etcd.signal(leader, 'SIGSTOP');
    try {
      await sleep(outageMs);
    } finally {
      etcd.signal(leader, 'SIGCONT');
    }
  },
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
  'the quorum is lost': async ({ etcd }) => {
    const leader = etcd.leader();
    const lost = [leader, (leader + 1) % 3];
    await Promise.all(lost.map((member) => etcd.kill(member)));
    await sleep(1_000);
    await Promise.all(lost.map((member) => etcd.start(member)));
  },
} satisfies Record<string, (world: StoreWorld, random: Random) => Promise<void>>;

export type StoreFault = keyof typeof storeFaults;
export const storeFaultNames = Object.keys(storeFaults) as StoreFault[];
