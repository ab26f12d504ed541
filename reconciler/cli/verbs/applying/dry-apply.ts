// `gantry apply --dry-run` and `gantry destroy --dry-run`: prints the plan, and with `server` its outcome on a copy of the daemon.
import type { Client } from '../../../../server/client/client.ts';
import type { Plan } from '../../../core/plan/plan.ts';
import type { Loaded } from '../../../manifest/load-contract.ts';
import type { Context } from '../../session/context.ts';
import { showTried, tryPlan } from '../planning/dry-run.ts';
import { exitCodeOfPlan, type ExitCode } from '../../errors/exit-codes.ts';
import type { DryRunKind, PlanFlagOptions, RunOptions, ApplyOptions } from '../../flags/plan-flags.ts';
import { planAgain, savedPlanAt } from '../planning/saved-plan.ts';
import { loadSet } from '../../session/load-set.ts';
import { planOf, type SetPlan } from '../../session/plan.ts';
import { printPlan } from '../../session/show-plan.ts';
import { withClient } from '../../session/connect.ts';

export async function dryApply(
  context: Context<ApplyOptions>,
  args: readonly string[],
  mode: Plan['mode'],
  kind: DryRunKind,
): Promise<ExitCode> {
  const saved = mode === 'apply' ? await savedPlanAt(args, context) : undefined;
  if (saved !== undefined) {
    return withClient(context, async (client) =>
      dryRunOf(context, client, await planAgain(context, client, saved), kind),
    );
  }
  const loaded = await loadSet(context, args);
  return withClient(context, async (client) =>
    dryRunOf(context, client, await planOf(context, client, loaded, mode), kind, loaded.locate),
  );
}

/** The dry run of an existing plan. */
export async function dryRunOf(
  context: Context<PlanFlagOptions & RunOptions>,
  client: Client,
  planned: SetPlan,
  kind: DryRunKind,
  locate?: Loaded['locate'],
): Promise<ExitCode> {
  const { plan } = planned;
  await printPlan(context, plan, plan.mode);
  const tried = kind === 'server' ? await tryPlan(context, client, planned) : undefined;
  if (tried !== undefined) await showTried(context, tried, locate);
  return exitCodeOfPlan(plan, context.options.detailedExitcode, tried?.result);
}
