// Faults of three cluster members and their etcd, one function each; all of them end with everything repaired.
import { setTimeout as sleep } from 'node:timers/promises';
import { hostsMissing } from '../../support/cluster/hosts.ts';
import { slowDiskMissing } from '../../support/cluster/slow-disk.ts';
import type { Member, ThreeMembers } from '../../support/cluster/three-members.ts';
import type { Random } from '../../support/random.ts';
import { leaderFaults, outageMs, quorumFaults, slowDiskOfLeader } from '../etcd/faults.ts';
import { pick } from './clients.ts';

const hourMs = 3_600_000;

export const memberFaults = {
  'a member is killed': async ({ members }, random) => {
    const { gantryd } = pick(members, random);
    await gantryd.kill();
    await sleep(outageMs * random.next());
    await gantryd.start();
  },
  'a member is frozen': async ({ members }, random) => {
    const { gantryd } = pick(members, random);
    gantryd.signal('SIGSTOP');
    await sleep(outageMs);
    gantryd.signal('SIGCONT');
  },
  'the leader of the etcd is killed': leaderFaults['the leader is killed'],
  'the leader of the etcd is killed with its host': async ({ members, etcd }) => {
    const leader = etcd.leader();
    const { gantryd } = members[leader]!;
    await Promise.all([etcd.kill(leader), gantryd.kill()]);
    await sleep(outageMs);
    await etcd.start(leader);
    await gantryd.start();
  },
  ...quorumFaults,
  'the clock of a member jumps': async ({ members }, random) => {
    const { clock } = pick(members, random);
    clock.jump(hourMs);
    await sleep(1_000);
    clock.jump(-hourMs);
    await sleep(1_000);
    clock.jump(0);
  },
  'the leader of the etcd has a slow disk': slowDiskOfLeader,
  'a member is cut off from the others': async (world, random) => {
    const { some, others } = parted(world, pick(world.members, random));
    world.hosts?.part([some], others);
    await sleep(outageMs);
    world.hosts?.mend();
  },
  'the leader of the etcd does not hear the others': async (world) => {
    const { some, others } = parted(world, world.members[world.etcd.leader()]!);
    world.hosts?.deafen(some, others);
    await sleep(outageMs);
    world.hosts?.mend();
  },
  'a member does not hear the others': async (world, random) => {
    const { some, others } = parted(world, pick(world.members, random));
    world.hosts?.deafen(some, others);
    await sleep(outageMs);
    world.hosts?.mend();
  },
} satisfies Record<string, (world: ThreeMembers, random: Random) => Promise<void>>;

export type MemberFault = keyof typeof memberFaults;

/** The faults that this machine can cause. */
export const memberFaultNames = (Object.keys(memberFaults) as MemberFault[]).filter((name) => {
  if (name.endsWith('the others')) return hostsMissing() === undefined;
  return name !== 'the leader of the etcd has a slow disk' || slowDiskMissing() === undefined;
});

function parted({ members }: ThreeMembers, { host: some }: Member) {
  const others = members.flatMap(({ host }) => (host === undefined || host === some ? [] : [host]));
  if (some === undefined) throw new Error('the members have no hosts of their own');
  return { some, others };
}
