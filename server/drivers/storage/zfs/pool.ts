// Makes, finds and removes the dataset of a pool: a zpool on a file of its own or on a block device, or a dataset that is there.
import { chmod, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseBytes } from '../../../api/text/byte-size.ts';
import { type DriverError, driverErrors } from '../../driver-error.ts';
import { contentOf } from '../blocks/mounts.ts';
import { makeFolders } from '../dir-pool.ts';
import type { PoolResources, PoolSpec } from '../driver.ts';
import { recordsFolder } from '../layout.ts';
import { freeSize, hasLoopFile, makeLoopFile } from '../loop-file.ts';
import { isMounted, run, unmountDevice, wipeDevice } from '../mounted/mounts.ts';
import type { MountedTrees } from '../mounted/trees.ts';
import { locationOf, refuseVolumes, removePlace, tagOf, type Location } from '../mounted/pool-place.ts';
import { commands, madeProperty, poolProperty, poolsIn, type Dataset } from './commands.ts';
import {
  asZfsError,
  datasetOf,
  datasetsBelow,
  findDataset,
  runZfs,
  sweepSnapshots,
  unless,
  zfsStore,
  type TreeDataset,
} from './datasets.ts';
import { datasetFolders, datasetProblem, poolNameProblem } from './names.ts';

type Trees = MountedTrees<TreeDataset>;

/** Below this zpool refuses. */
const smallestPool = 64 * 1_048_576;

const zpoolOf = (dataset: string): string => dataset.split('/')[0] ?? '';

export async function fillZfsConfig(root: string, pool: PoolSpec): Promise<Record<string, string>> {
  const location = locationOf(root, pool);
  const config: Record<string, string> = { ...pool.config };
  if (location.kind === 'given') return fillGiven(pool, config);
  const name = datasetOf(pool);
  const problem = poolNameProblem(name);
  if (problem !== undefined)
    throw driverErrors.invalid(`config.zfs.pool_name: ${problem}, not ${JSON.stringify(name)}`);
  config['zfs.pool_name'] = name;
  if (location.kind === 'file')
    return { ...config, source: location.file, size: config['size'] || (await freeSize(root)) };
  refuseSize(config);
  const stats = await stat(location.device).catch(() => undefined);
  if (stats?.isBlockDevice() !== true)
    throw driverErrors.invalid(
      `config.source: ${location.device} of pool ${pool.name} is not a block device; give one, or a dataset without a / at its begin`,
    );
  return { ...config, source: name, 'volatile.initial_source': location.device };
}

function fillGiven(pool: PoolSpec, config: Record<string, string>): Record<string, string> {
  const source = config['source'] ?? '';
  const named = config['zfs.pool_name'] ?? '';
  refuseSize(config);
  const problem = datasetProblem(source);
  if (problem !== undefined) throw driverErrors.invalid(`config.source: ${problem}, not ${JSON.stringify(source)}`);
  if (named !== '' && named !== source)
    throw driverErrors.invalid(
      `config.zfs.pool_name: is ${named}, but config.source of pool ${pool.name} names ${source}; leave one out`,
    );
  return { ...config, 'zfs.pool_name': source };
}

function refuseSize(config: Readonly<Record<string, string>>): void {
  if ((config['size'] ?? '') !== '')
    throw driverErrors.invalid('config.size: is for a pool with a file of its own; leave it or source out');
}

/** Idempotent. Nothing that holds anything is formatted or taken over. */
export async function createZfsPool(root: string, pool: PoolSpec, trees: Trees): Promise<void> {
  const location = locationOf(root, pool);
  await ensureImported(location, pool).catch(() => undefined);
  const found = await findDataset(datasetOf(pool));
  if (found?.pool !== tagOf(root, pool)) await take(location, pool, tagOf(root, pool), found);
  await refuseVolumes(
    zfsStore,
    pool,
    `config.source: the dataset ${datasetOf(pool)} of pool ${pool.name} is not empty: it has`,
  );
  await makePlace(pool, trees);
}

/** Imports the zpool when it is not there: after a start of the host, or an export. */
async function ensureImported(location: Location, pool: PoolSpec): Promise<void> {
  const name = zpoolOf(datasetOf(pool));
  const pools = poolsIn(await runZfs(commands.pools(), 'cannot read the ZFS pools of this host'));
  if (pools.has(name)) return;
  const file = location.kind === 'file' ? location.file : undefined;
  if (file !== undefined && !(await hasLoopFile(file)))
    throw driverErrors.failed(`pool ${pool.name} cannot be used: its file ${file} is missing`);
  await runZfs(
    commands.importPool(name, file),
    `pool ${pool.name} cannot be used: the ZFS pool ${name} cannot be imported${location.kind === 'device' ? `; is the disk ${location.device} there?` : ''}`,
  );
}

async function take(location: Location, pool: PoolSpec, tag: string, found: Dataset | undefined): Promise<void> {
  const name = datasetOf(pool);
  if (location.kind === 'given') return takeGiven(pool, tag, found);
  if (found !== undefined)
    throw driverErrors.inUse(
      `config.zfs.pool_name: this host has a ZFS pool ${name} already; choose another name for pool ${pool.name}`,
    );
  const what = `config.source: cannot make the ZFS pool ${name} of pool ${pool.name}`;
  if (location.kind === 'file') await makeFile(location.file, pool);
  const device = location.kind === 'file' ? location.file : location.device;
  const content = await contentOf(device);
  if (content !== undefined)
    throw driverErrors.inUse(`${what}: ${device} has ${content} on it; wipe it first if nobody needs that`);
  await runZfs(commands.makePool(name, device, tag), `${what} on ${device}`);
}

async function makeFile(file: string, pool: PoolSpec): Promise<void> {
  const bytes = parseBytes(pool.config['size'] ?? '') ?? 0;
  if (bytes < smallestPool)
    throw driverErrors.invalid(`config.size: a zfs pool needs at least 64MiB, not ${pool.config['size']}`);
  if (!(await hasLoopFile(file))) await makeLoopFile(file, bytes);
}

async function takeGiven(pool: PoolSpec, tag: string, found: Dataset | undefined): Promise<void> {
  const name = datasetOf(pool);
  const what = `config.source: the dataset ${name} cannot be pool ${pool.name}`;
  if (found === undefined) return makeGiven(pool, tag, what);
  if (found.pool !== undefined) throw driverErrors.inUse(`${what}: it is that of another pool, or in one`);
  const [inside] = await datasetsBelow(name, 1);
  if (inside !== undefined) throw driverErrors.inUse(`${what}: it is not empty: it has ${inside.name}`);
  const file = await fileIn(name);
  if (file !== undefined) throw driverErrors.inUse(`${what}: it is not empty: it has the file ${file} in it`);
  await runZfs(commands.adopt(name, { [poolProperty]: tag }), what);
}

async function makeGiven(pool: PoolSpec, tag: string, what: string): Promise<void> {
  const name = datasetOf(pool);
  const parent = name.slice(0, Math.max(0, name.lastIndexOf('/')));
  const above = parent === '' ? undefined : await findDataset(parent);
  if (above === undefined)
    throw driverErrors.invalid(
      `${what}: this host has no ${parent === '' ? `ZFS pool ${name}` : `dataset ${parent}`}; create it, give a block device, or leave source out`,
    );
  if (above.pool !== undefined) throw driverErrors.inUse(`${what}: ${parent} is that of another pool`);
  await runZfs(commands.take(name, { [poolProperty]: tag, [madeProperty]: 'yes' }), what);
}

/** A dataset that mounts itself needs zfsutil; one that is mounted elsewhere is mounted as it is there. */
const looks = ['ro,zfsutil', 'rw,zfsutil', 'ro', 'rw'];

/** A file in the dataset itself. */
async function fileIn(name: string): Promise<string | undefined> {
  const look = await mkdtemp('/run/gantry-zfs-');
  try {
    for (const options of looks) {
      const isLast = options === looks.at(-1);
      await run(commands.mount(name, look, options)).catch((error: unknown) => {
        if (isLast) throw asZfsError(`config.source: cannot look into the dataset ${name}`, error);
      });
      if (await isMounted(look)) break;
    }
    return (await readdir(look))[0];
  } finally {
    await unmountDevice(look);
    await rm(look, { recursive: true, force: true });
  }
}

/** The directories of its folders; datasets are made with what is in them. The copies of records are in one, too: they go where the disks go. */
async function makePlace(pool: PoolSpec, trees: Trees): Promise<void> {
  const [name, root] = [datasetOf(pool), trees.root(pool)];
  await mkdir(root, { recursive: true, mode: 0o711 });
  await makeFolders(root);
  const records = join(root, recordsFolder);
  if (await isMounted(records)) return;
  await runZfs(commands.make(`${name}/${recordsFolder}`), `cannot make ${name}/${recordsFolder}`);
  await run(commands.mount(`${name}/${recordsFolder}`, records, 'rw'));
  await chmod(records, 0o700);
}

/** The config of the pool that is at `source` already. Throws NotFound; makes nothing, but imports the zpool. */
export async function findZfsPool(root: string, pool: PoolSpec): Promise<Record<string, string>> {
  const location = locationOf(root, pool);
  const none = (why: string): DriverError => driverErrors.notFound(`there is no pool ${pool.name}: ${why}`);
  await ensureImported(location, pool).catch((error: unknown) => {
    throw none(error instanceof Error ? error.message : String(error));
  });
  const name = datasetOf(pool);
  const found = await findDataset(name);
  if (found?.pool === undefined) throw none(`there is no dataset ${name} that a pool was made on`);
  const source = location.kind === 'file' ? location.file : name;
  return { ...pool.config, source, 'zfs.pool_name': name };
}

export async function mountZfsPool(
  root: string,
  pool: PoolSpec,
  trees: Trees,
  busy: ReadonlySet<string>,
): Promise<void> {
  const name = datasetOf(pool);
  await ensureImported(locationOf(root, pool), pool);
  const found = await findDataset(name);
  if (found === undefined) throw driverErrors.failed(`pool ${pool.name} cannot be used: there is no dataset ${name}`);
  // A recovered pool has the tag of the state directory that is lost.
  if (found.pool !== tagOf(root, pool))
    await runZfs(commands.set(name, { [poolProperty]: tagOf(root, pool) }), `cannot take over the dataset ${name}`);
  await makePlace(pool, trees);
  await trees.recover(pool, busy);
  await sweepSnapshots(pool);
  await trees.mountAll(pool);
}

/** Idempotent. Of a dataset that was there before the pool only what the pool made goes. */
export async function deleteZfsPool(root: string, pool: PoolSpec, trees: Trees): Promise<void> {
  const location = locationOf(root, pool);
  const [name, place] = [datasetOf(pool), trees.root(pool)];
  await ensureImported(location, pool).catch(() => undefined);
  const found = await findDataset(name);
  if (found?.pool === tagOf(root, pool)) {
    await refuseVolumes(zfsStore, pool, `pool ${pool.name} still has`);
    await trees.unmountAll(pool);
    await unmountDevice(join(place, recordsFolder));
    await drop(pool, location, found.isMade);
    if (location.kind === 'device') await wipeDevice(location.device);
  }
  if (location.kind === 'file') await rm(location.file, { force: true });
  await removePlace(place);
}

async function drop(pool: PoolSpec, location: Location, isMade: boolean): Promise<void> {
  const name = datasetOf(pool);
  const what = `cannot delete the dataset ${name} of pool ${pool.name}`;
  const ours = new Set(datasetFolders.map((folder) => `${name}/${folder}`));
  const others = (await datasetsBelow(name, 1)).filter((dataset) => !ours.has(dataset.name));
  if (isMade && others.length === 0) {
    await runZfs(location.kind === 'given' ? commands.remove(name) : commands.removePool(name), what);
    return;
  }
  for (const { id } of await zfsStore.list(pool)) await zfsStore.remove(pool, id);
  for (const folder of ours) await unless('NotFound', runZfs(commands.remove(folder), what));
  await runZfs(commands.unset(name, poolProperty), what);
}

/** The file and the zpool in it become as large as `size` says, while volumes are in use. */
export async function applyZfsConfig(root: string, pool: PoolSpec, before: PoolSpec): Promise<void> {
  const [wanted = '', old = ''] = [pool.config['size'], before.config['size']];
  if (wanted === old) return;
  const location = locationOf(root, pool);
  const what = `config.size: pool ${pool.name} cannot become ${wanted === '' ? 'unset' : wanted}`;
  if (location.kind !== 'file') throw driverErrors.invalid(`${what}: only a pool with a file of its own has a size`);
  const { size: now } = await stat(location.file);
  const bytes = parseBytes(wanted) ?? 0;
  if (bytes < now) throw driverErrors.invalid(`${what}: it has ${now} bytes and only grows`);
  await makeLoopFile(location.file, bytes);
  await runZfs(commands.growPool(zpoolOf(datasetOf(pool)), location.file), what);
}

export async function zfsResources(pool: PoolSpec): Promise<PoolResources> {
  const found = await findDataset(datasetOf(pool));
  if (found === undefined) throw driverErrors.failed(`there is no dataset ${datasetOf(pool)}`);
  return { space: { used: found.used, total: found.used + found.available }, inodes: { used: 0, total: 0 } };
}
