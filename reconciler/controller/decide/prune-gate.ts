// Stops a prune beyond its limit until a person approves it, for one revision only. Pure.
import type { Plan } from '../../core/plan/plan.ts';
import type { PruneGate } from '../contract/index.ts';

export interface PruneApproval {
  readonly revision: string;
  readonly by: string;
  readonly reason: string;
  readonly at: string;
}

const maxNamed = 50;

/** What a plan would delete if it were approved. */
export const heldByGate = ({ changes }: Plan): readonly string[] =>
  changes.filter(({ guard }) => guard?.code === 'prune-limit').map(({ address }) => address);

export interface GatedHost {
  readonly name: string;
  readonly heldByGate: readonly string[];
}

/** Undefined: nothing waits for an approval. */
export function gateOf(revision: string | undefined, hosts: readonly GatedHost[]): PruneGate | undefined {
  const held = hosts.filter((host) => host.heldByGate.length > 0);
  if (revision === undefined || held.length === 0) return undefined;
  return {
    revision,
    hosts: held.map(({ name, heldByGate: all }) => ({
      host: name,
      count: all.length,
      objects: all.slice(0, maxNamed),
    })),
  };
}
