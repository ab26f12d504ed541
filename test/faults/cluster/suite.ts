// The fault suite "cluster": clients of all members record what they are answered while members die, freeze and are cut off.
import { etcdMissing } from '../../support/store/etcd.ts';
import type { FaultContext, FaultSuite, Figures } from '../suite.ts';
import { runRound } from './round.ts';
import { openStoreWorld, storeFaultNames, storeFaults } from './store-faults.ts';

export const clusterSuite: FaultSuite = {
  doc: 'kills, freezes and cuts off members of a cluster, and checks what clients of all members were answered',
  rounds: 50,
  missing: () => Promise.resolve(etcdMissing()),
  run: runClusterFaults,
};

async function runClusterFaults(context: FaultContext): Promise<readonly Figures[]> {
  return await runStoreFaults(context);
}

/** Several writers of one store, without daemons. */
export async function runStoreFaults(context: FaultContext): Promise<readonly Figures[]> {
  const { random, say, signal, rounds } = context;
  const each = Math.max(1, Math.floor(rounds / storeFaultNames.length));
  const world = await openStoreWorld();
  try {
    const figures: Figures[] = [];
    for (const [index, name] of storeFaultNames.entries()) {
      let [acknowledged, unknown, requests] = [0, 0, 0];
      const stalls: number[] = [];
      const lost: string[] = [];
      for (let round = 0; round < each; round += 1) {
        signal.throwIfAborted();
        const fault = (): Promise<void> => storeFaults[name](world, random);
        const verdict = await runRound({ target: world.target, random, label: `f${index}-${round}`, fault });
        acknowledged += verdict.acknowledged;
        unknown += verdict.unknown;
        requests += verdict.requests;
        stalls.push(verdict.stallMs);
        lost.push(...verdict.wrong.map((line) => `round ${round}: ${line}`));
      }
      say(
        `${name}: ${requests} requests, ${unknown} of unknown outcome, longest stall ${Math.max(...stalls).toFixed(0)} ms`,
      );
      figures.push({ what: `store: ${name}`, rounds: each, acknowledged, lost, orphans: [] });
    }
    return figures;
  } finally {
    await world.close();
  }
}
