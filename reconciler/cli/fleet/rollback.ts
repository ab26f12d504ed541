// `gantry rollback --hosts`: plans on each host the documents of a revision of its own, asks once, and rolls back batch by batch as
// `apply` rolls out.
import type { Host } from '../../manifest/hosts-file.ts';
import { namedInFleet, previousOfFleet, type FleetRevision } from '../../core/history/fleet-revision.ts';
import { planBack, readBack, wantedRevision, type Back } from '../verbs/applying/rollback.ts';
import type { OpenContext } from '../session/context.ts';
import { confirm } from '../session/confirm.ts';
import { exitCodes, type ExitCode } from '../errors/exit-codes.ts';
import { dryRunKind } from '../flags/plan-flags.ts';
import type { RollbackOptions } from '../verbs/applying/applying-verbs.ts';
import { messageOf } from '../session/revision.ts';
import { readRevisions } from '../verbs/applying/revisions.ts';
import { withClient } from '../session/connect.ts';
import { CliError, usageError } from '../errors/usage-error.ts';
import type { Fleet } from './choose-hosts.ts';
import { eachHost } from './each-host.ts';
import { hostsToHear } from './ask-hosts.ts';
import { loadHosts, showDiagnostics, type LoadedHost, type PlannedHost } from './plan-hosts.ts';
import { refuseFleetChanges, showMaybeTried, showPlans } from './plan.ts';
import { carryOutAll, checkRolloutFlags, wherein } from './rollout.ts';

type Target = Pick<LoadedHost<RollbackOptions>, 'host' | 'context'> & { readonly loaded?: LoadedHost['loaded'] };

export async function rollBackFleet(
  context: OpenContext<RollbackOptions>,
  fleet: Fleet,
  number: string | undefined,
): Promise<ExitCode> {
  messageOf(context);
  checkRolloutFlags(context);
  const dryRun = dryRunKind(context.options);
  const wanted = wantedRevision(number);
  const targets: readonly Target[] =
    (context.options.file ?? []).length === 0 ? hostsToHear(context, fleet) : await loadHosts(context, fleet, []);
  const choice = typeof wanted === 'number' ? undefined : await chooseRevision(context, targets, wanted);
  const backs = new Map<Host, Back>();
  const outcomes = await eachHost(
    targets.map(({ host }) => host),
    async (host): Promise<PlannedHost> => {
      const target = targets.find((one) => one.host === host);
      if (target === undefined) throw new Error(`the host ${host.name} was not chosen`);
      const own = target.context;
      return withClient(own, async (client) => {
        const number = choice === undefined ? wanted : numberOn(host, choice);
        const back = await readBack(own, client, number, target.loaded?.documents ?? []);
        backs.set(host, back);
        const planned = await planBack(own, client, back);
        return { host, context: own, isUnselected: false, planned, replan: (again) => planBack(own, again, back) };
      });
    },
    context.stop,
  );
  await showDiagnostics(
    context,
    targets.map(({ host, context: own }) => ({ host, diagnostics: own.collected })),
    targets.length,
  );
  if (typeof wanted === 'number') refuseStrangers(wanted, backs);
  for (const { host, context: own } of targets) tellRevision(own, backs.get(host));
  if (dryRun !== undefined) return showMaybeTried(context, outcomes, 'text');
  await showPlans(context, outcomes, 'apply');
  refuseFleetChanges(context, outcomes);
  return carryOutAll(context, outcomes, 'apply', (batches, hosts) =>
    confirm(context, `Do you want to go back ${wherein(hosts, batches)}?`),
  );
}

/** One for all hosts that can be asked. Undefined when nothing tells which revisions of the hosts belong together: each has its own then. */
async function chooseRevision(
  context: OpenContext<RollbackOptions>,
  targets: readonly Target[],
  wanted: string | undefined,
): Promise<FleetRevision | undefined> {
  const read = await eachHost(
    targets.map(({ host }) => host),
    async (host) => {
      const own = targets.find((one) => one.host === host)?.context ?? context;
      return withClient(own, async (client) => (await readRevisions(own, client)).all);
    },
    context.stop,
  );
  const histories = read.flatMap((one) =>
    one.failure === undefined ? [{ host: one.host.name, revisions: one.value }] : [],
  );
  const choice = wanted === undefined ? previousOfFleet(histories) : namedInFleet(histories, wanted);
  if (choice === undefined && wanted !== undefined && histories.length > 0) {
    throw new CliError(
      `No host has a revision with the commit or message ${JSON.stringify(wanted)} that ended well (gantry history --hosts)`,
      exitCodes.error,
    );
  }
  if (choice === undefined) return undefined;
  context.note(`Back to ${choice.title} on all hosts`);
  if (choice.lacking.length > 0) context.note(`These hosts lack it: ${choice.lacking.join(', ')}`);
  return choice;
}

function numberOn(host: Host, { title, numbers }: FleetRevision): number {
  const number = numbers.get(host.name);
  if (number !== undefined) return number;
  const advice = 'name another commit or message, leave the host out with --host, or as it is with --keep-going';
  throw new CliError(`${host.name} has no revision of ${title} that ended well: ${advice}`, exitCodes.error);
}

function tellRevision(own: OpenContext, back: Back | undefined): void {
  if (back === undefined) return;
  const { number, at, who } = back.revision;
  own.note(`Back to revision ${number} of ${at.slice(0, 19).replace('T', ' ')} by ${who}${remarkOf(back)}`);
}

const remarkOf = ({ revision: { message, commit } }: Back): string => {
  const parts = [
    ...(message === undefined ? [] : [JSON.stringify(message)]),
    ...(commit === undefined ? [] : [commit]),
  ];
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
};

/** Each host counts its own revisions: one number may stand for different things. */
function refuseStrangers(number: number, backs: ReadonlyMap<Host, Back>): void {
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
    `revision ${number} is not the same on all hosts, for each counts its own:${list.join('')}\n` +
      'leave the number out (all go back to the last good rollout), give a commit or a message instead, or choose hosts that agree with --host',
  );
}
