// `gantry file delete`: removes files, links and empty directories of containers.
import type { Run } from '../../session/context.ts';
import { filesOf } from '../../../../server/client/files/container-files.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import { withClient } from '../../session/connect.ts';
import { refuse, parseFileAddress } from './file-address.ts';

export const deleteFiles: Run<HostOptions> = async (context, args) => {
  const addresses = args.map((text) => ({ text, ...parseFileAddress(text) }));
  await withClient(context, async (client) => {
    for (const { text, container, path } of addresses) {
      await filesOf(client.http, container)
        .delete(path, context.stop)
        .catch((error: unknown) => refuse(client, error, text));
    }
  });
};
