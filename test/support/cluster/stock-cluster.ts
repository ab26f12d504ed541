// Three stock LXD servers on this machine as one cluster: what clusters of our own are compared with, and what manifests manage.
import { freePort } from '../hosts/free-port.ts';
import { startStockLxd, type StockLxd } from '../hosts/stock-lxd.ts';
import { done, formCluster, type Candidate } from './form.ts';
import { makeHosts } from './hosts.ts';

export interface StockCluster {
  readonly members: readonly (StockLxd & {
    readonly name: string;
    /** Words before a program that shall run on its host; none without hosts of their own. */
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
  /** Each member has a network of its own, so that all can have a bridge of one name. */
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
