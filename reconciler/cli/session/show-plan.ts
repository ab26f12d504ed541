// Prints a plan as text or JSON.
import type { Plan } from '../../core/plan/plan.ts';
import type { Context } from './context.ts';
import type { PlanFlagOptions } from '../flags/plan-flags.ts';
import { commandError } from '../errors/usage-error.ts';

export async function printPlan(
  context: Context<PlanFlagOptions>,
  plan: Plan,
  operation: 'plan' | 'apply' | 'destroy',
): Promise<void> {
  const { summaryLine } = await import('../../core/plan/summary.ts');
  if (context.isJson) {
    const { planLines } = await import('../output/render-json.ts');
    for (const line of planLines(plan, operation, summaryLine(plan.summary), context.io.nowMs())) context.json(line);
  } else {
    const { renderPlan } = await import('../../core/render/render-plan.ts');
    const showsSecrets = context.options.showSecrets === true;
    const isCompact = context.options.compact === true;
    const text = renderPlan(plan, { color: context.color, showsSecrets, isCompact }).trimEnd();
    // Other verbs ask for approval next, which a pager would delay.
    if (operation === 'plan') await (await import('./pager.ts')).showPaged(context, text);
    else context.out(text);
  }
  await refuseChanges(context, plan);
}

/** Throws under --expect-no-changes if the plan has changes. */
export async function refuseChanges({ options }: Context<PlanFlagOptions>, plan: Plan): Promise<void> {
  if (options.expectNoChanges !== true) return;
  const { hasDifferences } = await import('../../core/plan/summary.ts');
  if (hasDifferences(plan)) throw commandError('There are changes, and --expect-no-changes was given');
}
