// Faults of an etcd of three members, one function each; all of them end with three members that run.
import { setTimeout as sleep } from 'node:timers/promises';
import { slowDisk } from '../../support/cluster/slow-disk.ts';
import type { Random } from '../../support/random.ts';
import type { EtcdWorld } from './world.ts';

/** Longer than the election that follows. */
export const outageMs = 2_500;

/** For any cluster with three etcds. */
export const leaderFaults = {
  'the leader is killed': async ({ etcd }: Pick<EtcdWorld, 'etcd'>) => {
    const leader = etcd.leader();
    await etcd.kill(leader);
    await sleep(outageMs);
    await etcd.start(leader);
  },
  'the leader is frozen': async ({ etcd }: Pick<EtcdWorld, 'etcd'>) => {
    const leader = etcd.leader();
    etcd.signal(leader, 'SIGSTOP');
    try {
      await sleep(outageMs);
    } finally {
      etcd.signal(leader, 'SIGCONT');
    }
  },
};

/** For clusters whose clients must not see a wrong answer meanwhile. */
export const quorumFaults = {
  'the quorum is lost': async ({ etcd }: Pick<EtcdWorld, 'etcd'>) => {
    const leader = etcd.leader();
    const lost = [leader, (leader + 1) % 3];
    await Promise.all(lost.map((member) => etcd.kill(member)));
    await sleep(1_000);
    await Promise.all(lost.map((member) => etcd.start(member)));
  },
};

export async function slowDiskOfLeader({ etcd }: Pick<EtcdWorld, 'etcd'>): Promise<void> {
  const slow = await slowDisk(etcd.pid(etcd.leader()), 400);
  await sleep(outageMs);
  await slow.end();
}

export const etcdFaults = {
  ...leaderFaults,
  'the way to a member is cut': async ({ relays }, random) => {
    // One of the two cuts hits the member in use.
    for (const relay of relays) {
      relay.cut(random.next() < 0.5 ? 'answers' : 'both');
      await sleep(900);
      relay.mend();
    }
  },
  'all members are killed': async ({ etcd }) => {
    const members = etcd.endpoints.map((_, member) => member);
    await Promise.all(members.map((member) => etcd.kill(member)));
    await sleep(500);
    await Promise.all(members.map((member) => etcd.start(member)));
  },
  'history is compacted': async ({ store, etcd, relays }) => {
    for (let round = 0; round < 3; round++) {
      // The watcher falls behind while nothing arrives.
      for (const relay of relays) relay.cut('answers');
      await sleep(300);
      const status = etcd.ctl('endpoint', 'status', '--write-out=json');
      const revision = Number(/"revision":([0-9]+)/.exec(status)?.[1]);
      etcd.ctl('compact', String(revision));
      for (const relay of relays) relay.mend();
      await store.compact((await store.range('/none')).rev);
    }
  },
} satisfies Record<string, (world: EtcdWorld, random: Random) => Promise<void>>;

export type EtcdFault = keyof typeof etcdFaults;
export const etcdFaultNames = Object.keys(etcdFaults) as EtcdFault[];
