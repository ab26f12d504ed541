// `gantry drift`: how the host differs from the manifests and the last apply, with changes that watchers recorded. Only reads:
// its client cannot write.
import type { Run } from '../../session/context.ts';
import type { Client } from '../../../../server/client/client.ts';
import type { DriftReport } from '../../../core/drift/drift.ts';
import type { Address } from '../../../core/documents/document.ts';
import { notesIn } from '../../../core/ownership/project-notes.ts';
import { readHistory } from '../../../core/history/revisions.ts';
import type { Seen } from '../../../core/drift/lifecycle-changes.ts';
import type { CliContext } from '../../session/context.ts';
import { formatOf } from '../../flags/output-flags.ts';
import { ignoreRules } from './ignore-rules.ts';
import type { DriftOptions } from './planning-verbs.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { readerOf } from '../../session/read-only-client.ts';
import { jsonLine } from '../../output/render-json.ts';
import { hostName, withClient } from '../../session/connect.ts';
import { loadSet } from '../../session/load-set.ts';
import { planOf, type Planned } from '../../session/make-plan.ts';

const formats = ['text', 'json', 'markdown'] as const;
type Format = (typeof formats)[number];

export const drift: Run<DriftOptions> = async (context, args) => {
  const { options } = context;
  const format = formatOf(options.output, formats);
  if (options.watch === true) return (await import('./drift-watch.ts')).watchDrift(context, args);
  const ignore = ignoreRules(context, options.ignore);
  const loaded = await loadSet(context, args);
  const { findDrift } = await import('../../../core/drift/drift.ts');
  const report = await withClient(context, async (client) => {
    const planned = await planOf(context, readerOf(client), loaded, 'apply');
    const { plan, observed, owner } = planned;
    return findDrift({ plan, observed, owner, ignore, seen: await seenSince(context, client, planned) });
  });
  await show(context, report, format);
  return report.objects.length > 0 && options.exitCode !== false ? exitCodes.changes : exitCodes.ok;
};

/** Changes that watchers on this machine recorded since the last apply of the set; earlier ones cannot explain differences. */
async function seenSince(
  context: CliContext<DriftOptions>,
  client: Client,
  { observed, owner }: Planned,
): Promise<ReadonlyMap<Address, Seen>> {
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

async function show(context: CliContext, report: DriftReport, format: Format): Promise<void> {
  const { driftJson, driftLine, driftMarkdown, renderDrift } = await import('../../../core/drift/render-drift.ts');
  if (context.isJson) {
    const { objects, ...rest } = driftJson(report);
    const atMs = context.io.nowMs();
    for (const object of Array.isArray(objects) ? objects : [])
      context.json(jsonLine('resource_drift', (object as { address: string }).address, { change: object }, atMs));
    context.json(jsonLine('drift_summary', driftLine(report), rest, atMs));
  } else if (format === 'json') context.io.stdout.write(`${JSON.stringify(driftJson(report), null, 2)}\n`);
  else if (format === 'markdown') context.io.stdout.write(driftMarkdown(report));
  else context.out(renderDrift(report, { color: context.color }).trimEnd());
}
