// The fault suite "etcd": members of an etcd are killed, frozen, cut off and compacted under writers and a watcher.
import { etcdMissing } from '../../support/store/etcd.ts';
import type { FaultContext, FaultSuite, Figures } from '../suite.ts';
import { etcdFaultNames, etcdFaults } from './faults.ts';
import { openEtcdWorld, underFault } from './world.ts';

export const etcdSuite: FaultSuite = {
  doc: 'kills, freezes, cuts off and compacts an etcd of three members under its store',
  rounds: 50,
  missing: () => Promise.resolve(etcdMissing()),
  run: runEtcdFaults,
};

async function runEtcdFaults(context: FaultContext): Promise<readonly Figures[]> {
  const each = Math.max(1, Math.floor(context.rounds / etcdFaultNames.length));
  const world = await openEtcdWorld();
  try {
    const figures: Figures[] = [];
    for (const name of etcdFaultNames) {
      let acknowledged = 0;
      let unknown = 0;
      const lost: string[] = [];
      for (let round = 0; round < each; round++) {
        context.signal.throwIfAborted();
        const label = `${name}, round ${round}`;
        const verdict = await underFault(world, label, () => etcdFaults[name](world, context.random));
        acknowledged += verdict.acknowledged;
        unknown += verdict.unknown;
        lost.push(...verdict.wrong.map((line) => `${label}: ${line}`));
      }
      context.say(`${name}: ${acknowledged} writes acknowledged, ${unknown} with an unknown outcome`);
      figures.push({ what: name, rounds: each, acknowledged, lost, orphans: [] });
    }
    return figures;
  } finally {
    await world.close();
  }
}
