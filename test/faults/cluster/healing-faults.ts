// A container on shared storage whose member freezes, dies or is cut off for times around the healing threshold: no two starts overlap.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { healedContainer, type HealingWorld, openHealingWorld, overlaps } from '../../support/cluster/healing-world.ts';
import { hostsMissing } from '../../support/cluster/hosts.ts';
import type { Member } from '../../support/cluster/three-members.ts';
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import type { Random } from '../../support/random.ts';
import { until } from '../../support/until.ts';
import type { FaultContext, Figures } from '../suite.ts';

/** From well before the lease ends until well after the container continues elsewhere. */
const shortestMs = 2_000;
const longestMs = 30_000;
const patienceMs = 120_000;
const hourMs = 3_600_000;

export const healingMissing = async (): Promise<string | undefined> => hostsMissing() ?? (await realRuntimeMissing());

type Fault = (world: HealingWorld, member: Member, forMs: number) => Promise<void>;

const healingFaults: Readonly<Record<string, Fault>> = {
  'its daemon is frozen': async (_world, { gantryd }, forMs) => {
    gantryd.signal('SIGSTOP');
    await sleep(forMs);
    gantryd.signal('SIGCONT');
  },
  'its daemon is killed': async (_world, { gantryd }, forMs) => {
    await gantryd.kill();
    await sleep(forMs);
    await gantryd.start();
  },
  'it is cut off': async ({ members, hosts }, { host }, forMs) => {
    const others = members.flatMap((each) => (each.host === undefined || each.host === host ? [] : [each.host]));
    if (host !== undefined) hosts?.part([host], others);
    await sleep(forMs);
    hosts?.mend();
  },
  'its guard is killed, its clock jumps, and it is cut off': async (world, member, forMs) => {
    process.kill(guardOf(member), 'SIGKILL');
    member.clock.jump(hourMs);
    await sleep(2_000);
    await healingFaults['it is cut off']?.(world, member, forMs);
    member.clock.jump(0);
  },
};

export async function runHealingFaults({
  gantryd,
  only = '',
  random,
  rounds,
  say,
  signal,
}: FaultContext): Promise<readonly Figures[]> {
  const names = Object.keys(healingFaults).filter((name) =>
    only.split(' ').every((word) => `healing: ${name}`.includes(word)),
  );
  if (names.length === 0) return [];
  const world = await openHealingWorld(gantryd);
  try {
    const figures: Figures[] = [];
    for (const name of names) {
      const each = Math.max(1, Math.floor(rounds / names.length));
      const lost: string[] = [];
      const before = world.runs().length;
      for (let round = 0; round < each; round += 1) {
        signal.throwIfAborted();
        lost.push(...(await oneRound(world, healingFaults[name] as Fault, random)));
      }
      const starts = world.runs().length - before;
      say(`healing: ${name}: ${each} times, ${starts} starts elsewhere or again`);
      figures.push({ what: `healing: ${name}`, rounds: each, acknowledged: starts, lost, orphans: [] });
    }
    return figures;
  } finally {
    await world.remove();
  }
}

/** Returns the violations. */
async function oneRound(world: HealingWorld, fault: Fault, random: Random): Promise<readonly string[]> {
  const before = world.runs().length;
  const member = await world.holder();
  await fault(world, member, shortestMs + random.next() * (longestMs - shortestMs));
  await until(() => isWhole(world), patienceMs);
  const { to = 0 } = world.runs().at(-1) ?? {};
  await until(() => (world.runs().at(-1)?.to ?? 0) > to + 2, patienceMs);
  return overlaps(world.runs().slice(Math.max(0, before - 1)));
}

/** Whether all members are online and the container runs on its member. */
async function isWhole({ members }: HealingWorld): Promise<boolean> {
  for (const { gantryd } of members) {
    const shown = (await gantryd.get('/1.0/cluster/members?recursion=1').catch(() => [])) as { status: string }[];
    if (shown.length < members.length || shown.some(({ status }) => status !== 'Online')) return false;
    const container = await gantryd.get(`/1.0/containers/${healedContainer}`).catch(() => undefined);
    if (container?.status !== 'Running') return false;
  }
  return true;
}

const guardOf = ({ gantryd }: Member): number =>
  (JSON.parse(readFileSync(join(gantryd.dir, 'cluster/guard.json'), 'utf8')) as { pid: number }).pid;
