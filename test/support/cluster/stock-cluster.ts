// Three stock LXD servers on this machine as one cluster, for comparison with ours and for manifests.
import { freePort } from '../hosts/free-port.ts';
import { startStockLxd, type StockLxd } from '../hosts/stock-lxd.ts';
import { done, formCluster, type Candidate } from './form.ts';
import { makeHosts } from './hosts.ts';

export interface StockCluster {
  readonly members: readonly (StockLxd & {
    readonly name: string;
    /** The command prefix that runs a program on the member's host; empty without separate hosts. */
    readonly run: readonly string[];
  })[];
  /** Deletes the containers, ends the servers, removes their mounts and files. */
  remove(): Promise<void>;
}

export interface StockClusterOptions {
  /** A pool on all members. */
  readonly pool?: string;
  /** Where state directories are made. */
  readonly parent?: string;
  /** Each member has a separate network, so that all can have a bridge of one name. */
  readonly ownHosts?: boolean;
}

export async function startStockCluster({
  pool,
  parent,
  ownHosts = false,
}: StockClusterOptions): Promise<StockCluster> {
  const hosts = ownHosts ? makeHosts(3, { ownSys: true }) : undefined;
  const started: StockLxd[] = [];
  const remove = async (): Promise<void> => {
    for (const lxd of started) await lxd.end();
    hosts?.remove();
  };
  try {
    const candidates: Candidate[] = [];
    for (const index of [0, 1, 2]) {
      const host = hosts?.hosts[index];
      const lxd = await startStockLxd(parent, host?.run);
      started.push(lxd);
      const call: Candidate['call'] = (method, path, body) => lxd.call(method, path, body);
      const address = host === undefined ? `127.0.0.1:${await freePort()}` : `${host.address}:8443`;
      candidates.push({ name: `lxd${index + 1}`, address, dir: lxd.dir, call });
    }
    await formCluster('lxd', candidates);
    const [first] = candidates as [Candidate];
    if (pool !== undefined) {
      for (const { name } of candidates) {
        await done(first, 'POST', `/1.0/storage-pools?target=${name}`, { name: pool, driver: 'dir' });
      }
      await done(first, 'POST', '/1.0/storage-pools', { name: pool, driver: 'dir' });
    }
    const members = started.map((lxd, index) => ({
      ...lxd,
      name: `lxd${index + 1}`,
      run: hosts?.hosts[index]?.run ?? [],
    }));
    return { members, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
