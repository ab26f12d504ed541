// `gantry drift`: how each host differs from the manifests and the last apply, with changes that watchers recorded. Its client
// cannot write.
import type { Client } from '../../../../server/client/client.ts';
import type { DriftReport } from '../../../core/drift/drift.ts';
import type { Address, IgnoreRule } from '../../../core/documents/document.ts';
import { notesIn } from '../../../core/ownership/project-notes.ts';
import { readHistory } from '../../../core/history/revisions.ts';
import type { LifecycleChange } from '../../../core/drift/lifecycle-changes.ts';
import type { Context, Run, Output } from '../../session/context.ts';
import { formatOf } from '../../flags/output-flags.ts';
import { ignoreRules } from './ignore-rules.ts';
import type { DriftOptions } from './planning-verbs.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { askLoaded, errorOf, worstCodeOf, type Answer } from '../../hosts/ask-hosts.ts';
import type { Loaded } from '../../../manifest/load-contract.ts';
import { paintFor } from '../../output/paint.ts';
import { readerOf } from '../../session/read-only-client.ts';
import { jsonLine } from '../../output/render-json.ts';
import { hostName, withClient } from '../../session/connect.ts';
import { planOf, type SetPlan } from '../../session/plan.ts';

const formats = ['text', 'json', 'markdown'] as const;
type Format = (typeof formats)[number];

export const drift: Run<DriftOptions> = async (context, args, fleet) => {
  const { options } = context;
  const format = formatOf(options.output, formats);
  if (options.watch === true) return (await import('./drift-watch.ts')).watchDrift(context, args, fleet);
  const ignore = ignoreRules(context, options.ignore);
  const answers = await askLoaded(context, fleet, args, async (own, loaded) => {
    const report = await reportOn(own, loaded, ignore);
    if (own.isJson) await writeLines(own, report);
    return { report, code: report.objects.length > 0 && options.exitCode !== false ? exitCodes.changes : exitCodes.ok };
  });
  if (!context.isJson) await (fleet === undefined ? showReport : showReports)(context, answers, format);
  return worstCodeOf(answers);
};

interface HostDrift {
  readonly report: DriftReport;
  readonly code: ExitCode;
}

async function reportOn(
  context: Context<DriftOptions>,
  loaded: Loaded,
  ignore: readonly IgnoreRule[],
): Promise<DriftReport> {
  const { findDrift } = await import('../../../core/drift/drift.ts');
  return withClient(context, async (client) => {
    const planned = await planOf(context, readerOf(client), loaded, 'apply');
    const { plan, observed, owner } = planned;
    return findDrift({ plan, observed, owner, ignore, seen: await seenSince(context, client, planned) });
  });
}

/** Changes that watchers on this machine recorded since the last apply of the set; earlier ones cannot explain differences. */
async function seenSince(
  context: Context<DriftOptions>,
  client: Client,
  { observed, owner }: SetPlan,
): Promise<ReadonlyMap<Address, LifecycleChange>> {
  const [{ readSeen }, { stateDirectory }] = await Promise.all([
    import('../../../engine/observe/change-log.ts'),
    import('../../../engine/runs/journal.ts'),
  ]);
  const last = readHistory(notesIn(observed), owner.set).revisions.at(-1)?.at;
  const place = { directory: stateDirectory(context.io.env), host: hostName(context, client) };
  if (last === undefined) return new Map();
  const { CertificateBook } = await import('../../../engine/observe/certificate-names.ts');
  const book = new CertificateBook((kind, signal) => client.list(kind, signal));
  const seen = await book.name([...(await readSeen(place, last)).values()], context.stop);
  return new Map(seen.map((one) => [one.address, one]));
}

async function writeLines(context: Output, report: DriftReport): Promise<void> {
  const { driftJson, driftLine } = await import('../../../core/drift/render-drift.ts');
  const { objects, ...rest } = driftJson(report);
  const atMs = context.io.nowMs();
  for (const object of Array.isArray(objects) ? objects : [])
    context.json(jsonLine('resource_drift', (object as { address: string }).address, { change: object }, atMs));
  context.json(jsonLine('drift_summary', driftLine(report), rest, atMs));
}

async function showReport(context: Output, answers: readonly Answer<HostDrift>[], format: Format): Promise<void> {
  const { driftJson, driftMarkdown, renderDrift } = await import('../../../core/drift/render-drift.ts');
  for (const { value } of answers.filter((one) => one.failure === undefined)) {
    if (format === 'json') context.io.stdout.write(`${JSON.stringify(driftJson(value.report), null, 2)}\n`);
    else if (format === 'markdown') context.io.stdout.write(driftMarkdown(value.report));
    else context.out(renderDrift(value.report, { color: context.color }).trimEnd());
  }
}

async function showReports(context: Output, answers: readonly Answer<HostDrift>[], format: Format): Promise<void> {
  const { driftJson, driftMarkdown, renderDrift } = await import('../../../core/drift/render-drift.ts');
  if (format === 'json') {
    const hosts = answers.map((one) => ({
      host: one.host?.name,
      address: one.host?.address,
      ...(one.failure === undefined ? driftJson(one.value.report) : errorOf(one)),
    }));
    context.io.stdout.write(`${JSON.stringify({ format_version: '1.0', hosts }, null, 2)}\n`);
    return;
  }
  const paint = paintFor(context.color);
  const isMarkdown = format === 'markdown';
  for (const { host, value } of answers.filter((one) => one.failure === undefined)) {
    const name = host?.name ?? '';
    const head = isMarkdown ? `## ${name}` : paint.bold(`Host ${name}`);
    const text = isMarkdown ? `\n${driftMarkdown(value.report)}` : renderDrift(value.report, { color: context.color });
    context.out(`${head} (${host?.address ?? ''})\n${text.trimEnd()}\n`);
  }
  context.out(driftSummary(answers));
}

function driftSummary(answers: readonly Answer<HostDrift>[]): string {
  const names = (fits: (one: Answer<HostDrift>) => boolean): string =>
    answers.flatMap((one) => (fits(one) ? [one.host?.name] : [])).join(', ');
  const drifted = names((one) => one.failure === undefined && one.value.code === exitCodes.changes);
  const unheard = names((one) => one.failure !== undefined);
  const what = drifted === '' ? 'No host drifted' : `Drifted: ${drifted}`;
  return `${what}${unheard === '' ? '' : `; not checked: ${unheard}`}.`;
}
