// `gantry controller prune`: shows what a set would delete beyond its limit, and approves it for the revision that was shown.
import type { Operation, Overview, PruneGate } from '../../../controller/http/contract.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { CliError, usageError } from '../../errors/usage-error.ts';
import type { Run } from '../../session/context.ts';
import { openApi } from './controller-api.ts';
import type { PruneOptions } from './controller-verbs.ts';

export const prune: Run<PruneOptions> = async (context, [set = '']) => {
  const { approve, reason } = context.options;
  if (approve === true && reason === undefined) throw usageError('--reason says to others why the objects are deleted');
  const api = await openApi(context);
  try {
    const { sets } = await api.get<Overview>('/api/v1/overview');
    const found = sets.find(({ name }) => name === set);
    if (found === undefined) {
      const known = sets.map(({ name }) => name).join(', ');
      throw new CliError(`The controller has no set ${set}: it has ${known}`, exitCodes.error);
    }
    const { pruneGate } = found;
    if (pruneGate === undefined) {
      context.out(`No deletion of the set ${set} waits for an approval.`);
      return exitCodes.ok;
    }
    for (const line of linesOf(pruneGate)) context.out(line);
    if (approve !== true) {
      context.out(`gantry controller prune ${set} --approve --reason TEXT deletes them.`);
      return exitCodes.ok;
    }
    const body = { revision: pruneGate.revision, reason };
    const operation = await api.post<Operation>(`/api/v1/sets/${encodeURIComponent(set)}/prune`, body);
    context.json(JSON.stringify(operation));
    context.out(`They are deleted now (run ${operation.id}).`);
    return exitCodes.ok;
  } finally {
    await api.close();
  }
};

const linesOf = ({ revision, hosts }: PruneGate): readonly string[] => [
  `Revision ${revision.replace(/^sha256:/, '').slice(0, 12)} no longer declares:`,
  ...hosts.map(({ host, count, objects }) => {
    const more = count > objects.length ? ` and ${count - objects.length} more` : '';
    return `  ${host}: ${objects.join(', ')}${more}`;
  }),
];
