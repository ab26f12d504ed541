// `gantry controller prune` and `approve`: shows what a set would delete beyond its limit, and approves it for the revision that was shown.
import type { ApprovalStatus, Operation, PruneGate } from '../../../controller/contract/index.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { usageError } from '../../errors/usage-error.ts';
import type { Context, Run, RunOf } from '../../session/context.ts';
import { short } from './answer.ts';
import { inSet, readOverview, withApi } from './controller-api.ts';
import { lineOfHost, linesOfPlan } from './explain-set.ts';
import type { controllerApprove, PruneOptions } from './controller-verbs.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export const prune: Run<PruneOptions> = (context, [set = '']) =>
  pruneSet(context, set, context.options.approve === true);

export const approve: RunOf<typeof controllerApprove> = async (context, [set = '']) => {
  const { reason, host } = context.options;
  if (reason === undefined) throw usageError('--reason says to others why this is done');
  const isDone = await withApi(context, async (api) => {
    const { approvalGate: gate } = (await readOverview(api, set)).sets[0] ?? {};
    if (gate === undefined) return false;
    for (const line of linesOfPlan(gate)) context.out(line);
    const { plan, revision } = gate;
    const body = { revision, plan, reason, ...withoutUndefined({ hosts: host }) };
    const approval = await api.post<ApprovalStatus>(inSet(set, 'approve'), body);
    context.json(JSON.stringify(approval));
    context.out(`It is approved until ${approval.until}.`);
    return true;
  });
  return isDone ? exitCodes.ok : pruneSet(context, set, true);
};

async function pruneSet(context: Context<PruneOptions>, set: string, isApproved: boolean): Promise<ExitCode> {
  const { reason } = context.options;
  if (isApproved && reason === undefined) throw usageError('--reason says to others why the objects are deleted');
  return withApi(context, async (api) => {
    const { pruneGate } = (await readOverview(api, set)).sets[0] ?? {};
    if (pruneGate === undefined) {
      context.json(JSON.stringify({ type: 'prune_gate', set }));
      context.out(`Nothing of the set ${set} waits for an approval.`);
      return exitCodes.ok;
    }
    for (const line of linesOf(pruneGate)) context.out(line);
    if (!isApproved) {
      context.json(JSON.stringify({ type: 'prune_gate', set, ...pruneGate }));
      context.out(`gantry controller prune ${set} --approve --reason TEXT deletes them.`);
      return exitCodes.ok;
    }
    const operation = await api.post<Operation>(inSet(set, 'prune'), { revision: pruneGate.revision, reason });
    context.json(JSON.stringify(operation));
    context.out(`They are deleted now (run ${operation.id}).`);
    return exitCodes.ok;
  });
}

const linesOf = ({ revision, hosts }: PruneGate): readonly string[] => [
  `Revision ${short(revision)} no longer declares:`,
  ...hosts.map(({ host, count, objects }) => lineOfHost(host, objects, count)),
];
