// The fault suite "kill": kill -9 before each effect that an action on a container has on the host, and some time after it.
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import type { Random } from '../../support/random.ts';
import type { FaultContext, FaultSuite, Figures } from '../suite.ts';
import { actionNames, countEffects, dieAt, type ActionName, type Outcome } from './actions.ts';
import type { Death } from './doomed-daemon.ts';
import { closeWorld, openWorld, type KillWorld } from './world.ts';

export const killSuite: FaultSuite = {
  doc: 'kills gantryd at every step of its actions on containers, real and simulated',
  rounds: 1000,
  missing: () => Promise.resolve(undefined),
  run: runKills,
};

const longestDelayMs = 40;

/** Before an effect, or a moment after it has begun: a started program continues alone. */
export function deathAt(effect: number, random: Random): Death {
  return random.next() < 0.5 ? { effect } : { effect, afterMs: Math.floor(random.next() * longestDelayMs) };
}

export async function runKills(context: FaultContext): Promise<readonly Figures[]> {
  const runtimes = (await realRuntimeMissing()) === undefined ? (['lxc', 'sim'] as const) : (['sim'] as const);
  const each = Math.max(1, Math.floor(context.rounds / runtimes.length / actionNames.length));
  const figures: Figures[] = [];
  for (const runtime of runtimes) {
    const world = await openWorld(context.gantryd, runtime, runtime.charAt(0));
    try {
      for (const name of actionNames) figures.push(await runAction(context, world, name, each));
    } finally {
      await closeWorld(world);
    }
  }
  return figures;
}

async function runAction(context: FaultContext, world: KillWorld, name: ActionName, rounds: number): Promise<Figures> {
  const count = await countEffects(world, name);
  const outcomes: Outcome[] = [];
  for (let round = 0; round < rounds; round += 1) {
    context.signal.throwIfAborted();
    // All of them in turn, from a different one in each run.
    const effect = 1 + ((round + context.random.seed) % count);
    const outcome = await dieAt(world, name, deathAt(effect, context.random));
    outcomes.push(outcome);
    for (const line of [...outcome.wrong, ...outcome.left]) context.say(`${outcome.where}: ${line}`);
  }
  context.say(`${world.runtime}, ${name}: ${rounds} kills over ${count} effects`);
  return {
    what: `${name} (${world.runtime})`,
    rounds,
    acknowledged: rounds,
    lost: outcomes.flatMap(({ where, wrong }) => (wrong.length === 0 ? [] : [`${where}: ${wrong.join('; ')}`])),
    orphans: outcomes.flatMap(({ where, left }) => left.map((line) => `${where}: ${line}`)),
  };
}
