// Makes, finds and removes the directory of a CephFS that a pool is.
import { mkdir, mkdtemp, readFile, rm, rmdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { isTrue } from '../../../api/text/value-checks.ts';
import { writeDurably } from '../../../lib/durable-files.ts';
import { driverErrors } from '../../driver-error.ts';
import { runCeph } from '../ceph/calls.ts';
import { secondProtocol } from '../ceph/commands.ts';
import { foreignContent, makeFolders } from '../dir-pool.ts';
import type { PoolResources, PoolSpec } from '../driver.ts';
import { poolFolders, recordsFolder } from '../layout.ts';
import { isMounted, run, unmountDevice } from '../mounted/mounts.ts';
import { refuseVolumes, removePlace, tagOf } from '../mounted/pool-place.ts';
import type { MountedTrees } from '../mounted/trees.ts';
import { removeTree } from '../remove-tree.ts';
import { commands, fileSystemsIn, placeIn, type CephfsPlace } from './commands.ts';
import type { CephfsStore } from './store.ts';

export interface CephfsMounts {
  mount(place: CephfsPlace, target: string): Promise<void>;
}

export const kernelMounts: CephfsMounts = {
  async mount(place, target) {
    await run(commands.mount(place, target)).catch(async (error: unknown) => {
      await run(commands.mount(place, target, `,${secondProtocol}`)).catch(() => {
        throw error;
      });
    });
  },
};

export interface CephfsParts {
  readonly root: string;
  readonly store: CephfsStore;
  readonly trees: MountedTrees;
  readonly mounts: CephfsMounts;
}

/** In the directory of the pool: whose it is, and whether the pool made the directory. */
interface Mark {
  readonly owner: string;
  readonly isMade: boolean;
}
const markFile = 'gantry-pool.json';

/** Where the CephFS is mounted, in the place of the pool. */
export const mountIn = (place: string): string => join(place, 'cephfs');

function placeOf({ name, config }: PoolSpec): CephfsPlace {
  const source = config['source'] || (config['cephfs.path'] ?? '');
  const place = placeIn(source);
  if (place === undefined)
    throw driverErrors.invalid(
      `config.source: ${source === '' ? `pool ${name} has none: name` : `${JSON.stringify(source)} of pool ${name} is not`} a CephFS that is there, and maybe a directory of it, such as files or files/gantry`,
    );
  return {
    ...place,
    cluster: { name: config['cephfs.cluster_name'] || 'ceph', user: config['cephfs.user.name'] || 'admin' },
    isCached: isTrue(config['cephfs.fscache'] ?? ''),
  };
}

export async function fillCephfsConfig(pool: PoolSpec): Promise<Record<string, string>> {
  const { config } = pool;
  const place = placeOf(pool);
  const source = `${place.fileSystem}${place.path === '/' ? '' : place.path}`;
  const path = config['cephfs.path'] ?? '';
  if (path !== '' && placeIn(path)?.path !== place.path && path !== place.path)
    throw driverErrors.invalid(
      `config.cephfs.path: is ${path}, but config.source of pool ${pool.name} is ${source}; leave one out`,
    );
  const { name, user } = place.cluster;
  return { ...config, source, 'cephfs.path': source, 'cephfs.cluster_name': name, 'cephfs.user.name': user };
}

/** Throws Invalid where there is no such file system. */
async function checkFileSystem({ cluster, fileSystem }: CephfsPlace): Promise<void> {
  const what = `config.cephfs.cluster_name: the cluster ${cluster.name} cannot be reached as client.${cluster.user}: is /etc/ceph/${cluster.name}.conf there, is it running, and is the keyring of that user in /etc/ceph?`;
  const found = await runCeph(commands.fileSystems(cluster), what).catch((error: unknown) => {
    throw driverErrors.invalid(what, error);
  });
  const all = fileSystemsIn(found);
  if (all.includes(fileSystem)) return;
  const has = all.length === 0 ? 'none' : all.join(', ');
  throw driverErrors.invalid(
    `config.source: the cluster ${cluster.name} has no CephFS ${fileSystem}, but ${has}; create it first (ceph fs volume create)`,
  );
}

/** Idempotent. A directory that holds anything is not taken over; one that is not there is made. */
export async function createCephfsPool(parts: CephfsParts, pool: PoolSpec): Promise<void> {
  const place = placeOf(pool);
  await checkFileSystem(place);
  const isMade = await mountPlace(parts, pool, true);
  const source = mountIn(parts.trees.root(pool));
  const mark = await readMark(source);
  if (mark?.owner !== tagOf(parts.root, pool)) await take(parts, pool, source, mark, isMade);
  await refuseVolumes(
    parts.store,
    pool,
    `config.source: ${pool.config['source']} of pool ${pool.name} is not empty: it has`,
  );
  await openPlace(parts, pool);
}

async function take(
  { root, trees }: CephfsParts,
  pool: PoolSpec,
  source: string,
  mark: Mark | undefined,
  isMade: boolean,
): Promise<void> {
  const what = `config.source: ${pool.config['source']} cannot be pool ${pool.name}`;
  const foreign = mark === undefined ? await foreignContent(source) : undefined;
  if (mark !== undefined || foreign !== undefined) {
    await unmountDevice(source);
    await removePlace(trees.root(pool));
    throw driverErrors.inUse(
      foreign === undefined
        ? `${what}: it is another pool of a gantryd`
        : `${what}: it is not empty: it has ${foreign} in it`,
    );
  }
  await writeMark(source, { owner: tagOf(root, pool), isMade });
}

/** Mounts the CephFS; true: `makes` its directory, which was not there. */
async function mountPlace({ trees, mounts }: CephfsParts, pool: PoolSpec, makes: boolean): Promise<boolean> {
  const target = mountIn(trees.root(pool));
  if (await isMounted(target)) return false;
  const place = placeOf(pool);
  await mkdir(target, { recursive: true, mode: 0o711 });
  try {
    await mounts.mount(place, target);
    return false;
  } catch (error) {
    const isMade =
      makes && place.path !== '/' && (await atTop(mounts, place, (top) => makeFolder(join(top, place.path))));
    if (isMade) {
      await mounts.mount(place, target);
      return true;
    }
    throw driverErrors.failed(
      `pool ${pool.name} cannot be used: ${place.path} of the CephFS ${place.fileSystem} cannot be mounted: is it there, and may client.${place.cluster.user} use it?`,
      error,
    );
  }
}

async function whileMounted<T>(
  mounts: CephfsMounts,
  place: CephfsPlace,
  use: (target: string) => Promise<T>,
): Promise<T> {
  const target = await mkdtemp('/run/gantry-cephfs-');
  try {
    await mounts.mount(place, target);
    return await use(target);
  } finally {
    await unmountDevice(target);
  }
}

/** Undefined: the file system cannot be mounted as a whole. */
const atTop = <T>(mounts: CephfsMounts, place: CephfsPlace, use: (top: string) => Promise<T>): Promise<T | undefined> =>
  whileMounted(mounts, { ...place, path: '/' }, use).catch(() => undefined);

const makeFolder = async (path: string): Promise<boolean> =>
  (await mkdir(path, { recursive: true, mode: 0o711 })) !== undefined;

async function openPlace({ trees, store }: CephfsParts, pool: PoolSpec): Promise<void> {
  const root = trees.root(pool);
  for (const each of [root, mountIn(root)]) await makeFolders(each);
  const records = join(root, recordsFolder);
  if (!(await isMounted(records)))
    await run(commands.bind((await store.find(pool, recordsFolder)) ?? '', records, true));
}

/** The config of the existing pool. Leaves nothing mounted. */
export async function findCephfsPool(mounts: CephfsMounts, pool: PoolSpec): Promise<Record<string, string>> {
  const config = await fillCephfsConfig(pool);
  const mark = await whileMounted(mounts, placeOf({ ...pool, config }), readMark).catch((error: unknown) => {
    throw driverErrors.notFound(`there is no pool ${pool.name}: ${config['source']} cannot be mounted`, error);
  });
  if (mark !== undefined) return config;
  throw driverErrors.notFound(`there is no pool ${pool.name}: no pool was made in ${config['source']}`);
}

export async function mountCephfsPool(parts: CephfsParts, pool: PoolSpec, busy: ReadonlySet<string>): Promise<void> {
  const { root, trees } = parts;
  await mountPlace(parts, pool, false);
  const source = mountIn(trees.root(pool));
  const mark = await readMark(source);
  if (mark === undefined)
    throw driverErrors.failed(
      `pool ${pool.name} cannot be used: there is no ${markFile} in ${pool.config['source']}: it is not the directory that the pool was made in`,
    );
  // A recovered pool still has the mark of the lost state directory.
  const owner = tagOf(root, pool);
  if (mark.owner !== owner) await writeMark(source, { ...mark, owner });
  await openPlace(parts, pool);
  await trees.recover(pool, busy);
  await trees.mountAll(pool);
}

/** Idempotent. From a directory that existed before the pool, only the pool's entries are deleted. */
export async function deleteCephfsPool(parts: CephfsParts, pool: PoolSpec): Promise<void> {
  const { root, store, trees, mounts } = parts;
  const place = trees.root(pool);
  const source = mountIn(place);
  // A pool that was never made, or is gone already, has no directory.
  await mountPlace(parts, pool, false).catch(() => undefined);
  const mark = (await isMounted(source)) ? await readMark(source) : undefined;
  if (mark?.owner === tagOf(root, pool)) {
    await refuseVolumes(store, pool, `pool ${pool.name} still has`);
    await trees.unmountAll(pool);
    await unmountDevice(join(place, recordsFolder));
    for (const folder of poolFolders) await removeTree(join(source, folder));
    await rm(join(source, markFile));
  }
  await unmountDevice(source);
  if (mark?.isMade === true) await removeMade(mounts, placeOf(pool));
  await removePlace(place);
}

/** Removes the directory unless others put something into it. */
async function removeMade(mounts: CephfsMounts, place: CephfsPlace): Promise<void> {
  await atTop(mounts, place, (top) => rmdir(join(top, place.path)));
}

async function readMark(source: string): Promise<Mark | undefined> {
  const text = await readFile(join(source, markFile), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as Mark);
}

const writeMark = (source: string, mark: Mark): Promise<void> =>
  writeDurably(join(source, markFile), `${JSON.stringify(mark)}\n`, 0o600);

export async function cephfsResources(source: string): Promise<PoolResources> {
  const { blocks, bfree, bsize, files, ffree } = await statfs(source);
  const inodes = ffree === undefined || files < ffree ? { used: 0, total: 0 } : { used: files - ffree, total: files };
  return { space: { used: (blocks - bfree) * bsize, total: blocks * bsize }, inodes };
}
