// Which servers tests of documents and runs take: the simulation, real containers, a stock LXD.
import { realRuntimeMissing } from '../daemons/daemon.ts';
import { stockLxdMissing } from '../hosts/stock-lxd.ts';
import type { BenchHost } from './daemon-with-manifests.ts';

/** Those that can run here; of the others it prints why. `what`: what the tests show. */
export async function benchHosts(what: string, ...hosts: readonly BenchHost[]): Promise<readonly BenchHost[]> {
  const real = await realRuntimeMissing();
  const missing = { sim: undefined, lxc: real, lxd: stockLxdMissing() ?? real };
  return hosts.filter((host) => {
    const why = missing[host];
    if (why !== undefined) console.log(`skipped: ${what} on ${host}: ${why}`);
    return why === undefined;
  });
}
