// `gantry controller prune` and `approve`: shows what a set would delete beyond its limit, and approves it for the revision that was shown.
import type { Operation, PruneGate } from '../../../controller/contract/index.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { usageError } from '../../errors/usage-error.ts';
import type { Context, Run } from '../../session/context.ts';
import { short } from './answer.ts';
import { inSet, readOverview, withApi } from './controller-api.ts';
import type { ApproveOptions, PruneOptions } from './controller-verbs.ts';

export const prune: Run<PruneOptions> = (context, [set = '']) =>
  pruneSet(context, set, context.options.approve === true);

export const approve: Run<ApproveOptions> = (context, [set = '']) => pruneSet(context, set, true);

async function pruneSet(context: Context<ApproveOptions>, set: string, isApproved: boolean): Promise<ExitCode> {
  const { reason } = context.options;
  if (isApproved && reason === undefined) throw usageError('--reason says to others why the objects are deleted');
  return withApi(context, async (api) => {
    const { pruneGate } = (await readOverview(api, set)).sets[0] ?? {};
    if (pruneGate === undefined) {
      context.json(JSON.stringify({ type: 'prune_gate', set }));
      context.out(`No deletion of the set ${set} waits for an approval.`);
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
  ...hosts.map(({ host, count, objects }) => {
    const more = count > objects.length ? ` and ${count - objects.length} more` : '';
    return `  ${host}: ${objects.join(', ')}${more}`;
  }),
];
