// `gantry apply` and `gantry destroy`, on one host or on several: plan, ask, carry out, report.
import type { Client } from '../../../../server/client/client.ts';
import type { Plan } from '../../../core/plan/plan.ts';
import type { SavedPlan } from '../../../core/history/saved-plan.ts';
import { confirm } from '../../session/confirm.ts';
import type { Context, Run, Fleet } from '../../session/context.ts';
import { exitCodeOfPlan, exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { parseCount, parseDuration } from '../../flags/parse-values.ts';
import { dryRunKind, type ApplyOptions } from '../../flags/plan-flags.ts';
import type { PreseedOptions } from './applying-verbs.ts';
import { requireNoRefusals } from './refused-parts.ts';
import { messageOf } from '../../session/revision.ts';
import { withClient } from '../../session/connect.ts';
import { resume } from '../../session/resume.ts';
import { loadSet } from '../../session/load-set.ts';
import { traceVerb } from '../../session/trace-verb.ts';
import { planOf } from '../../session/plan.ts';
import { printPlan } from '../../session/show-plan.ts';
import { planAgain, savedPlanAt } from '../planning/saved-plan.ts';
import { setNameOf } from '../../flags/set-name.ts';
import { CliError } from '../../errors/usage-error.ts';
import { fleetPlanAt } from '../planning/fleet-plan.ts';
import { onOneHost } from '../../hosts/one-host.ts';
import { carryOut, replanWhenOvertaken } from './carry-out.ts';

export const apply = applyIn('apply');
export const destroy = applyIn('destroy');

function applyIn(mode: Plan['mode']): Run<ApplyOptions, ExitCode> {
  return async (context, args, fleet) => {
    if (fleet !== undefined) return applyOnHosts(context, fleet, args, mode);
    parseCount('--parallelism', context.options.parallelism);
    parseDuration('--lock-timeout', context.options.lockTimeout);
    messageOf(context);
    const dryRun = dryRunKind(context.options);
    if (dryRun !== undefined) return (await import('./dry-apply.ts')).dryApply(context, args, mode, dryRun);
    return traceVerb(context, mode, async () => {
      const saved = mode === 'apply' ? await savedPlanAt(args, context) : undefined;
      if (saved !== undefined) return withClient(context, (client) => applySaved(context, client, saved));
      const loaded = await loadSet(context, args);
      return withClient(context, async (client) => {
        await resume(context, client, setNameOf(context.options, loaded.documents));
        return replanWhenOvertaken(context, client, async () => {
          const planned = await planOf(context, client, loaded, mode);
          const { plan } = planned;
          await printPlan(context, plan, mode);
          if (plan.steps.length === 0) return plan.guards.length > 0 ? exitCodes.guard : exitCodes.ok;
          requireNoRefusals(context.options, plan);
          await confirm(context, question(mode));
          return planned;
        });
      });
    });
  };
}

/** The preseed document of a file, or of stdin. */
export const preseed: Run<PreseedOptions> = (context, [file = '-']) =>
  apply({ ...context, options: { ...context.options, autoApprove: true } }, [file]);

/** Carries out exactly the saved plan without asking again; exit code 3 when it is stale. */
async function applySaved(context: Context<ApplyOptions>, client: Client, saved: SavedPlan): Promise<ExitCode> {
  await resume(context, client, saved.set);
  const planned = await planAgain(context, client, saved);
  const { plan } = planned;
  if (context.isJson) await printPlan(context, plan, saved.mode);
  if (plan.steps.length === 0) {
    context.out('The plan is already carried out.');
    return plan.guards.length > 0 ? exitCodes.guard : exitCodes.ok;
  }
  requireNoRefusals(context.options, plan);
  const { OvertakenError } = await import('../../../engine/runs/set-run.ts');
  const code = await carryOut(context, client, planned).catch((error: unknown) => {
    throw error instanceof OvertakenError ? new CliError(error.message, exitCodes.stale, error) : error;
  });
  return code === exitCodes.ok ? exitCodeOfPlan(plan, context.options.detailedExitcode) : code;
}

const question = (mode: Plan['mode']): string =>
  mode === 'apply' ? 'Do you want to perform these actions?' : 'Do you really want to destroy all of this?';

async function applyOnHosts(
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
    const plans = await import('../planning/plan.ts');
    return saved === undefined
      ? plans.showFleetPlan(context, fleet, args, mode)
      : plans.dryRunSaved(context, fleet, saved);
  }
  const { rollOut, rollOutSaved } = await import('./rollout.ts');
  return traceVerb(context, mode, () =>
    saved === undefined ? rollOut(context, fleet, args, mode) : rollOutSaved(context, fleet, saved),
  );
}
