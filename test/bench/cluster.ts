// Clusters of three members: creating, reading and listing containers through all members, of gantryd and of LXD on this machine.
import { existsSync } from 'node:fs';
import { startStockCluster } from '../support/cluster/stock-cluster.ts';
import { clusterPool, threeMembers } from '../support/cluster/three-members.ts';
import { stockLxdMissing } from '../support/hosts/stock-lxd.ts';
import { lxcAvailable } from '../../server/drivers/runtime/lxc/host.ts';
import { errorText } from '../../server/lib/shared/reason.ts';
import { takingTurns, timesOf, type BenchContext, type Group } from './group.ts';
import { lxdName, type Row } from './report.ts';
import { gantrydPath, temporaryParent } from './servers.ts';
import { inParallel, Wire } from './wire.ts';

/** A cluster as its clients see it: a socket of each member. */
interface Cluster {
  readonly name: string;
  readonly wires: readonly Wire[];
  close(): Promise<void>;
}

/** Three times as many are listed. */
const eachMember = 100;
const total = 3 * eachMember;
const timesLxd = 5;
/** LXD needs minutes for one. */
const rounds = 2;
const nameOf = (index: number): string => `gantry-bench-${index}`;

export const clusterGroup: Group = async (context) => {
  const clusters = await openClusters(context);
  try {
    return await measure(context, clusters);
  } finally {
    for (const cluster of clusters) {
      await cluster
        .close()
        .catch((error: unknown) => context.say(`ending ${cluster.name} failed: ${errorText(error)}`));
    }
  }
};

async function measure({ say, signal }: BenchContext, clusters: readonly Cluster[]): Promise<readonly Row[]> {
  const created: Record<string, number[]> = {};
  const removed: Record<string, number[]> = {};
  const all = Array.from({ length: total }, (_, index) => index);
  for (let round = 1; round <= rounds; round += 1) {
    for (const cluster of clusters) {
      say(`cluster: creating on ${cluster.name}, round ${round} of ${rounds}`);
      const wire = (index: number): Wire => cluster.wires[index % cluster.wires.length]!;
      const create = (): Promise<void> =>
        inParallel(
          all,
          (index) => wire(index).change('POST', '/1.0/containers', { ...emptyContainer, name: nameOf(index) }),
          signal,
        );
      (created[cluster.name] ??= []).push(await rate(create, signal));
      await mustSpread(cluster);
      if (round === rounds) continue;
      const remove = (): Promise<void> =>
        inParallel(all, (index) => wire(index).change('DELETE', `/1.0/containers/${nameOf(index)}`), signal);
      (removed[cluster.name] ??= []).push(await rate(remove, signal));
      await mustBeEmpty(cluster);
    }
  }
  say('cluster: single requests');
  const read = (path: (index: number) => string) => async (cluster: Cluster, index: number) => {
    const wire = cluster.wires[index % cluster.wires.length]!;
    const answer = await wire.send('GET', path(index));
    if (answer.status !== 200) throw new Error(`GET ${path(index)} answered ${answer.status}: ${answer.text}`);
  };
  // Each member is asked for objects of all of them: 7 has no divisor in common with 3.
  const one = read((index) => `/1.0/containers/${nameOf((index * 7 + Math.floor(index / 3)) % total)}`);
  const list = read(() => '/1.0/containers?recursion=1');
  // Not measured: servers and client compile as they go.
  await takingTurns(clusters, { count: 300, block: 300 }, one, signal);
  const common = { group: 'cluster', timesLxd } as const;
  return [
    { ...common, what: `3 members: create ${total} empty containers, 16 clients`, unit: '/s', samples: created },
    {
      ...common,
      what: '3 members: GET one container',
      unit: 'ms',
      samples: await takingTurns(clusters, { count: 300, block: 60 }, one, signal),
    },
    {
      ...common,
      what: `3 members: GET /1.0/containers?recursion=1 of ${total}`,
      unit: 'ms',
      samples: await takingTurns(clusters, { count: 21, block: 3 }, list, signal),
    },
    { group: 'cluster', what: `3 members: delete ${total} containers, 16 clients`, unit: '/s', samples: removed },
  ];
}

const emptyContainer = { source: { type: 'none' }, devices: { root: { type: 'disk', path: '/', pool: clusterPool } } };

async function rate(work: () => Promise<void>, signal: AbortSignal): Promise<number> {
  const [ms = Number.NaN] = await timesOf(1, work, signal);
  return (total * 1000) / ms;
}

/** A cluster that puts everything on one member would have less to do. */
async function mustSpread({ name, wires }: Cluster): Promise<void> {
  const found = (await wires[0]?.get('/1.0/containers?recursion=1')) as { location: string }[];
  const places = new Set(found.map(({ location }) => location));
  const counts = [...places].map((place) => found.filter(({ location }) => location === place).length);
  if (found.length !== total || counts.length !== 3 || Math.min(...counts) < eachMember / 2) {
    throw new Error(`${name} has ${found.length} of ${total} containers, ${counts.join(', ')} on its members`);
  }
}

/** An operation that was forgotten before it could be asked for may have failed. */
async function mustBeEmpty({ name, wires }: Cluster): Promise<void> {
  const left = (await wires[0]?.get('/1.0/containers')) as string[];
  if (left.length > 0) throw new Error(`${name} still has ${left.length} containers, among them ${left[0]}`);
}

async function openClusters({ say, signal }: BenchContext): Promise<readonly Cluster[]> {
  const clusters: Cluster[] = [];
  const attempt = async (name: string, open: () => Promise<Cluster>): Promise<void> => {
    signal.throwIfAborted();
    say(`cluster: starting ${name}`);
    try {
      clusters.push(await open());
    } catch (error) {
      say(`skipped: a cluster of ${name}: ${errorText(error)}`);
    }
  };
  const lxc = process.getuid?.() === 0 ? await lxcAvailable() : { ok: false as const, reason: 'it needs root' };
  if (!existsSync(gantrydPath)) throw new Error(`${gantrydPath} is missing: run npm run build`);
  if (lxc.ok) await attempt('gantryd lxc', () => openGantryds('lxc'));
  else say(`skipped: a cluster of gantryd lxc: ${lxc.reason}`);
  await attempt('gantryd sim', () => openGantryds('sim'));
  const missing = stockLxdMissing();
  if (missing === undefined) await attempt(lxdName, openStock);
  else say(`skipped: a cluster of LXD: ${missing}`);
  return clusters;
}

async function openGantryds(runtime: 'lxc' | 'sim'): Promise<Cluster> {
  const parent = await temporaryParent();
  const cluster = await threeMembers({ runtime, gantryd: gantrydPath, parent, isLocal: true });
  const wires = cluster.members.map(({ gantryd }) => new Wire(gantryd.socketPath));
  return { name: `gantryd ${runtime}`, wires, close: () => closeAll(wires, () => cluster.remove()) };
}

async function openStock(): Promise<Cluster> {
  const cluster = await startStockCluster({ pool: clusterPool, parent: await temporaryParent() });
  const wires = cluster.members.map(({ socketPath }) => new Wire(socketPath));
  return { name: lxdName, wires, close: () => closeAll(wires, () => cluster.remove()) };
}

async function closeAll(wires: readonly Wire[], remove: () => Promise<void>): Promise<void> {
  for (const wire of wires) await wire.close();
  await remove();
}
