// `gantry rollback`, on one host or several: plans an earlier revision, asks once, and applies it, batch by batch on several
// hosts, each of which stores its own new revision.
import type { Client } from '../../../../server/client/client.ts';
import { confirm } from '../../session/confirm.ts';
import type { Context, Fleet, Output, Run } from '../../session/context.ts';
import { type ExitCode, exitCodes } from '../../errors/exit-codes.ts';
import { dryRunKind } from '../../flags/plan-flags.ts';
import type { RollbackOptions } from './applying-verbs.ts';
import { requireNoRefusals } from './refused-parts.ts';
import { messageOf } from '../../session/revision.ts';
import { traceVerb } from '../../session/trace-verb.ts';
import { loadSet } from '../../session/load-set.ts';
import type { SetPlan } from '../../session/plan.ts';
import { printPlan } from '../../session/show-plan.ts';
import { utcSecond } from '../../../core/text/times.ts';
import { withClient } from '../../session/connect.ts';
import { replanWhenOvertaken } from './carry-out.ts';
import { type RollbackSource, planRollback, readRollbackSource, wantedRevision } from './plan-rollback.ts';
import type { Host } from '../../../manifest/hosts-file.ts';
import { type FleetRevision, namedInFleet, previousOfFleet } from '../../../core/history/fleet-revision.ts';
import { readRevisions } from './revisions.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { eachHost } from '../../hosts/each-host.ts';
import { hostsToAsk } from '../../hosts/ask-hosts.ts';
import { type LoadedHost, loadHosts, showDiagnostics } from '../../hosts/load-hosts.ts';
import type { PlannedHost } from '../planning/plan-hosts.ts';
import { refuseFleetChanges, showPlans, showPlansOrDryRuns } from '../planning/plan.ts';
import { carryOutInBatches, checkRolloutFlags, hostsAndBatches } from './rollout.ts';

export const rollback: Run<RollbackOptions> = (context, args, fleet) =>
  dryRunKind(context.options) === undefined
    ? traceVerb(context, 'rollback', () => rollBack(context, args, fleet))
    : rollBack(context, args, fleet);

const rollBack: Run<RollbackOptions, ExitCode> = async (context, [number], fleet) => {
  messageOf(context);
  if (fleet !== undefined) return rollBackHosts(context, fleet, number);
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

type Target = Pick<LoadedHost<RollbackOptions>, 'host' | 'context'> & { readonly loaded?: LoadedHost['loaded'] };

async function rollBackHosts(
  context: Context<RollbackOptions>,
  fleet: Fleet,
  number: string | undefined,
): Promise<ExitCode> {
  checkRolloutFlags(context);
  const dryRun = dryRunKind(context.options);
  const wanted = wantedRevision(number);
  const targets: readonly Target[] =
    (context.options.file ?? []).length === 0 ? hostsToAsk(context, fleet) : await loadHosts(context, fleet, []);
  const choice = typeof wanted === 'number' ? undefined : await chooseRevision(context, targets, wanted);
  const backs = new Map<Host, RollbackSource>();
  const outcomes = await eachHost(
    targets,
    ({ host, context: own, loaded }) =>
      withClient(own, async (client): Promise<PlannedHost> => {
        const number = choice === undefined ? wanted : numberOn(host, choice);
        const back = await readRollbackSource(own, client, number, loaded?.documents ?? []);
        backs.set(host, back);
        const planned = await planRollback(own, client, back);
        return { host, context: own, isUnselected: false, planned, replan: (again) => planRollback(own, again, back) };
      }),
    context.stop,
  );
  await showDiagnostics(
    context,
    targets.map(({ host, context: own }) => ({ host, diagnostics: own.collected })),
    targets.length,
  );
  if (typeof wanted === 'number') refuseDifferentRevisions(wanted, backs);
  for (const { host, context: own } of targets) noteRevision(own, backs.get(host));
  if (dryRun !== undefined) return showPlansOrDryRuns(context, outcomes, 'text');
  await showPlans(context, outcomes, 'apply');
  refuseFleetChanges(context, outcomes);
  return carryOutInBatches(context, outcomes, 'apply', (batches, hosts) =>
    confirm(context, `Do you want to roll back ${hostsAndBatches(hosts, batches)}?`),
  );
}

/** One revision for all reachable hosts. Undefined if revisions cannot be matched across hosts: each host then uses its own. */
async function chooseRevision(
  context: Context<RollbackOptions>,
  targets: readonly Target[],
  wanted: string | undefined,
): Promise<FleetRevision | undefined> {
  const read = await eachHost(
    targets,
    ({ context: own }) => withClient(own, async (client) => (await readRevisions(own, client)).all),
    context.stop,
  );
  const histories = read.flatMap((one) =>
    one.failure === undefined ? [{ host: one.host.name, revisions: one.value }] : [],
  );
  const choice = wanted === undefined ? previousOfFleet(histories) : namedInFleet(histories, wanted);
  if (choice === undefined && wanted !== undefined && histories.length > 0) {
    throw commandError(
      `No host has a revision with the commit or message ${JSON.stringify(wanted)} that succeeded (gantry history --hosts)`,
    );
  }
  if (choice === undefined) return undefined;
  context.note(`Rolling back all hosts to ${choice.title}`);
  if (choice.lacking.length > 0) context.note(`These hosts lack it: ${choice.lacking.join(', ')}`);
  return choice;
}

function numberOn(host: Host, { title, numbers }: FleetRevision): number {
  const number = numbers.get(host.name);
  if (number !== undefined) return number;
  const advice = 'name another commit or message, leave the host out with --host, or as it is with --keep-going';
  throw commandError(`${host.name} has no revision of ${title} that succeeded: ${advice}`);
}

function noteRevision(own: Output, back: RollbackSource | undefined): void {
  if (back === undefined) return;
  const { number, at, who } = back.revision;
  own.note(`Rolling back to revision ${number} of ${utcSecond(at)} by ${who}${remarkOf(back)}`);
}

const remarkOf = ({ revision: { message, commit } }: RollbackSource): string => {
  const parts = [
    ...(message === undefined ? [] : [JSON.stringify(message)]),
    ...(commit === undefined ? [] : [commit]),
  ];
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
};

/** Each host counts its own revisions, so one number may mean different ones. */
function refuseDifferentRevisions(number: number, backs: ReadonlyMap<Host, RollbackSource>): void {
  const byRemark = new Map<string, string[]>();
  for (const [host, back] of backs) {
    const remark = remarkOf(back);
    byRemark.set(remark, [...(byRemark.get(remark) ?? []), host.name]);
  }
  if (byRemark.size < 2) return;
  const list = [...byRemark].map(
    ([remark, names]) => `\n  ${names.join(', ')}:${remark === '' ? ' no message' : remark}`,
  );
  throw usageError(
    `revision ${number} differs between hosts, since each host counts its own revisions:${list.join('')}\n` +
      'omit the number (all hosts roll back to the last successful rollout), give a commit or message, or select hosts that agree with --host',
  );
}
