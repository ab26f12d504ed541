// `gantry export --hosts -o DIR`: exports each host to its own directory below DIR.
import type { RunOnHosts } from '../../hosts/choose-hosts.ts';
import { join } from 'node:path';
import { exportHost } from './export.ts';
import type { ExportOptions } from './object-verbs.ts';
import { usageError } from '../../errors/usage-error.ts';
import { worstCodeOf, askHosts, hostsToAsk } from '../../hosts/ask-hosts.ts';

export const exportFleet: RunOnHosts<ExportOptions> = async (context, fleet, words) => {
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
};
