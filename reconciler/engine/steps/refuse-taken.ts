// Keeps an object that another set has taken since the plan from being deleted.
import { hasConfig, recordsIn } from '../../core/ownership/owner-records.ts';
import type { Step } from '../../core/plan/plan.ts';
import { StaleError, type StepContext } from './context.ts';

/** A deletion, or the stop before it. */
const isForGood = (step: Step): boolean =>
  step.action === 'delete' || (step.action === 'stop' && step.force === 'at-once');

/** Throws StaleError. */
export async function refuseTaken({ client, owners }: StepContext, step: Step, signal: AbortSignal): Promise<void> {
  if (!isForGood(step) || owners === undefined || !hasConfig(step.kind)) return;
  const target = 'target' in step ? step.target : undefined;
  // The step itself reports what cannot be read.
  const found = await client.get(step.kind, step.name, signal, target).catch(() => undefined);
  const [taker] = found === undefined ? [] : [...recordsIn(found.metadata).keys()].filter((set) => !owners.has(set));
  if (taker !== undefined) throw new StaleError(`the set ${taker} has taken it over since the plan was made`);
}
