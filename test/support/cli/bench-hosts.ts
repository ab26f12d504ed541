// The servers for tests of documents and runs: the simulation, real containers, a stock LXD.
import { realRuntimeMissing } from '../daemons/daemon.ts';
import { stockLxdMissing } from '../hosts/stock-lxd.ts';
import type { BenchHost } from './daemon-with-manifests.ts';

/** Returns the hosts that can run here, and prints why others cannot. `what`: the subject of the tests. */
export async function benchHosts(what: string, ...hosts: readonly BenchHost[]): Promise<readonly BenchHost[]> {
  const real = await realRuntimeMissing();
  const missing = { sim: undefined, lxc: real, lxd: stockLxdMissing() ?? real };
  return hosts.filter((host) => {
    const why = missing[host];
    if (why !== undefined) console.log(`skipped: ${what} on ${host}: ${why}`);
    return why === undefined;
  });
}
