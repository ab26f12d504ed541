// The fault suite "cluster": clients of all members record their answers while members die, freeze and are cut off.
import { threeMembers } from '../../support/cluster/three-members.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import type { FaultContext, FaultSuite, Figures } from '../suite.ts';
import { apiTarget } from './api-target.ts';
import type { Target } from './clients.ts';
import { healingMissing, runHealingFaults } from './healing-faults.ts';
import { type MemberFault, memberFaultNames, memberFaults } from './member-faults.ts';
import { runRound } from './round.ts';
import { openStoreWorld, type StoreFault, storeFaultNames, storeFaults } from './store-faults.ts';

export const clusterSuite: FaultSuite = {
  doc: 'kills, freezes and cuts off members of a cluster, and checks what clients of all members were answered',
  rounds: 50,
  missing: () => Promise.resolve(etcdMissing()),
  run: runClusterFaults,
};

async function runClusterFaults(context: FaultContext): Promise<readonly Figures[]> {
  const half = context.only === undefined ? { ...context, rounds: Math.ceil(context.rounds / 2) } : context;
  const figures = [...(await runStoreFaults(half)), ...(await runMemberFaults(half))];
  const missing = await healingMissing();
  if (missing === undefined)
    return [...figures, ...(await runHealingFaults({ ...context, rounds: healingRounds(context) }))];
  context.say(`cluster: containers of lost members are left out: ${missing}`);
  return figures;
}

/** Fewer rounds, since each takes as long as healing. */
const healingRounds = ({ rounds }: FaultContext): number => Math.ceil(rounds / 5);

/** Several writers of one store, without daemons. */
async function runStoreFaults(context: FaultContext): Promise<readonly Figures[]> {
  const names = wanted(context, 'store', storeFaultNames);
  if (names.length === 0) return [];
  const world = await openStoreWorld();
  const cause = (name: StoreFault) => (): Promise<void> => storeFaults[name](world, context.random);
  try {
    return await runAll(context, 'store', names, world.target, cause);
  } finally {
    await world.close();
  }
}

/** Three daemons and their etcd. */
async function runMemberFaults(context: FaultContext): Promise<readonly Figures[]> {
  const names = wanted(context, 'members', memberFaultNames);
  if (names.length === 0) return [];
  const world = await threeMembers({ runtime: 'sim', gantryd: context.gantryd });
  const cause = (name: MemberFault) => (): Promise<void> => memberFaults[name](world, context.random);
  try {
    return await runAll(context, 'members', names, apiTarget(world.members), cause);
  } finally {
    await world.remove();
  }
}

/** Selects faults whose name in the report contains every word of `only`: "members: a member is killed". */
const wanted = <Name extends string>({ only = '' }: FaultContext, what: string, names: readonly Name[]): Name[] =>
  names.filter((name) => only.split(' ').every((word) => `${what}: ${name}`.includes(word)));

async function runAll<Name extends string>(
  { random, say, signal, rounds }: FaultContext,
  what: string,
  names: readonly Name[],
  target: Target,
  cause: (name: Name) => () => Promise<void>,
): Promise<readonly Figures[]> {
  const each = Math.max(1, Math.floor(rounds / names.length));
  const figures: Figures[] = [];
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
    figures.push({ what: `${what}: ${name}`, rounds: each, acknowledged, lost, orphans: [], stallsMs: stalls });
  }
  if (names.length > 1) figures.push(sumOf(`${what}: all of them`, figures));
  return figures;
}

/** Sums up rows; the rows themselves list the failures. */
const sumOf = (what: string, rows: readonly Figures[]): Figures => ({
  what,
  rounds: rows.reduce((sum, { rounds }) => sum + rounds, 0),
  acknowledged: rows.reduce((sum, row) => sum + row.acknowledged, 0),
  lost: [],
  orphans: [],
  stallsMs: rows.flatMap(({ stallsMs = [] }) => stallsMs),
});
