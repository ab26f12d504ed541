// `gantry controller audit`: prints the audit log of a running controller.
import type { AuditCheck, AuditEntry } from '../../../controller/contract/index.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { usageError } from '../../errors/usage-error.ts';
import { paintFor } from '../../output/paint.ts';
import { renderTable } from '../../output/table.ts';
import type { Context, Run } from '../../session/context.ts';
import { printAnswer } from './answer.ts';
import { withApi, withQuery, type ControllerApi } from './controller-api.ts';
import type { AuditOptions } from './controller-verbs.ts';

const pageSize = 5000;
const head = ['AT', 'WHO', 'FROM', 'WHAT', 'SET', 'OUTCOME', 'WHY'];

export const audit: Run<AuditOptions> = async (context, [set]) => {
  const { since } = context.options;
  if (context.options.verify === true) return verify(context);
  if (since !== undefined && Number.isNaN(Date.parse(since)))
    throw usageError(`--since ${JSON.stringify(since)} is not a time such as 2030-01-31T12:00:00Z`);
  const from = since === undefined ? undefined : new Date(since).toISOString();
  const entries = await withApi(context, (api) => readAll(api, { set, since: from }));
  printAnswer(context, {
    type: 'controller_audit',
    value: entries,
    text: () =>
      entries.length === 0 ? 'Nothing was asked.' : renderTable(head, entries.map(rowOf), paintFor(context.color)),
  });
  return exitCodes.ok;
};

async function verify(context: Context<AuditOptions>): Promise<ExitCode> {
  const check = await withApi(context, (api) => api.get<AuditCheck>('/api/v1/audit/check'));
  printAnswer(context, { type: 'controller_audit_check', value: check, text: () => checkText(check) });
  return check.problems.length === 0 ? exitCodes.ok : exitCodes.error;
}

function checkText({ entries, first, last, hash, cutOff, unchained, problems }: AuditCheck): string {
  if (entries === 0) return 'The audit log is empty.';
  return [
    ...problems,
    `${entries} entries, from ${first} to ${last}${problems.length === 0 ? ': each is as it was written.' : '.'}`,
    ...(unchained === 0 ? [] : [`${unchained} of them are from a version that wrote no hashes.`]),
    ...(cutOff === 0 ? [] : [`${cutOff} lines were cut off by the end of a process.`]),
    `Keep this elsewhere, to see later whether the end is missing: ${last} ${hash}`,
  ].join('\n');
}

async function readAll(api: ControllerApi, query: Readonly<Record<'set' | 'since', string | undefined>>) {
  const all: AuditEntry[] = [];
  for (let after = 0; ; after = all.at(-1)?.number ?? after) {
    const page = await api.get<readonly AuditEntry[]>(withQuery('/api/v1/audit', { ...query, after, limit: pageSize }));
    all.push(...page);
    if (page.length < pageSize) return all;
  }
}

const rowOf = ({ at, who, from, what, set = '', outcome, why = '', message }: AuditEntry): readonly string[] => [
  at,
  who,
  from,
  what,
  set,
  outcome,
  message ?? why,
];
