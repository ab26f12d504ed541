// The servers for tests of documents and runs: the simulation, real containers, a stock LXD.
import { realRuntimeMissing } from '../daemons/daemon.ts';
import { stockLxdMissing } from '../hosts/stock-lxd.ts';
import { isLongRun } from '../left-out.ts';
import type { BenchHost } from './daemon-with-manifests.ts';

/**
 * Returns the hosts that can run here, and prints why others cannot. `what`: the subject of the tests. The simulation stands in for real
 * containers where there are none; a long run has both.
 */
export async function benchHosts(what: string, ...hosts: readonly BenchHost[]): Promise<readonly BenchHost[]> {
  const real = await realRuntimeMissing();
  const missing = { sim: undefined, lxc: real, lxd: stockLxdMissing() ?? real };
  const isSimulated = hosts.includes('sim') || (hosts.includes('lxc') && (isLongRun || real !== undefined));
  return [...new Set<BenchHost>([...(isSimulated ? (['sim'] as const) : []), ...hosts])].filter((host) => {
    const why = missing[host];
    if (why !== undefined) console.log(`skipped: ${what} on ${host}: ${why}`);
    return why === undefined;
  });
}
