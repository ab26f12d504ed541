// `gantry apply --hosts` and `gantry destroy --hosts`: of manifests or of a saved plan, for real or as a dry run.
import type { Plan } from '../../../core/plan/plan.ts';
import type { ExitCode } from '../../errors/exit-codes.ts';
import { dryRunKind } from '../../flags/plan-flags.ts';
import type { Fleet, Context } from '../../session/context.ts';
import { traceVerb } from '../../session/trace-verb.ts';
import { apply } from './apply.ts';
import type { ApplyOptions } from '../../flags/plan-flags.ts';
import { savedPlanAt } from '../planning/saved-plan.ts';
import { fleetPlanAt } from '../planning/fleet-plan.ts';
import { onOneHost } from '../../hosts/one-host.ts';

export async function applyOnHosts(
  context: Context<ApplyOptions>,
  fleet: Fleet,
  args: readonly string[],
  mode: Plan['mode'],
): Promise<ExitCode> {
  const isDry = dryRunKind(context.options) !== undefined;
  if (mode === 'apply' && (await savedPlanAt(args, context)) !== undefined)
    return onOneHost(context, fleet, 'A saved plan', (own) => apply(own, args));
  const saved = mode === 'apply' ? await fleetPlanAt(args) : undefined;
  if (isDry) {
    const plans = await import('../planning/plan-on-hosts.ts');
    return saved === undefined
      ? plans.showFleetPlan(context, fleet, args, mode)
      : plans.dryRunSaved(context, fleet, saved);
  }
  const { rollOut, rollOutSaved } = await import('./rollout.ts');
  return traceVerb(context, mode, () =>
    saved === undefined ? rollOut(context, fleet, args, mode) : rollOutSaved(context, fleet, saved),
  );
}
