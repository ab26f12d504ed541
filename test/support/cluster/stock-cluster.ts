// Three stock LXD servers on this machine as one cluster, with one pool on all of them: what clusters of our own are compared with.
import { freePort } from '../hosts/free-port.ts';
import { startStockLxd, type StockLxd } from '../hosts/stock-lxd.ts';
import { done, formCluster, type Candidate } from './form.ts';

export interface StockCluster {
  readonly members: readonly (StockLxd & { readonly name: string })[];
  /** Deletes the containers, ends the servers, removes their mounts and files. */
  remove(): Promise<void>;
}

export async function startStockCluster(pool: string, parent?: string): Promise<StockCluster> {
  const started: StockLxd[] = [];
  const remove = async (): Promise<void> => {
    for (const lxd of started) await lxd.end();
  };
  try {
    for (let index = 0; index < 3; index += 1) started.push(await startStockLxd(parent));
    const candidates: Candidate[] = [];
    for (const [index, lxd] of started.entries()) {
      const call: Candidate['call'] = (method, path, body) => lxd.call(method, path, body);
      candidates.push({ name: `lxd${index + 1}`, address: `127.0.0.1:${await freePort()}`, dir: lxd.dir, call });
    }
    await formCluster('lxd', candidates);
    const [first] = candidates as [Candidate];
    for (const { name } of candidates) {
      await done(first, 'POST', `/1.0/storage-pools?target=${name}`, { name: pool, driver: 'dir' });
    }
    await done(first, 'POST', '/1.0/storage-pools', { name: pool, driver: 'dir' });
    return { members: started.map((lxd, index) => ({ ...lxd, name: `lxd${index + 1}` })), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
