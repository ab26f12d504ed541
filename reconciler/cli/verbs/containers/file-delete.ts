// `gantry file delete`: removes files, links and empty directories of containers.
import { filesOf } from '../../../../server/client/files/container-files.ts';
import type { CliContext } from '../../session/context.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { withClient } from '../../session/connect.ts';
import { explain, parseFileAddress } from './file-address.ts';

export async function deleteFiles(context: CliContext<HostOptions>, args: readonly string[]): Promise<ExitCode> {
  const addresses = args.map((text) => ({ text, ...parseFileAddress(text) }));
  await withClient(context, async (client) => {
    for (const { text, container, path } of addresses) {
      await filesOf(client.http, container)
        .delete(path, context.stop)
        .catch((error: unknown) => {
          throw explain(error, text);
        });
    }
  });
  return exitCodes.ok;
}
