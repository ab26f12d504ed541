// `gantry export --hosts -o DIR`: exports each host to its own directory below DIR.
import { join } from 'node:path';
import { exportHost } from '../verbs/objects/export.ts';
import type { ExportOptions } from '../verbs/objects/object-verbs.ts';
import type { OpenContext } from '../session/context.ts';
import type { ExitCode } from '../errors/exit-codes.ts';
import { usageError } from '../errors/usage-error.ts';
import type { Fleet } from './choose-hosts.ts';
import { worstCodeOf, askHosts, hostsToAsk } from './ask-hosts.ts';

export async function exportFleet(
  context: OpenContext<ExportOptions>,
  fleet: Fleet,
  words: readonly string[],
): Promise<ExitCode> {
  const { output } = context.options;
  // Objects of different hosts share names, so they cannot share a stream or file.
  if (output === undefined || /\.ya?ml$/.test(output))
    throw usageError('each host is exported to its own directory DIR/HOST: name DIR with -o DIR');
  const answers = await askHosts(
    context,
    hostsToAsk(context, fleet),
    (own, { host }) => exportHost({ ...own, options: { ...own.options, output: join(output, host.name) } }, words),
    { isJson: context.isJson },
  );
  return worstCodeOf(answers);
}
