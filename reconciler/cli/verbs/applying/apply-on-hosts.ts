// `gantry apply --hosts` and `gantry destroy --hosts`: of manifests or of a saved plan, for real or as a dry run.
import type { RunOnHosts } from '../../hosts/choose-hosts.ts';
import type { Plan } from '../../../core/plan/plan.ts';
import type { ExitCode } from '../../errors/exit-codes.ts';
import { dryRunKind } from '../../flags/plan-flags.ts';
import type { OpenContext } from '../../session/context.ts';
import { traceVerb } from '../../session/trace-verb.ts';
import { apply } from './apply.ts';
import type { ApplyOptions } from '../../flags/plan-flags.ts';
import { savedPlanAt } from '../planning/saved-plan.ts';
import type { Fleet } from '../../hosts/choose-hosts.ts';
import { fleetPlanAt } from '../planning/fleet-plan.ts';
import { onOneHost } from '../../hosts/one-host.ts';

export const applyFleet: RunOnHosts<ApplyOptions> = async (context, fleet, args) => {
  if ((await savedPlanAt(args, context)) !== undefined)
    return onOneHost(context, fleet, 'A saved plan', (own) => apply(own, args));
  const saved = await fleetPlanAt(args);
  if (saved === undefined) return changeFleet(context, fleet, args, 'apply');
  return dryRunKind(context.options) === undefined
    ? traceVerb(context, 'apply', async () => (await import('./rollout.ts')).rollOutSaved(context, fleet, saved))
    : (await import('../planning/plan-on-hosts.ts')).dryRunSaved(context, fleet, saved);
};

export const destroyFleet: RunOnHosts<ApplyOptions> = (context, fleet, args) =>
  changeFleet(context, fleet, args, 'destroy');

const changeFleet = async (
  context: OpenContext<ApplyOptions>,
  fleet: Fleet,
  args: readonly string[],
  mode: Plan['mode'],
): Promise<ExitCode> =>
  dryRunKind(context.options) === undefined
    ? traceVerb(context, mode, async () => (await import('./rollout.ts')).rollOut(context, fleet, args, mode))
    : (await import('../planning/plan-on-hosts.ts')).showFleetPlan(context, fleet, args, mode);
