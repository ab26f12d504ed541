// The fault suite "cluster": clients of all members record what they are answered while members die, freeze and are cut off.
import { threeMembers } from '../../support/cluster/three-members.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import type { FaultContext, FaultSuite, Figures } from '../suite.ts';
import { apiTarget } from './api-target.ts';
import type { Target } from './clients.ts';
import { healingMissing, runHealingFaults } from './healing-faults.ts';
import { type MemberFault, memberFaultNames, memberFaults } from './member-faults.ts';
import { percentile } from './history.ts';
import { runRound } from './round.ts';
import { openStoreWorld, type StoreFault, storeFaultNames, storeFaults } from './store-faults.ts';

export const clusterSuite: FaultSuite = {
  doc: 'kills, freezes and cuts off members of a cluster, and checks what clients of all members were answered',
  rounds: 50,
  missing: () => Promise.resolve(etcdMissing()),
  run: runClusterFaults,
};

async function runClusterFaults(context: FaultContext): Promise<readonly Figures[]> {
  const half = { ...context, rounds: Math.ceil(context.rounds / 2) };
  const figures = [...(await runStoreFaults(half)), ...(await runMemberFaults(half))];
  const missing = await healingMissing();
  if (missing === undefined)
    return [...figures, ...(await runHealingFaults({ ...context, rounds: healingRounds(context) }))];
  context.say(`cluster: containers of lost members are left out: ${missing}`);
  return figures;
}

/** Each takes as long as healing. */
const healingRounds = ({ rounds }: FaultContext): number => Math.ceil(rounds / 5);

/** Several writers of one store, without daemons. */
export async function runStoreFaults(context: FaultContext): Promise<readonly Figures[]> {
  const world = await openStoreWorld();
  const cause = (name: StoreFault) => (): Promise<void> => storeFaults[name](world, context.random);
  try {
    return await runAll(context, 'store', storeFaultNames, world.target, cause);
  } finally {
    await world.close();
  }
}

/** Three daemons and their etcd. */
export async function runMemberFaults(context: FaultContext): Promise<readonly Figures[]> {
  const world = await threeMembers({ runtime: 'sim', gantryd: context.gantryd });
  const cause = (name: MemberFault) => (): Promise<void> => memberFaults[name](world, context.random);
  try {
    return await runAll(context, 'members', memberFaultNames, apiTarget(world.members), cause);
  } finally {
    await world.remove();
  }
}

async function runAll<Name extends string>(
  { random, say, signal, rounds }: FaultContext,
  what: string,
  names: readonly Name[],
  target: Target,
  cause: (name: Name) => () => Promise<void>,
): Promise<readonly Figures[]> {
  const each = Math.max(1, Math.floor(rounds / names.length));
  const figures: Figures[] = [];
  const all: number[] = [];
  for (const [index, name] of names.entries()) {
    let [acknowledged, unknown, requests] = [0, 0, 0];
    const stalls: number[] = [];
    const lost: string[] = [];
    for (let round = 0; round < each; round += 1) {
      signal.throwIfAborted();
      const verdict = await runRound({ target, random, label: `f${index}-${round}`, fault: cause(name) });
      acknowledged += verdict.acknowledged;
      unknown += verdict.unknown;
      requests += verdict.requests;
      stalls.push(verdict.stallMs);
      lost.push(...verdict.wrong.map((line) => `round ${round}: ${line}`));
    }
    say(
      `${what}: ${name}: ${requests} requests, ${unknown} of unknown outcome, longest stall ${Math.max(...stalls).toFixed(0)} ms`,
    );
    all.push(...stalls);
    figures.push({ what: `${what}: ${name}`, rounds: each, acknowledged, lost, orphans: [] });
  }
  const [half, most] = [0.5, 0.99].map((share) => `${percentile(all, share).toFixed(0)} ms`);
  say(`${what}: longest time without an acknowledged change: median ${half}, 99th percentile ${most}`);
  return figures;
}
