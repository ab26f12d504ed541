// Makes the plan of a set for an observed host. Errors of the manifests are in its diagnostics.
import { checkPlan } from '../../core/decide/check-plan.ts';
import { planChanges } from '../../core/decide/plan-changes.ts';
import { planDestroy } from '../../core/decide/plan-destroy.ts';
import type { Document } from '../../core/documents/document.ts';
import type { Observed } from '../../core/documents/observed.ts';
import type { Plan, PlanInput, PlanOptions } from '../../core/plan/plan.ts';
import { compareSeeds } from '../../manifest/documents/cloud-config.ts';
import type { SetPlace } from '../../core/ownership/place.ts';
import { ownerOf, type FoundSet } from './found-set.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface PlanRequest {
  readonly documents: readonly Document[];
  readonly set: string;
  readonly options: PlanOptions;
  readonly mode: Plan['mode'];
  /** Image pins: fingerprints by alias. */
  readonly images: ReadonlyMap<string, string>;
  /** Where the documents are declared. */
  readonly place?: SetPlace;
}

export interface MadePlan {
  readonly plan: Plan;
  readonly observed: Observed;
  readonly owner: FoundSet;
  readonly images: ReadonlyMap<string, string>;
}

export function makePlan(observed: Observed, { documents, set, options, mode, images, place }: PlanRequest): MadePlan {
  const owner = { ...ownerOf(set, observed), ...withoutUndefined({ place }) };
  const input: PlanInput = { documents, observed, options, owner, images, compareSeeds };
  const plan = mode === 'apply' ? planChanges(input) : planDestroy(input);
  return { plan, observed, owner, images };
}

/** Throws for a plan that breaks the rules of plans. */
export function requireSound({ plan, observed }: Pick<MadePlan, 'plan' | 'observed'>): void {
  const unsound = checkPlan(plan, observed);
  if (unsound.length === 0) return;
  const text = unsound.map(({ path, message }) => `${path} ${message}`).join('; ');
  throw new Error(`The plan is unsound, which is a bug in gantry: ${text}`);
}
