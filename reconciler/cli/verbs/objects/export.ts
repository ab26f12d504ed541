// `gantry export`: writes the live host as manifests whose plan is empty. Reads the server, writes files only with -o.
import { dirname, join } from 'node:path';
import type { Context, Run, Output } from '../../session/context.ts';
import { filterExported } from '../../flags/label-options.ts';
import type { ExportOptions } from './object-verbs.ts';
import { selectObjects } from '../../flags/selector.ts';
import { observeWhole } from '../../session/plan.ts';
import { withClient } from '../../session/connect.ts';
import { setNameOf } from '../../flags/set-name.ts';
import { usageError } from '../../errors/usage-error.ts';
import { writeOutput } from '../../output/write-text.ts';
import { askHosts, failureCode } from '../../hosts/ask-hosts.ts';
import type { WrittenExport } from '../../../manifest/write-export.ts';
import { makeFolder } from '../../../../server/lib/shared/make-folder.ts';
import { namesText } from '../../../../server/api/text/names-text.ts';

/** Each of several hosts goes to its own directory below that of -o. */
export const exportHost: Run<ExportOptions> = async (context, words, fleet) => {
  const { output } = context.options;
  // Objects of different hosts share names, so they cannot share a stream or file.
  if (fleet !== undefined && (output === undefined || isFile(output)))
    throw usageError('each host is exported to its own directory DIR/HOST: name DIR with -o DIR');
  const answers = await askHosts(context, fleet, (own, host) =>
    exportTo(own, words, host === undefined || output === undefined ? output : join(output, host.name)),
  );
  return failureCode(answers);
};

async function exportTo(
  context: Context<ExportOptions>,
  words: readonly string[],
  target: string | undefined,
): Promise<void> {
  const { options } = context;
  const set = setNameOf(context.options, []);
  const [{ exportWorld }, { writeExport }, { formatManifest }] = await Promise.all([
    import('../../../core/adoption/export.ts'),
    import('../../../manifest/write-export.ts'),
    import('../../../manifest/text/format.ts'),
  ]);
  const { objects, host } = await withClient(context, async (client) => {
    const world = await observeWhole(context, client, set);
    const chosen = selectObjects(words, filterExported(context.options, exportWorld(world, { set })));
    return { objects: chosen, host: client.host };
  });
  const written = writeExport(objects, options.redact === true);
  const head = `# Written by gantry export from ${host}. Keys that the server generates are left out.
# Of the contents of containers, only the files that the set ${set} has written are here; commands (exec:), waits, snapshots
# and other files are not: keep the manifests that have them.\n`;
  // What gantry writes, gantry fmt --check accepts.
  const formatted = (text: string): string => formatManifest(text).text;
  if (target === undefined) {
    if (context.isJson) writeJson(context, written);
    else
      context.io.stdout.write(
        formatted(`${head}${written.variables}${written.parts.map(({ text }) => text).join('')}`),
      );
  } else await writeFiles(context, filesOf(written, head, target), target, formatted);
  warn(context, written, options.redact === true);
}

function writeJson(context: Output, { parts }: WrittenExport): void {
  for (const { exported } of parts) {
    if (exported.values !== undefined) context.jsonObjects(exported.values);
  }
}

const isFile = (target: string): boolean => /\.ya?ml$/.test(target);

/** One file for `-o NAME.yaml`, else one file per kind in a directory. */
function filesOf({ parts, variables }: WrittenExport, head: string, target: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const put = (name: string, text: string): void => void files.set(name, (files.get(name) ?? head) + text);
  const nameOf = (kind: string): string => (isFile(target) ? target : join(target, `${kind}.yaml`));
  if (variables !== '') put(nameOf('vars'), variables);
  for (const { exported, text } of parts) put(nameOf(exported.kind), text);
  return files;
}

async function writeFiles(
  context: Context<ExportOptions>,
  files: ReadonlyMap<string, string>,
  target: string,
  formatted: (text: string) => string,
): Promise<void> {
  await makeFolder(isFile(target) ? dirname(target) : target);
  for (const [file, text] of files) {
    await writeOutput(file, formatted(text), context.options.force === true);
    context.note(`Wrote ${file}`);
  }
}

function warn(context: Output, { secrets, refused }: WrittenExport, isRedacted: boolean): void {
  for (const why of refused) context.note(`Warning: left out: ${why}`);
  if (secrets.length === 0) return;
  const shown = namesText(secrets);
  context.note(
    isRedacted
      ? `Secrets are written as variables; set them with --var NAME=VALUE: ${shown}`
      : `Warning: secrets are written in plain text (--redact writes variables instead): ${shown}`,
  );
}
