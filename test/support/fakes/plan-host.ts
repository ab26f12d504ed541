// A host for tests of plans, and what they read of a plan.
import { expect } from 'vitest';
import { checkPlan } from '../../../reconciler/core/decide/check-plan.ts';
import type { Document } from '../../../reconciler/core/documents/document.ts';
import type { Observed } from '../../../reconciler/core/documents/observed.ts';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import type { Plan, PlanOptions } from '../../../reconciler/core/plan/plan.ts';
import {
  fingerprintOf,
  liveAlias,
  type liveContainer,
  liveImage,
  liveNetwork,
  livePool,
  liveProfile,
  world,
} from './worlds.ts';

export const base = fingerprintOf('base');
export const root = { type: 'disk', path: '/', pool: 'fast' };
export const eth0 = { type: 'nic', nictype: 'bridged', parent: 'web0' };
export const source = { type: 'image', alias: 'base' };
export const stopped = { status: 'Stopped', status_code: 102 };
export const host = world({
  pools: [livePool('fast')],
  networks: [liveNetwork('web0')],
  profiles: [liveProfile('default', { devices: { root } })],
  images: [liveImage(base)],
  aliases: [liveAlias('base', base)],
});

export const plan = (documents: readonly Document[], observed: Observed = host, options: PlanOptions = {}): Plan => {
  const made = planChanges({ documents, observed, options });
  expect(checkPlan(made, observed)).toEqual([]);
  return made;
};
export const ids = (made: Plan): readonly string[] => made.steps.map((step) => step.id);
export const withContainers = (...containers: readonly ReturnType<typeof liveContainer>[]): Observed => ({
  ...host,
  containers: world({ containers, profiles: [...host.profiles.values()].map((live) => live.object) }).containers,
});
export const codes = (made: Plan): readonly string[] => made.diagnostics.map((diagnostic) => diagnostic.code);

export function pick(from: Observed): Pick<Observed, 'profiles' | 'containers'> {
  return { profiles: from.profiles, containers: from.containers };
}
