// `gantry export --hosts -o DIR`: each host as manifests in a directory of its own below DIR.
import { join } from 'node:path';
import { exportHost, type ExportCommandOptions } from '../verbs/objects/export.ts';
import type { OpenContext } from '../session/context.ts';
import type { ExitCode } from '../errors/exit-codes.ts';
import { usageError } from '../errors/usage-error.ts';
import type { Fleet } from './choose-hosts.ts';
import { codeOfAll, hear, hostsToHear } from './ask-hosts.ts';

export async function exportFleet(
  context: OpenContext,
  fleet: Fleet,
  words: readonly string[],
  options: ExportCommandOptions,
): Promise<ExitCode> {
  const { output } = context.options;
  // Objects of different hosts have the same names: in one stream or file nobody could tell them apart.
  if (output === undefined || /\.ya?ml$/.test(output))
    throw usageError('several hosts are exported to a directory each, DIR/NAME OF THE HOST: say which with -o DIR');
  const heard = await hear(
    context,
    hostsToHear(context, fleet),
    (own, { host }) =>
      exportHost({ ...own, options: { ...own.options, output: join(output, host.name) } }, words, options),
    { isJson: context.isJson },
  );
  return codeOfAll(heard);
}
