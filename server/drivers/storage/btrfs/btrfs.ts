// The `btrfs` storage driver: a volume is a subvolume, copies and snapshots share its blocks, limits are quota groups.
import { chmod, lstat, readdir, readFile, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasCode } from '../../../lib/shared/error-code.ts';
import { exec, ExecError } from '../../../lib/exec.ts';
import {
  commands,
  limitsByPlace,
  quotaGroupsIn,
  saysNoQuotas,
  saysNotEmpty,
  saysOverQuota,
  streamIdIn,
} from './commands.ts';
import {
  ensureMounted,
  fillBtrfsConfig,
  findBtrfsPool,
  growPool,
  makeFileSystem,
  mountedForRemoval,
  locationOf,
  remount,
  removeFileSystem,
  rootOf,
  run,
} from './pool.ts';
import { copyWithNested, hasNested, refuseNested, removeNested } from './nested.ts';
import { receiveOne, subvolumeStreams } from './subvolumes.ts';
import { copyGuestTreeInto } from '../copy-tree.ts';
import { createDirPool, emptyDirPool, mountDirPool } from '../dir-pool.ts';
import type { DirStorageDeps } from '../dir.ts';
import { driverErrors } from '../../driver-error.ts';
import type { LimitForm, StorageDriver } from '../driver.ts';
import { missingProgram } from '../programs.ts';
import { removeTree } from '../remove-tree.ts';
import { openTreeDriver } from '../trees/driver.ts';

/** Every subvolume's own directory has this number. */
const subvolumeInode = 256;
const quotaScanMs = 3_600_000;

export async function btrfsMissing(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'btrfs pools need root';
  const missing = await missingProgram(['btrfs', 'mkfs.btrfs'].map((program) => [program, 'btrfs-progs']));
  if (missing !== undefined || (await kernelHasBtrfs())) return missing;
  await exec(['modprobe', 'btrfs']).catch(() => undefined);
  return (await kernelHasBtrfs()) ? undefined : 'the kernel of this host has no btrfs';
}

async function kernelHasBtrfs(): Promise<boolean> {
  return /\bbtrfs$/m.test(await readFile('/proc/filesystems', 'utf8'));
}

export function openBtrfsStorage(deps: Omit<DirStorageDeps, 'ownership'>): StorageDriver {
  return openTreeDriver(
    {
      name: 'btrfs',
      capabilities: { cheapCopies: true, quotas: true, snapshots: true, nativeStreams: 'btrfs' },
      root: (pool) => rootOf(locationOf(deps.root, pool)),
      fillConfig: (pool) => fillBtrfsConfig(deps.root, pool),
      async createPool(pool) {
        const location = locationOf(deps.root, pool);
        await makeFileSystem(location, pool);
        await createDirPool(deps.root, rootOf(location), pool.name);
      },
      async deletePool(pool) {
        const location = locationOf(deps.root, pool);
        if (await mountedForRemoval(location, pool)) await emptyDirPool(rootOf(location), pool.name, removeSubvolume);
        await removeFileSystem(location, pool);
      },
      findPool: (pool) => findBtrfsPool(deps.root, pool),
      async applyConfig(pool, before) {
        const location = locationOf(deps.root, pool);
        await remount(location, pool);
        await growPool(location, pool, before);
      },
      async mountPool(pool, busy) {
        const location = locationOf(deps.root, pool);
        await ensureMounted(location, pool);
        await mountDirPool(rootOf(location), pool.name, busy, removeSubvolume);
        // Limits of subvolumes that are gone; fails where there are no limits at all.
        await exec(commands.forgetLimits(rootOf(location)), { okCodes: [0, 1] });
      },
      async makeTree(path) {
        await run(commands.create(path));
        await chmod(path, 0o700);
      },
      async copyTree(from, to, _by, signal) {
        await copyWithNested(from, to, signal);
      },
      async importTree(from, to, signal) {
        await run(commands.create(to));
        await chmod(to, 0o700);
        await copyGuestTreeInto(from, to, true, signal);
      },
      removeTree: removeSubvolume,
      atomic: {
        isWhole: async (path) => !(await hasNested(path)),
        async snapshot(from, to, signal) {
          await run(commands.snapshot(from, to, 'readonly'), undefined, signal);
        },
        drop: removeSubvolume,
        seal: async (path) => {
          await run(commands.seal(path));
        },
      },
      limitTree,
      limitsIn,
      subvolumes: (tools) =>
        subvolumeStreams({
          ...tools,
          rootOf: (pool) => rootOf(locationOf(deps.root, pool)),
          removeTree: removeSubvolume,
        }),
      native: {
        send: (path, parent) => Promise.resolve(commands.send(path, parent)),
        check: refuseNested,
        canSend: async (path) => !(await hasNested(path)),
        receive: (directory, bytes, _kin, signal) => receiveOne(directory, bytes, signal),
        // Made again and not moved: what is read-only cannot leave its directory; the copy is as good a parent of later streams.
        async keep(received, path, signal) {
          await run(commands.snapshot(received, path, 'readonly'), undefined, signal);
        },
        settle: copyWithNested,
        idOf: async (path) => streamIdIn((await run(commands.show(path))).stdout),
      },
    },
    { ...deps, ownership: 'keep' },
  );
}

/**
 * Also plain directories, with subvolumes in them or in their directories: what a stream had brought when the daemon was killed is
 * read-only, and deleting its files would fail.
 */
async function removeSubvolume(path: string, depth = 2): Promise<void> {
  const stats = await lstat(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (stats === undefined) return;
  if (!stats.isDirectory()) return unlink(path);
  if (stats.ino !== subvolumeInode) {
    for (const entry of depth > 0 ? await readdir(path, { withFileTypes: true }) : [])
      if (entry.isDirectory()) await removeSubvolume(join(path, entry.name), depth - 1);
    return removeTree(path);
  }
  try {
    await run(commands.remove(path));
  } catch (error) {
    if (!(error instanceof ExecError) || !saysNotEmpty(error.stderr)) throw error;
    await removeNested(path);
    await run(commands.remove(path));
  }
}

/** Quotas slow every change of the tree down: they are only turned on with the first limit. */
async function limitTree(path: string, bytes: number | undefined, { mustHold = false }: LimitForm): Promise<void> {
  try {
    if (mustHold && bytes !== undefined) await refuseLess(path, bytes);
    await setLimit(path, bytes);
  } catch (error) {
    if (!(error instanceof ExecError) || !saysNoQuotas(error.stderr)) throw error;
    if (bytes === undefined) return;
    await run(commands.enableQuotas(path));
    await run(commands.awaitQuotas(path), quotaScanMs);
    if (mustHold) await refuseLess(path, bytes);
    await setLimit(path, bytes);
  }
}

async function refuseLess(path: string, bytes: number): Promise<void> {
  const [group] = quotaGroupsIn((await run(commands.use(path))).stdout);
  if (group === undefined || group.referenced <= bytes) return;
  throw driverErrors.invalid(`it holds ${group.referenced} bytes, more than ${bytes}: delete files, or give it more`);
}

async function setLimit(path: string, bytes: number | undefined): Promise<void> {
  try {
    await run(commands.limit(path, bytes));
  } catch (error) {
    if (!(error instanceof ExecError) || !saysOverQuota(error.stderr)) throw error;
    const id = (await run(commands.numberOf(path))).stdout.trim();
    await run(commands.limitFromOutside(dirname(path), id, bytes));
  }
}

async function limitsIn(root: string): Promise<ReadonlyMap<string, number>> {
  try {
    return limitsByPlace(quotaGroupsIn((await run(commands.limits(root))).stdout));
  } catch (error) {
    if (error instanceof ExecError && saysNoQuotas(error.stderr)) return new Map();
    throw error;
  }
}
