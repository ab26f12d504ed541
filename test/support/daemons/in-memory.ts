// A gantryd on the simulation that stores nothing and starts at once, for properties with a fresh one per case.
import type { ServerContents } from '../../../server/api/server/server-contents.ts';
import { createClient, type Client } from '../../../server/client/client.ts';
import { startDryRunDaemon } from '../../../server/daemon/dry-run-daemon.ts';

export interface MemoryDaemon {
  readonly host: string;
  readonly socketPath: string;
  readonly client: Client;
  close(): Promise<void>;
}

/** A server without objects. */
export const emptyServer: ServerContents = {
  config: {},
  projects: [],
  containers: [],
  snapshots: {},
  profiles: [],
  acls: [],
  networks: [],
  pools: [],
  volumes: [],
  images: [],
  aliases: [],
  certificates: [],
  host: { poolDrivers: ['dir', 'btrfs', 'cephfs'] },
};

export async function openMemoryDaemon(): Promise<MemoryDaemon> {
  const daemon = await startDryRunDaemon(emptyServer);
  const host = `unix://${daemon.socketPath}`;
  const client = createClient(host);
  return {
    host,
    socketPath: daemon.socketPath,
    client,
    close: async () => {
      await client.close();
      await daemon.stop();
    },
  };
}
