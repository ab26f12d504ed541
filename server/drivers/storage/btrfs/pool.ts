// Makes, mounts and removes the file system of a btrfs pool: a file of its own, a block device, or a directory that is on btrfs.
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rm, rmdir, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../../lib/shared/error-code.ts';
import { parseBytes } from '../../../api/text/byte-size.ts';
import { exec, ExecError } from '../../../lib/exec.ts';
import { type DriverError, driverErrors } from '../../driver-error.ts';
import { commands, defaultMountOptions, saysBusy, smallestPool, type BlockSource } from './commands.ts';
import { contentOf } from '../blocks/mounts.ts';
import { asDriverError } from '../copy-tree.ts';
import { checkDirPool } from '../dir-pool.ts';
import type { PoolSpec } from '../driver.ts';
import { poolSource } from '../layout.ts';
import { moveDurably } from '../../../lib/durable-files.ts';
import { attachedLoop, freeSize, hasLoopFile, loopFileOf } from '../loop-file.ts';
import { mountedAt } from '../mountinfo.ts';
import { wipeDevice } from '../mounted/mounts.ts';

const btrfsMagic = 0x9123_683e;
const mkfsMs = 600_000;
const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Where a pool's blocks are. `directory`: on a file system that the daemon did not mount. */
export type BtrfsLocation =
  | { readonly kind: 'file'; readonly path: string; readonly mount: string }
  | { readonly kind: 'device'; readonly uuid: string; readonly initial: string; readonly mount: string }
  | { readonly kind: 'directory'; readonly path: string };

export const run = (argv: readonly string[], timeoutMs = 60_000, signal?: AbortSignal) =>
  exec(argv, { timeoutMs }, signal);

/** `root` as for dir pools; the files of pools are beside it, in `disks`. Throws Invalid. */
export function locationOf(root: string, pool: PoolSpec): BtrfsLocation {
  const mount = poolSource(root, dirname(root), { ...pool, config: {} });
  const source = pool.config['source'] ?? '';
  const own = loopFileOf(root, pool);
  if (source === '' || source === own) return { kind: 'file', path: own, mount };
  if (uuidForm.test(source))
    return { kind: 'device', uuid: source, initial: pool.config['volatile.initial_source'] ?? '', mount };
  return { kind: 'directory', path: poolSource(root, dirname(root), pool) };
}

export const rootOf = (location: BtrfsLocation): string =>
  location.kind === 'directory' ? location.path : location.mount;

export async function fillBtrfsConfig(root: string, pool: PoolSpec): Promise<Record<string, string>> {
  const location = locationOf(root, pool);
  const size = pool.config['size'] ?? '';
  if (location.kind === 'device') return { ...pool.config };
  if (location.kind === 'file') return { ...pool.config, source: location.path, size: size || (await freeSize(root)) };
  if (size !== '')
    throw driverErrors.invalid('config.size: is for a pool with a file of its own; leave it or source out');
  const stats = await stat(location.path).catch(() => undefined);
  if (stats?.isBlockDevice() === true)
    return { ...pool.config, source: randomUUID(), 'volatile.initial_source': location.path };
  const what = `config.source: ${location.path} of pool ${pool.name}`;
  if (stats === undefined) throw driverErrors.invalid(`${what} does not exist; create it first`);
  if (!stats.isDirectory()) throw driverErrors.invalid(`${what} is neither a block device nor a directory`);
  if ((await statfs(location.path)).type !== btrfsMagic)
    throw driverErrors.invalid(`${what} is not on a btrfs file system; leave source out for a file of its own`);
  return { ...pool.config, source: location.path };
}

/** The config of the pool that is at `source` already. Throws NotFound; changes nothing. */
export async function findBtrfsPool(root: string, pool: PoolSpec): Promise<Record<string, string>> {
  const location = locationOf(root, pool);
  const none = (where: string): DriverError => driverErrors.notFound(`there is no pool ${pool.name}: ${where}`);
  if (location.kind === 'file') {
    if (!(await hasLoopFile(location.path))) throw none(`its file ${location.path} does not exist`);
    return { ...pool.config, source: location.path };
  }
  if (location.kind === 'device') {
    if ((await deviceOf(location.uuid)) === undefined) throw none(`no device has the file system ${location.uuid}`);
    return { ...pool.config };
  }
  const stats = await stat(location.path).catch(() => undefined);
  if (stats?.isBlockDevice() !== true) {
    await checkDirPool(location.path, pool.name);
    return { ...pool.config, source: location.path };
  }
  const { stdout } = await exec(commands.uuidOf(location.path), { okCodes: [0, 2] });
  if (!uuidForm.test(stdout.trim())) throw none(`${location.path} has no btrfs file system`);
  return { ...pool.config, source: stdout.trim(), 'volatile.initial_source': location.path };
}

/** Idempotent: file systems that are there are kept, and mounted. */
export async function makeFileSystem(location: BtrfsLocation, pool: PoolSpec): Promise<void> {
  if (location.kind === 'directory') return;
  const isNew = await (location.kind === 'file' ? makeFile(location.path, pool) : formatDevice(location, pool));
  try {
    await ensureMounted(location, pool);
  } catch (error) {
    // Nothing is in it yet. Later its removal would have to mount it.
    if (isNew && (await typeAt(location.mount)) === undefined) await removeFileSystem(location, pool).catch(() => {});
    throw error;
  }
}

/** Made under another name: a file that is there has a whole file system in it. False if it is there. */
async function makeFile(path: string, pool: PoolSpec): Promise<boolean> {
  const bytes = parseBytes(pool.config['size'] ?? '') ?? 0;
  if (bytes < smallestPool)
    throw driverErrors.invalid(`config.size: a btrfs pool needs at least 128MiB, not ${pool.config['size']}`);
  if (await hasLoopFile(path)) return false;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const half = `${path}.new`;
  await rm(half, { force: true });
  try {
    await run(commands.allocate(half, bytes));
    await run(commands.makeFileSystem(half), mkfsMs);
    await moveDurably(half, path);
  } catch (error) {
    await rm(half, { force: true });
    throw asDriverError(`cannot make the file ${path} of pool ${pool.name}`, error);
  }
  return true;
}

/** False if the device has the file system. */
async function formatDevice(location: Extract<BtrfsLocation, { kind: 'device' }>, pool: PoolSpec): Promise<boolean> {
  if ((await deviceOf(location.uuid)) !== undefined) return false;
  const what = `config.source: cannot use ${location.initial} for pool ${pool.name}`;
  const content = await contentOf(location.initial);
  if (content !== undefined) throw driverErrors.inUse(`${what}: it has ${content}; wipe it first`);
  // One that outlived this process would end after the undo of the creation, and leave the device with a file system.
  const made = exec(commands.makeFileSystem(location.initial, location.uuid), { timeoutMs: mkfsMs, isMortal: true });
  await made.catch((error: unknown) => {
    throw asDriverError(what, error);
  });
  return true;
}

/** Idempotent; after a restart of the daemon it is mounted already. */
export async function ensureMounted(location: BtrfsLocation, pool: PoolSpec, options = optionsOf(pool)): Promise<void> {
  if (location.kind === 'directory') return;
  const what = `cannot mount pool ${pool.name}`;
  const type = await typeAt(location.mount);
  if (type === 'btrfs') return;
  if (type !== undefined) throw driverErrors.inUse(`${what}: a file system of type ${type} is at ${location.mount}`);
  await mkdir(location.mount, { recursive: true, mode: 0o711 });
  const source = await blocksOf(location, pool);
  await run(commands.mount(source, location.mount, options)).catch((error: unknown) => {
    const wrongOption = options !== defaultMountOptions && error instanceof ExecError;
    if (wrongOption)
      throw driverErrors.invalid(`${what} with config.btrfs.mount_options ${options}: ${error.stderr.trim()}`);
    throw asDriverError(what, error);
  });
}

export async function remount(location: BtrfsLocation, pool: PoolSpec): Promise<void> {
  if (location.kind === 'directory') return;
  const options = optionsOf(pool);
  await run(commands.remount(location.mount, options)).catch((error: unknown) => {
    const why = error instanceof ExecError ? error.stderr.trim() : '';
    throw driverErrors.invalid(`config.btrfs.mount_options: ${pool.name} cannot have ${options}: ${why}`);
  });
}

/** The file and the file system in it become as large as `size` says, while volumes are in use. What is that large already stays. */
export async function growPool(location: BtrfsLocation, pool: PoolSpec, before: PoolSpec): Promise<void> {
  const [wanted = '', old = ''] = [pool.config['size'], before.config['size']];
  if (wanted === old) return;
  const what = `config.size: pool ${pool.name} cannot become ${wanted === '' ? 'unset' : wanted}`;
  if (location.kind !== 'file') throw driverErrors.invalid(`${what}: only a pool with a file of its own has a size`);
  const { size: now } = await stat(location.path);
  const bytes = parseBytes(wanted) ?? 0;
  if (bytes < now) throw driverErrors.invalid(`${what}: it has ${now} bytes and only grows`);
  try {
    await run(commands.allocate(location.path, bytes));
    await run(commands.readLoopSize(await attachedLoop(location.path)));
    await run(commands.growToDevice(location.mount));
  } catch (error) {
    throw asDriverError(what, error);
  }
}

/** True when there is something to empty; then it is mounted, whatever its options say. */
export async function mountedForRemoval(location: BtrfsLocation, pool: PoolSpec): Promise<boolean> {
  if (location.kind === 'directory') return hasLoopFile(location.path);
  if ((await typeAt(location.mount)) === 'btrfs') return true;
  const has =
    location.kind === 'file' ? await hasLoopFile(location.path) : (await deviceOf(location.uuid)) !== undefined;
  if (has) await ensureMounted(location, pool, defaultMountOptions);
  return has;
}

/** After emptying. Idempotent. */
export async function removeFileSystem(location: BtrfsLocation, pool: PoolSpec): Promise<void> {
  if (location.kind === 'directory') return;
  const device = location.kind === 'device' ? await deviceOf(location.uuid) : undefined;
  await unmount(location.mount, pool);
  if (device !== undefined) await wipeDevice(device);
  if (location.kind === 'file') {
    await rm(location.path, { force: true });
    await rm(`${location.path}.new`, { force: true });
  }
  await rmdir(location.mount).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw asDriverError(`cannot delete ${location.mount} of pool ${pool.name}`, error);
  });
}

async function unmount(target: string, pool: PoolSpec): Promise<void> {
  for (let attempt = 1; (await typeAt(target)) !== undefined; attempt += 1) {
    try {
      await run(commands.unmount(target));
    } catch (error) {
      if (!(error instanceof ExecError) || !saysBusy(error.stderr))
        throw asDriverError(`cannot unmount pool ${pool.name}`, error);
      if (attempt >= 20) throw driverErrors.inUse(`pool ${pool.name} cannot be unmounted: ${target} is in use`);
      await sleep(25 * attempt);
    }
  }
}

const optionsOf = (pool: PoolSpec): string => pool.config['btrfs.mount_options'] || defaultMountOptions;

async function blocksOf(location: Exclude<BtrfsLocation, { kind: 'directory' }>, pool: PoolSpec): Promise<BlockSource> {
  if (location.kind === 'file') return { kind: 'file', path: location.path };
  const path = await deviceOf(location.uuid);
  if (path === undefined)
    throw driverErrors.failed(`cannot mount pool ${pool.name}: no device has the file system ${location.uuid}`);
  return { kind: 'device', path };
}

async function deviceOf(uuid: string): Promise<string | undefined> {
  const { stdout } = await exec(commands.findByUuid(uuid), { okCodes: [0, 2] });
  return stdout.trim() === '' ? undefined : stdout.trim();
}

async function typeAt(target: string): Promise<string | undefined> {
  return mountedAt(await readFile('/proc/self/mountinfo', 'utf8'), target);
}
