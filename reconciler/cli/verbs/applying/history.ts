// `gantry history`, `history show`, `history diff`: when, by whom and why each revision of a set was applied. Only reads.
import type { Context, Run } from '../../session/context.ts';
import type { Client } from '../../../../server/client/client.ts';
import type { Json } from '../../../core/documents/document.ts';
import type { Revision, WrittenDocument } from '../../../core/history/revisions.ts';
import { utcSecond } from '../../../core/text/times.ts';
import { printable } from '../../../core/text/terminal-text.ts';
import { unifiedDiff } from '../../../core/text/unified-diff.ts';
import { cutHash, holdsCuts, shownDocument } from '../../../core/history/revision-secrets.ts';
import { formatOf } from '../../flags/output-flags.ts';
import type { HistoryOptions } from './applying-verbs.ts';
import { different, withDiffCodes } from '../../errors/diff-codes.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { setNameOf } from '../../flags/set-name.ts';
import { askHosts, failureCode, jsonRows, renderHosts } from '../../hosts/ask-hosts.ts';
import { documentsOf, outcomeOf, parseRevision, readRevisions, revisionAt, type Revisions } from './revisions.ts';
import { withClient } from '../../session/connect.ts';
import { yamlText } from '../../../manifest/text/yaml-text.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export const history: Run<HistoryOptions> = async (context, _args, fleet) => {
  const format = context.isJson ? 'json' : formatOf(context.options.output, ['table', 'json']);
  const answers = await askHosts(context, fleet, (own) => withClient(own, (client) => readEntries(own, client)));
  const rows = jsonRows(answers, ({ entries }) => entries);
  if (context.isJson) context.jsonObjects(rows);
  else if (format === 'json') context.io.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
  else if (fleet === undefined && rows.length === 0)
    context.out(`No revisions of the set ${setNameOf(context.options, [])} yet.`);
  else
    context.out(
      renderHosts(context, fleet, answers, {
        head: ['REVISION', 'WHEN', 'WHO', 'COMMIT', 'CHANGES', 'RESULT', 'MESSAGE'],
        rows: ({ entries }) => (entries.length === 0 ? [['', '', '', '', '', 'none yet']] : entries.map(rowOf)),
        failed: (word, message) => ['', '', '', '', '', word, message],
      }),
    );
  return failureCode(answers);
};

/** The newest first. */
async function readEntries(
  context: Context<HistoryOptions>,
  client: Client,
): Promise<{ readonly entries: readonly HistoryEntry[] }> {
  const revisions = await readRevisions(context, client);
  return { entries: revisions.all.toReversed().map((one) => jsonOf(revisions, one)) };
}

/** A revision as JSON. */
interface HistoryEntry {
  readonly set: string;
  readonly number: number;
  readonly at: string;
  readonly who: string;
  readonly mode: Revision['mode'];
  readonly outcome: string;
  readonly message?: string;
  readonly commit?: string;
  readonly rollback_of?: number;
  readonly partial: boolean;
  readonly summary: Revision['counts'];
  readonly changes: readonly string[];
  /** Addresses that guards protected. */
  readonly refused?: readonly string[];
  readonly failed?: number;
  /** Whether its documents are still stored, for a rollback. */
  readonly kept: boolean;
}

function jsonOf(revisions: Revisions, one: Revision): HistoryEntry {
  const { number, at, who, mode, message, commit, rollbackOf, isPartial, counts, changes, refused, failed } = one;
  return {
    set: revisions.set,
    number,
    at,
    who,
    mode,
    outcome: outcomeOf(revisions, one).replace(/ \(.*/, ''),
    ...withoutUndefined({ message, commit, rollback_of: rollbackOf }),
    partial: isPartial === true,
    summary: counts,
    changes,
    ...withoutUndefined({ refused, failed }),
    kept: one.documents !== undefined,
  };
}

function rowOf({
  number,
  at,
  who,
  commit,
  summary,
  partial,
  mode,
  outcome,
  failed,
  ...one
}: HistoryEntry): readonly string[] {
  const result = outcome === 'failed' ? `failed (${failed ?? 0})` : outcome;
  return [
    String(number),
    utcSecond(at),
    printable(who),
    commit === undefined ? '' : `${printable(commit).slice(0, 10)}${commit.endsWith('+') ? '+' : ''}`,
    `+${summary.add} ~${summary.change} -${summary.destroy}${partial ? ' (part)' : ''}`,
    `${mode === 'destroy' ? 'destroy ' : ''}${result}`,
    printable((one.message ?? '').replaceAll('\n', ' ')),
  ];
}

export const historyShow: Run<HistoryOptions> = async (context, [number = '']) => {
  const format = context.isJson ? 'json' : formatOf(context.options.output, ['yaml', 'json']);
  const wanted = parseRevision(number);
  return withClient(context, async (client) => {
    const revisions = await readRevisions(context, client);
    const revision = revisionAt(revisions, wanted);
    const documents = documentsOf(revisions, revision);
    if (format === 'json') {
      const shown = { ...jsonOf(revisions, revision), documents: documents.map(shownDocument) };
      context.io.stdout.write(`${JSON.stringify(shown, null, context.isJson ? 0 : 2)}\n`);
    } else context.io.stdout.write(yamlOf(revisions, revision, documents));
    return exitCodes.ok;
  });
};

function yamlOf(revisions: Revisions, revision: Revision, documents: readonly WrittenDocument[]): string {
  const { number, at, who, message, commit, rollbackOf } = revision;
  const head = [
    `# Revision ${number} of the set ${revisions.set}: ${outcomeOf(revisions, revision)}, ${at} by ${printable(who)}`,
    ...(message === undefined ? [] : [`# ${printable(message).replaceAll('\n', '\n# ')}`]),
    ...(commit === undefined ? [] : [`# commit ${printable(commit)}`]),
    ...(rollbackOf === undefined ? [] : [`# back to revision ${rollbackOf}`]),
    ...revision.changes.map((change) => `#   ${printable(change)}`),
    ...(revision.refused ?? []).map((address) => `#   refused: ${printable(address)}`),
    ...(documents.some(({ value }) => holdsCuts(value))
      ? ['# Secrets are not kept: from_env stands where one was written.']
      : []),
  ].join('\n');
  const texts = documents.map((one) => `---\n${toYaml(shownDocument(one))}`);
  return `${head}\n${texts.join('')}`;
}

const toYaml = (value: Json): string => yamlText(value, { lineWidth: 0, aliasDuplicateObjects: false });

/** Without a second number, compares with the newest revision. */
export const historyDiff: Run<HistoryOptions> = async (context, args) => {
  const [first, second] = args.map(parseRevision);
  return withDiffCodes(() =>
    withClient(context, async (client) => {
      const revisions = await readRevisions(context, client);
      const before = revisionAt(revisions, first ?? 0);
      const after = revisionAt(revisions, second ?? revisions.all.at(-1)?.number ?? 0);
      const text = difference(revisions, before, after);
      context.io.stdout.write(context.isJson ? `${JSON.stringify({ diff: text })}\n` : text);
      return text === '' ? exitCodes.ok : different;
    }),
  );
};

function difference(revisions: Revisions, before: Revision, after: Revision): string {
  const [a, b] = [before, after].map((one) => new Map(documentsOf(revisions, one).map((each) => [each.address, each])));
  const addresses = [...new Set([...(a?.keys() ?? []), ...(b?.keys() ?? [])])].sort();
  return addresses
    .map((address) => {
      const [old, now] = [a?.get(address), b?.get(address)];
      const text = unifiedDiff(textOf(old), textOf(now));
      if (text === '') return '';
      const name = printable(address);
      const from = old === undefined ? '/dev/null' : `revision ${before.number}/${name}`;
      return `--- ${from}\n+++ ${now === undefined ? '/dev/null' : `revision ${after.number}/${name}`}\n${text}`;
    })
    .join('');
}

/** Shows secrets as the first digits of their hashes, so that equal ones look equal. */
function textOf(document: WrittenDocument | undefined): string {
  const walk = (value: Json): Json => {
    const hash = cutHash(value);
    if (hash !== undefined) return `(secret ${hash.slice(0, 4)})`;
    if (Array.isArray(value)) return (value as readonly Json[]).map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  return document === undefined ? '' : printable(toYaml(walk(document.value)));
}
