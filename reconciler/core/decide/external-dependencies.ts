// Dependencies on objects of another set (manage.depends_on): they must exist (graph.ts), and containers must be ready before the
// steps of the object begin. Within a set steps wait for steps; here the plan checks and refuses. Pure.
import { statusCodes } from '../../../server/api/status.ts';
import type { PlanContext } from './plan-context.ts';
import type { Decision } from './decision.ts';
import type { Address, Document } from '../documents/document.ts';
import type { Observed } from '../documents/observed.ts';
import type { Guard } from '../plan/plan.ts';

/** The decision, or its refusal while a dependency is not ready. */
export function withDependencies(object: Document, decision: Decision, context: PlanContext): Decision {
  if (object.manage.dependsOn.length === 0 || decision.sketches.length === 0) return decision;
  for (const address of object.manage.dependsOn) {
    const why = context.declares(address) ? undefined : unreadiness(address, context.observed);
    if (why !== undefined)
      return { change: { ...decision.change, guard: dependencyGuard(object.address, address, why) }, sketches: [] };
  }
  return decision;
}

function unreadiness(address: Address, observed: Observed): string | undefined {
  const [kind, ...rest] = address.split('/');
  const name = rest.join('/');
  const live = kind === 'container' ? observed.containers.get(name)?.object : undefined;
  if (live === undefined) return undefined;
  if (live.status_code !== statusCodes.running) return `it is ${live.status.toLowerCase()}`;
  for (const [set, { unready }] of observed.sets ?? [])
    if (unready.has(name)) return `the set ${set} has not seen it ready yet`;
  return undefined;
}

const dependencyGuard = (address: Address, on: Address, why: string): Guard => ({
  code: 'dependency',
  address,
  message: `${address} is to come after ${on}, which is not ready: ${why}`,
  remedy: `apply the set that declares ${on}, or start it; then plan again`,
});
