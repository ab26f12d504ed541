// `gantry drift`: how the live host differs from the manifests and from what was last applied. Only reads: what it works with has
// no way to write.
import type { Call, Http } from '../../../server/client/http.ts';
import type { IgnoreRule } from '../../core/document.ts';
import type { DriftReport } from '../../core/drift.ts';
import { endOf } from '../../manifest/read-ignore.ts';
import type { CliContext } from '../context.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import type { CliOptions } from '../options.ts';
import { jsonLine } from '../render-json.ts';
import { loadSet, planOf, withClient, type ReadClient } from '../session.ts';
import { usageError } from '../usage-error.ts';

export interface DriftCommandOptions extends CliOptions {
  readonly ignore?: readonly string[];
  readonly exitCode?: boolean;
}

const formats = ['text', 'json', 'markdown'] as const;

export async function drift(
  context: CliContext,
  args: readonly string[],
  options: DriftCommandOptions,
): Promise<ExitCode> {
  const format = formats.find((one) => one === (options.output ?? 'text'));
  if (format === undefined)
    throw usageError(`--output ${JSON.stringify(options.output)} is none of ${formats.join(', ')}`);
  const ignore = ignoreRules(context, options.ignore ?? []);
  const loaded = await loadSet(context, args);
  const { findDrift } = await import('../../core/drift.ts');
  const report = await withClient(context, async (client) => {
    const { plan, observed, owner } = await planOf(context, readerOf(client), loaded, 'apply');
    return findDrift({ plan, observed, owner, ignore });
  });
  await show(context, report, format);
  return report.objects.length > 0 && options.exitCode !== false ? exitCodes.changes : exitCodes.ok;
}

/** Lets calls pass that cannot change anything. */
function onlyReading(http: Http): Http {
  const checked = (call: Call): Call => {
    if (call.method !== 'GET') throw new Error(`drift only reads, and this would be a ${call.method} of ${call.path}`);
    return call;
  };
  return {
    send: async (call, signal) => http.send(checked(call), signal),
    open: async (call, signal) => http.open(checked(call), signal),
  };
}

const readerOf = (client: ReadClient): ReadClient => ({
  list: (kind, signal) => client.list(kind, signal),
  server: (signal) => client.server(signal),
  get: (kind, name, signal, target) => client.get(kind, name, signal, target),
  members: (signal) => client.members(signal),
  http: onlyReading(client.http),
  inProject: (project) => readerOf(client.inProject(project)),
});

/** `PATTERN`, or `PATTERN@2026-12-31` for as long as that day lasts (UTC). */
function ignoreRules(context: CliContext, rules: readonly string[]): readonly IgnoreRule[] {
  return rules.flatMap((rule) => {
    const match = /^(.+)@([^@]*)$/.exec(rule);
    if (match === null) return [{ path: rule }];
    const [, path = '', until = ''] = match;
    const endMs = endOf(until);
    if (endMs === undefined)
      throw usageError(`--ignore ${JSON.stringify(rule)}: after the @ stands its last day, as in ${path}@2030-12-31`);
    if (context.io.nowMs() <= endMs) return [{ path, until }];
    context.note(`Warning: --ignore ${path} ended on ${until}: it no longer hides anything`);
    return [];
  });
}

async function show(context: CliContext, report: DriftReport, format: (typeof formats)[number]): Promise<void> {
  const { driftJson, driftLine, driftMarkdown, renderDrift } = await import('../../core/render-drift.ts');
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
