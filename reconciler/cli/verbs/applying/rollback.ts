// `gantry rollback`, on one host or on several: plans an earlier revision, asks, and applies it.
import type { Client } from '../../../../server/client/client.ts';
import { confirm } from '../../session/confirm.ts';
import type { Context, Run } from '../../session/context.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { dryRunKind } from '../../flags/plan-flags.ts';
import type { RollbackOptions } from './applying-verbs.ts';
import { requireNoRefusals } from './refused-parts.ts';
import { messageOf } from '../../session/revision.ts';
import { traceVerb } from '../../session/trace-verb.ts';
import { loadSet } from '../../session/load-set.ts';
import type { SetPlan } from '../../session/plan.ts';
import { printPlan } from '../../session/show-plan.ts';
import { withClient } from '../../session/connect.ts';
import { replanWhenOvertaken } from './carry-out.ts';
import { planRollback, readRollbackSource, wantedRevision, type RollbackSource } from './plan-rollback.ts';

export const rollback: Run<RollbackOptions> = (context, args, fleet) =>
  dryRunKind(context.options) === undefined
    ? traceVerb(context, 'rollback', () => rollBack(context, args, fleet))
    : rollBack(context, args, fleet);

const rollBack: Run<RollbackOptions> = async (context, [number], fleet) => {
  messageOf(context);
  if (fleet !== undefined) return (await import('./rollback-on-hosts.ts')).rollBackHosts(context, fleet, number);
  const wanted = wantedRevision(number);
  const given = (context.options.file ?? []).length === 0 ? undefined : await loadSet(context, []);
  return withClient(context, async (client) => {
    const source = await readRollbackSource(context, client, wanted, given?.documents ?? []);
    return replanWhenOvertaken(context, client, () => approvedRollback(context, client, source));
  });
};

/** The plan that the user has approved, or the exit code when there is nothing to carry out. */
async function approvedRollback(
  context: Context<RollbackOptions>,
  client: Client,
  back: RollbackSource,
): Promise<SetPlan | ExitCode> {
  const planned = await planRollback(context, client, back);
  const { plan } = planned;
  const dryRun = dryRunKind(context.options);
  if (dryRun !== undefined) return (await import('./dry-apply.ts')).dryRunOf(context, client, planned, dryRun);
  await printPlan(context, plan, 'apply');
  if (plan.steps.length === 0) {
    if (plan.guards.length > 0) return exitCodes.guard;
    context.out(`The host already matches revision ${back.revision.number}.`);
    return exitCodes.ok;
  }
  requireNoRefusals(context.options, plan);
  await confirm(context, `Do you want to roll back to revision ${back.revision.number}?`);
  return planned;
}
