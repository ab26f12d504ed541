// Lets the steps of a plan wait for the hooks before their wave. Steps of one wave share them, and their failure.
import type { Plan } from '../../../core/plan/plan.ts';
import type { BeforeStep } from '../../../engine/execute.ts';

/** `beforeWave`: runs the hooks before a wave. */
export function waveGate(
  { changes }: Pick<Plan, 'changes'>,
  beforeWave: (wave: number, signal: AbortSignal) => Promise<void>,
): BeforeStep {
  // Deletions come in the opposite order, and belong to no wave.
  const leaving = new Set(changes.flatMap(({ address, isPruned }) => (isPruned === true ? [address] : [])));
  const waves = new Map(changes.map(({ address, wave }) => [address, wave]));
  const gates = new Map<number, Promise<void>>();
  return ({ address }, signal) => {
    if (leaving.has(address)) return Promise.resolve();
    const wave = waves.get(address) ?? 0;
    const gate = gates.get(wave) ?? beforeWave(wave, signal);
    gates.set(wave, gate);
    return gate;
  };
}
