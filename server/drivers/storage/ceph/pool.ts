// Makes, finds and removes the OSD pool of a pool: one of its own, or one that is there.
import { randomUUID } from 'node:crypto';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isTrue } from '../../../api/text/value-checks.ts';
import { exec } from '../../../lib/exec.ts';
import { isThere } from '../../../lib/shared/missing-files.ts';
import { type DriverError, driverErrors } from '../../driver-error.ts';
import type { BlockTrees } from '../blocks/blocks.ts';
import { commands as fileSystemCommands } from '../blocks/commands.ts';
import { makeFolders } from '../dir-pool.ts';
import type { PoolResources, PoolSpec } from '../driver.ts';
import { recordsFolder, temporaryFolder } from '../layout.ts';
import { isMounted } from '../mounted/mounts.ts';
import { refuseVolumes, removePlace, tagOf } from '../mounted/pool-place.ts';
import { staysMounted } from '../mounted/trees.ts';
import { clusterOf, mark, marksOf, osdPoolOf, runCeph, unmark } from './calls.ts';
import { applicationsIn, commands, linesIn, marksObject, namesIn, usageIn, type Cluster } from './commands.ts';
import { idOf } from './names.ts';
import type { CephStore } from './store.ts';

interface Parts {
  readonly root: string;
  readonly store: CephStore;
  readonly trees: BlockTrees;
}

const poolMark = 'pool:';
const recordsBytes = 64 * 1_048_576;
/** Objects that an OSD pool still has when each image in it is gone. */
const empty = new Set([marksObject, 'rbd_directory', 'rbd_info', 'rbd_children', 'rbd_trash', 'rbd_object_map']);

const markOf = (root: string, pool: PoolSpec): string => `${poolMark}${tagOf(root, pool)}`;

/** Whether the OSD pool is the user's, and stays when the pool is deleted. */
const isGiven = ({ config }: PoolSpec): boolean => (config['volatile.initial_source'] ?? '') !== '';

/** Throws Invalid where the cluster cannot be reached. */
export async function osdPools(cluster: Cluster): Promise<readonly string[]> {
  const conf = `/etc/ceph/${cluster.name}.conf`;
  if (!(await isThere(conf)))
    throw driverErrors.invalid(
      `config.ceph.cluster_name: this host knows no cluster ${cluster.name}: it has no ${conf}`,
    );
  try {
    return namesIn((await exec(commands.pools(cluster))).stdout);
  } catch (error) {
    throw driverErrors.invalid(
      `config.ceph.cluster_name: the cluster ${cluster.name} cannot be reached as client.${cluster.user}: is it running, and is the keyring of that user in /etc/ceph?`,
      error,
    );
  }
}

export async function fillCephConfig(pool: PoolSpec): Promise<Record<string, string>> {
  const { config } = pool;
  const [source = '', named = ''] = [config['source'], config['ceph.osd.pool_name']];
  if (source !== '' && named !== '' && source !== named)
    throw driverErrors.invalid(
      `config.ceph.osd.pool_name: is ${named}, but config.source of pool ${pool.name} names ${source}; leave one out`,
    );
  const name = source || osdPoolOf(pool);
  if (!/^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/.test(name))
    throw driverErrors.invalid(
      `config.${source === '' ? 'ceph.osd.pool_name' : 'source'}: ${JSON.stringify(name)} cannot be the name of an OSD pool here: letters, digits and _.-, the first no -`,
    );
  const cluster = clusterOf(pool);
  const filled = {
    ...config,
    source: name,
    'ceph.osd.pool_name': name,
    'ceph.cluster_name': cluster.name,
    'ceph.user.name': cluster.user,
  };
  if ((config['volatile.pool.pristine'] ?? '') !== '') return filled;
  const pools = await osdPools(cluster);
  const data = config['ceph.osd.data_pool_name'] ?? '';
  for (const [key, each] of [
    ['source', source],
    ['ceph.osd.data_pool_name', data],
  ] as const)
    if (each !== '' && !pools.includes(each))
      throw driverErrors.invalid(
        `config.${key}: the cluster ${cluster.name} has no OSD pool ${each}; create it, or leave the key out`,
      );
  const isPristine = source === '' || (await contentOf({ ...pool, config: filled })) === undefined;
  return {
    ...filled,
    'volatile.pool.pristine': String(isPristine),
    ...(source === ''
      ? { 'ceph.osd.pg_num': config['ceph.osd.pg_num'] || '32' }
      : { 'volatile.initial_source': source }),
  };
}

/** An object that prevents taking the OSD pool; undefined if it is empty. */
async function contentOf(pool: PoolSpec): Promise<string | undefined> {
  const what = `cannot list the OSD pool ${osdPoolOf(pool)}`;
  const objects = linesIn(await runCeph(commands.objects(clusterOf(pool), osdPoolOf(pool)), what));
  const image = objects.find((each) => each.startsWith('rbd_id.'));
  if (image !== undefined) return `the image ${image.slice('rbd_id.'.length)}`;
  const object = objects.find((each) => !empty.has(each));
  return object === undefined ? undefined : `the object ${object}`;
}

/** Idempotent. Adopts only an empty OSD pool, unless it is to be shared. */
export async function createCephPool(parts: Parts, pool: PoolSpec): Promise<void> {
  const { root, store, trees } = parts;
  const name = osdPoolOf(pool);
  const isFound = (await osdPools(clusterOf(pool))).includes(name);
  const marks = isFound ? await marksOf(pool) : [];
  if (!marks.includes(markOf(root, pool))) await take(root, pool, isFound, marks);
  await refuseVolumes(store, pool, `config.source: the OSD pool ${name} of pool ${pool.name} is not empty: it has`);
  await makePlace(trees, store, pool);
  await sign(root, pool, marks);
}

async function take(root: string, pool: PoolSpec, isFound: boolean, marks: readonly string[]): Promise<void> {
  const [name, cluster] = [osdPoolOf(pool), clusterOf(pool)];
  const isForced = isTrue(pool.config['ceph.osd.force_reuse'] ?? '');
  if (!isFound) {
    if (isGiven(pool)) throw driverErrors.invalid(`config.source: there is no OSD pool ${name} any more`);
    const groups = pool.config['ceph.osd.pg_num'] || '32';
    await runCeph(commands.makePool(cluster, name, groups), `cannot make the OSD pool ${name} of pool ${pool.name}`);
  } else if (!isForced) await refuseUsed(pool, marks);
  // An empty one of our own: a creation that a crash cuts short after this is undone by its mark.
  if (!isGiven(pool) && !(isFound && isForced)) await mark(pool, markOf(root, pool));
  if (!(await applicationsOf(pool)).includes('rbd'))
    await runCeph(commands.enable(cluster, name), `cannot use the OSD pool ${name} for RBD`);
}

async function applicationsOf(pool: PoolSpec): Promise<readonly string[]> {
  const name = osdPoolOf(pool);
  return applicationsIn(
    await runCeph(commands.applications(clusterOf(pool), name), `cannot read the OSD pool ${name}`),
  );
}

async function refuseUsed(pool: PoolSpec, marks: readonly string[]): Promise<void> {
  const name = osdPoolOf(pool);
  const what = `the OSD pool ${name} cannot be pool ${pool.name}`;
  const remedy = 'set ceph.osd.force_reuse to share it';
  if (marks.some((each) => each.startsWith(poolMark)))
    throw driverErrors.inUse(`config.source: ${what}: it is another pool of a gantryd; ${remedy} if that is gone`);
  const content = await contentOf(pool);
  if (content !== undefined)
    throw driverErrors.inUse(`config.source: ${what}: it has ${content}; ${remedy} with what is in it`);
  // A creation that a crash cut short leaves it without an application.
  if (!isGiven(pool) && (await applicationsOf(pool)).length > 0)
    throw driverErrors.inUse(
      `config.ceph.osd.pool_name: the cluster has an OSD pool ${name} already; give it as source to use it, or choose another name for that of pool ${pool.name}`,
    );
}

/** The pool is this daemon's from now on. */
async function sign(root: string, pool: PoolSpec, marks: readonly string[]): Promise<void> {
  const own = markOf(root, pool);
  await mark(pool, own);
  for (const other of marks.filter((each) => each.startsWith(poolMark) && each !== own)) await unmark(pool, other);
}

/** The copies of records are on an image too, so they follow the disks. One host at a time has it open. */
async function makePlace(trees: BlockTrees, store: CephStore, pool: PoolSpec): Promise<void> {
  const root = trees.root(pool);
  await mkdir(root, { recursive: true, mode: 0o711 });
  await makeFolders(root);
  const records = join(root, recordsFolder);
  const isKept = (await isMounted(records)) && (await store.isOpen(pool, recordsFolder));
  if (isKept) return;
  if (!(await store.has(pool, recordsFolder))) {
    const draft = join(root, temporaryFolder, randomUUID());
    await trees.make(draft, { bytes: recordsBytes, fileSystem: 'ext4' });
    await trees.move(draft, records);
  }
  await trees.unmount(trees.place(records), { goes: true });
  await trees.mount(trees.place(records));
  await chmod(records, 0o700);
}

/** The config of the existing pool in the OSD pool. Creates nothing. */
export async function findCephPool(pool: PoolSpec): Promise<Record<string, string>> {
  const none = (why: string): DriverError => driverErrors.notFound(`there is no pool ${pool.name}: ${why}`);
  const name = pool.config['source'] || osdPoolOf(pool);
  const found = { ...pool, config: { ...pool.config, source: name, 'ceph.osd.pool_name': name } };
  const pools = await osdPools(clusterOf(found)).catch((error: unknown) => {
    throw none(error instanceof Error ? error.message : String(error));
  });
  if (!pools.includes(name)) throw none(`the cluster has no OSD pool ${name}`);
  if (!(await marksOf(found)).some((each) => each.startsWith(poolMark)))
    throw none(`no pool was made in the OSD pool ${name}`);
  return found.config;
}

export async function mountCephPool(
  { root, store, trees }: Parts,
  pool: PoolSpec,
  busy: ReadonlySet<string>,
): Promise<void> {
  const name = osdPoolOf(pool);
  if (!(await osdPools(clusterOf(pool))).includes(name))
    throw driverErrors.failed(`pool ${pool.name} cannot be used: the cluster has no OSD pool ${name}`);
  await makePlace(trees, store, pool);
  // A recovered pool still has the mark of the lost state directory.
  await sign(root, pool, await marksOf(pool));
  await closeLeft(trees, store, pool, busy);
  await trees.recover(pool, busy);
  await store.sweep(pool);
  await trees.mountAll(pool);
}

/** After a crash: unmaps images that were mapped for reading, and thaws those frozen for a copy. */
async function closeLeft(
  trees: BlockTrees,
  store: CephStore,
  pool: PoolSpec,
  busy: ReadonlySet<string>,
): Promise<void> {
  const volumes = await store.list(pool);
  const mapped = await store.mapped(pool);
  for (const [image] of mapped) {
    const id = idOf(
      image,
      volumes.map((each) => each.id),
    );
    if (id === undefined || id === recordsFolder) continue;
    const place = { pool, id, path: join(trees.root(pool), id) };
    if (!staysMounted(id) && !busy.has(place.path)) await trees.unmount(place, { goes: true });
    else if (await isMounted(place.path)) await exec(fileSystemCommands.thaw(place.path), { okCodes: [0, 1] });
  }
}

/** Idempotent. From an OSD pool that existed before the pool, only the pool's images are deleted. */
export async function deleteCephPool({ root, store, trees }: Parts, pool: PoolSpec): Promise<void> {
  const name = osdPoolOf(pool);
  const isFound = (await osdPools(clusterOf(pool))).includes(name);
  const marks = isFound ? await marksOf(pool) : [];
  if (marks.includes(markOf(root, pool))) {
    await refuseVolumes(store, pool, `pool ${pool.name} still has`);
    await trees.unmountAll(pool);
    for (const { id } of await store.list(pool)) await store.remove(pool, id);
    // Else they would stay for ever, and an OSD pool with them.
    const kept = await store.sweep(pool);
    if (kept.length > 0)
      throw driverErrors.inUse(
        `pool ${pool.name} cannot be deleted yet: a client of the cluster has images of its deleted volumes open (${kept.join(', ')}); one that has died is forgotten within a minute`,
      );
    await drop(pool);
  }
  await removePlace(trees.root(pool));
}

async function drop(pool: PoolSpec): Promise<void> {
  const [name, cluster] = [osdPoolOf(pool), clusterOf(pool)];
  const what = `cannot delete the OSD pool ${name} of pool ${pool.name}`;
  if (isGiven(pool) || (await contentOf(pool)) !== undefined)
    return void (await runCeph(commands.removeMarks(cluster, name), what));
  await runCeph(
    commands.removePool(cluster, name),
    `${what}: the cluster deletes OSD pools only while its setting mon_allow_pool_delete is true`,
  );
}

export async function cephResources(pool: PoolSpec): Promise<PoolResources> {
  const name = osdPoolOf(pool);
  const space = usageIn(await runCeph(commands.usage(clusterOf(pool)), 'cannot read what the cluster holds'), name);
  if (space === undefined) throw driverErrors.failed(`there is no OSD pool ${name}`);
  return { space, inodes: { used: 0, total: 0 } };
}
