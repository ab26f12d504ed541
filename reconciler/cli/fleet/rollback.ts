// `gantry rollback --hosts`: plans on each host the documents of a revision of its own, asks once, and rolls back batch by batch as
// `apply` rolls out.
import type { Host } from '../../manifest/hosts-file.ts';
import { planBack, readBack, type Back } from '../commands/rollback.ts';
import type { OpenContext } from '../context.ts';
import { confirm } from '../confirm.ts';
import type { ExitCode } from '../exit-codes.ts';
import { dryRunKind } from '../options.ts';
import { messageOf } from '../revision.ts';
import { parseRevision } from '../revisions.ts';
import { withClient } from '../session.ts';
import { usageError } from '../usage-error.ts';
import type { Fleet } from './choose-hosts.ts';
import { eachHost } from './each-host.ts';
import { hostsToHear } from './hear.ts';
import { loadHosts, showDiagnostics, type LoadedHost, type PlannedHost } from './plan-hosts.ts';
import { refuseFleetChanges, showMaybeTried, showPlans } from './plan.ts';
import { carryOutAll, checkRolloutFlags, wherein } from './rollout.ts';

type Target = Pick<LoadedHost, 'host' | 'context'> & { readonly loaded?: LoadedHost['loaded'] };

export async function rollBackFleet(context: OpenContext, fleet: Fleet, number: string | undefined): Promise<ExitCode> {
  messageOf(context);
  checkRolloutFlags(context);
  const dryRun = dryRunKind(context.options);
  const wanted = number === undefined ? undefined : parseRevision(number);
  const targets: readonly Target[] =
    (context.options.file ?? []).length === 0 ? hostsToHear(context, fleet) : await loadHosts(context, fleet, []);
  const backs = new Map<Host, Back>();
  const outcomes = await eachHost(
    targets.map(({ host }) => host),
    async (host): Promise<PlannedHost> => {
      const target = targets.find((one) => one.host === host);
      if (target === undefined) throw new Error(`the host ${host.name} was not chosen`);
      const own = target.context;
      return withClient(own, async (client) => {
        const back = await readBack(own, client, wanted, target.loaded?.documents ?? []);
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
  if (wanted !== undefined) refuseStrangers(wanted, backs);
  for (const { host, context: own } of targets) tellRevision(own, backs.get(host));
  if (dryRun !== undefined) return showMaybeTried(context, outcomes, 'text');
  await showPlans(context, outcomes, 'apply');
  refuseFleetChanges(context, outcomes);
  return carryOutAll(context, outcomes, 'apply', (batches, hosts) =>
    confirm(context, `Do you want to go back ${wherein(hosts, batches)}?`),
  );
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
      'leave the number out (each goes back to its last good one), or choose hosts that agree with --host',
  );
}
