// The `dir` storage driver: a pool is a directory, a volume a directory in it; making and removing pools is in dir-pool.ts.
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, rename, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { KeyedMutex } from '../../lib/keyed-mutex.ts';
import { errorText } from '../../lib/log.ts';
import type { Log } from '../../lib/log.ts';
import { DriverError } from '../driver-error.ts';
import { asDriverError, copyGuestTree, copyTree, syncTree } from './copy-tree.ts';
import { createDirPool, deleteDirPool, mountDirPool } from './dir-pool.ts';
import type { PoolSpec, StorageDriver, UnpackImage, VolumeRef, VolumeSource } from './driver.ts';
import { createImageCache } from './image-cache.ts';
import { checkVolumeName, poolSource, temporaryFolder, volumeFolder, volumePathIn, volumeTypes } from './layout.ts';
import { hasCode, removeTree } from './remove-tree.ts';

export interface DirStorageDeps {
  /** Pools without a `source` are made here; its parent is the state directory of the daemon. */
  readonly root: string;
  readonly unpackImage: UnpackImage;
  /** `ignore` when the daemon is not root: everything then belongs to the daemon's own user. */
  readonly ownership: 'keep' | 'ignore';
  readonly log: Log;
}

type Progress = (text: string) => void;

export function openDirStorage(deps: DirStorageDeps): StorageDriver {
  const stateDir = dirname(deps.root);
  const mutex = new KeyedMutex();
  const images = createImageCache();
  /** Temporary directories in use by this process; mountPool leaves them alone. */
  const busy = new Set<string>();
  const sourceOf = (pool: PoolSpec): string => poolSource(deps.root, stateDir, pool);
  const pathOf = (pool: PoolSpec, volume: VolumeRef): string => volumePathIn(sourceOf(pool), volume);

  /** Makes the directory under a temporary name and moves it to `path` when it is complete. */
  async function build(source: string, path: string, fill: (temporary: string) => Promise<void>): Promise<void> {
    const temporary = join(source, temporaryFolder, randomUUID());
    busy.add(temporary);
    try {
      await fill(temporary);
      await rename(temporary, path);
    } catch (error) {
      await discard(temporary);
      throw error;
    } finally {
      busy.delete(temporary);
    }
  }

  /** The volume is gone for its users as soon as it is moved; a crash after that is cleaned up by mountPool. */
  async function remove(source: string, path: string): Promise<void> {
    const temporary = join(source, temporaryFolder, randomUUID());
    busy.add(temporary);
    try {
      await rename(path, temporary);
      await discard(temporary);
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw new DriverError('Failed', `cannot delete ${path}`, error);
    } finally {
      busy.delete(temporary);
    }
  }

  async function discard(temporary: string): Promise<void> {
    try {
      await removeTree(temporary);
    } catch (error) {
      deps.log.warn('cannot remove a temporary directory; it is tried again when the pool is mounted', {
        path: temporary,
        error: errorText(error),
      });
    }
  }

  async function unpack(
    source: string,
    image: Extract<VolumeSource, { kind: 'image' }>['image'],
    progress: Progress,
    signal: AbortSignal,
  ): Promise<void> {
    const path = volumePathIn(source, { type: 'image', name: image.fingerprint });
    await build(source, path, async (temporary) => {
      await mkdir(temporary, { mode: 0o700 });
      await deps.unpackImage(image, temporary, { asRoot: deps.ownership === 'keep', progress }, signal);
      // Later volumes trust that an image which is there is whole, also after a power failure.
      await syncTree(temporary, signal);
    });
    await syncTree(dirname(path), signal);
  }

  async function fillFromImage(
    source: string,
    volume: VolumeRef,
    image: Extract<VolumeSource, { kind: 'image' }>['image'],
    progress: Progress,
    signal: AbortSignal,
  ): Promise<void> {
    const imagePath = volumePathIn(source, { type: 'image', name: image.fingerprint });
    const path = volumePathIn(source, volume);
    await images.withImage(
      imagePath,
      {
        has: () => isDirectory(imagePath),
        unpack: () => unpack(source, image, progress, signal),
        use: async () => {
          if (volume.type === 'image') return;
          await build(source, path, (temporary) => copyTree(imagePath, temporary, signal));
        },
      },
      signal,
    );
  }

  async function fillFromCopy(pool: PoolSpec, volume: VolumeRef, from: VolumeRef, signal: AbortSignal): Promise<void> {
    const fromPath = pathOf(pool, from);
    if (!(await isDirectory(fromPath)))
      throw new DriverError('NotFound', `there is no ${from.type} volume ${from.name} in pool ${pool.name}`);
    await build(sourceOf(pool), pathOf(pool, volume), (temporary) =>
      copyGuestTree(fromPath, temporary, deps.ownership === 'keep', signal),
    );
  }

  async function fill(
    pool: PoolSpec,
    volume: VolumeRef,
    source: VolumeSource,
    progress: Progress,
    signal: AbortSignal,
  ): Promise<void> {
    const poolPath = sourceOf(pool);
    if (source.kind === 'image') return fillFromImage(poolPath, volume, source.image, progress, signal);
    if (source.kind === 'copy') return fillFromCopy(pool, volume, source.from, signal);
    await build(poolPath, pathOf(pool, volume), async (temporary) => {
      // 0700: with idmapped mounts the files of a container are real setuid-root files on the host.
      await mkdir(temporary, { mode: volume.type === 'custom' ? 0o711 : 0o700 });
      if (volume.type === 'container') await mkdir(join(temporary, 'rootfs'), { mode: 0o755 });
    });
  }

  return {
    name: 'dir',
    capabilities: { cheapCopies: false, quotas: false },
    fillConfig: async (pool) => {
      if ((pool.config['size'] ?? '') !== '')
        throw new DriverError(
          'Invalid',
          'config.size: a dir pool has no size of its own; use btrfs, lvm or zfs for limits',
        );
      return { ...pool.config, source: sourceOf(pool) };
    },
    createPool: async (pool) => createDirPool(deps.root, sourceOf(pool), pool.name),
    deletePool: async (pool) => deleteDirPool(deps.root, sourceOf(pool), pool.name),
    mountPool: async (pool) => mountDirPool(sourceOf(pool), pool.name, busy),
    resources: async (pool) => {
      const stats = await statfs(sourceOf(pool)).catch((error: unknown) => {
        throw new DriverError('Failed', `cannot read the resources of pool ${pool.name}`, error);
      });
      return {
        space: { used: (stats.blocks - stats.bfree) * stats.bsize, total: stats.blocks * stats.bsize },
        inodes: { used: stats.files - stats.ffree, total: stats.files },
      };
    },
    volumePath: pathOf,
    hasVolume: async (pool, volume) => isDirectory(pathOf(pool, volume)),
    async createVolume(pool, volume, source, progress, signal) {
      const path = pathOf(pool, volume);
      const what = `create ${volume.type} volume ${volume.name} in pool ${pool.name}`;
      signal.throwIfAborted();
      // The cache has its own lock per image; two volumes made from one image must not wait for each other here.
      await mutex.run(path, async () => {
        if (await exists(path)) throw new DriverError('Exists', `cannot ${what}: it exists`);
        try {
          await fill(pool, volume, source, progress, signal);
        } catch (error) {
          if (signal.aborted) throw signal.reason;
          throw asDriverError(`cannot ${what}`, error);
        }
      });
    },
    async deleteVolume(pool, volume) {
      const path = pathOf(pool, volume);
      await mutex.run(path, async () => {
        if (volume.type === 'image') await images.whenUnused(path, () => remove(sourceOf(pool), path));
        else await remove(sourceOf(pool), path);
      });
    },
    async renameVolume(pool, volume, newName) {
      const target: VolumeRef = { type: volume.type, name: newName };
      if (volume.type === 'image') throw new DriverError('Invalid', 'the volume of an image cannot be renamed');
      const [from, to] = [pathOf(pool, volume), pathOf(pool, target)];
      if (from === to) return;
      await mutex.runAll([from, to], async () => {
        const [hasOld, hasNew] = [await exists(from), await exists(to)];
        const what = `cannot rename ${volume.type} volume ${volume.name} to ${newName} in pool ${pool.name}`;
        if (hasOld && hasNew) throw new DriverError('Exists', `${what}: ${newName} exists`);
        if (!hasOld && !hasNew) throw new DriverError('NotFound', `${what}: there is no ${volume.name}`);
        if (!hasOld) return;
        await rename(from, to).catch((error: unknown) => {
          throw asDriverError(what, error);
        });
      });
    },
    async listVolumes(pool) {
      const source = sourceOf(pool);
      const lists = volumeTypes.map(async (type) => {
        const entries = await readdir(join(source, volumeFolder(type)), { withFileTypes: true }).catch(
          (error: unknown) => {
            throw new DriverError('Failed', `cannot list the volumes of pool ${pool.name}`, error);
          },
        );
        return entries.filter((entry) => entry.isDirectory()).map((entry) => ({ type, name: entry.name }));
      });
      return (await Promise.all(lists)).flat().filter(isVolumeName);
    },
  };
}

function isVolumeName(volume: VolumeRef): boolean {
  try {
    checkVolumeName(volume);
    return true;
  } catch {
    return false;
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => {
      if (hasCode(error, 'ENOENT')) return false;
      throw error;
    },
  );
}

/** The directory itself, not one that a symbolic link leads to. */
async function isDirectory(path: string): Promise<boolean> {
  return lstat(path).then(
    (stats) => stats.isDirectory(),
    (error: unknown) => {
      if (hasCode(error, 'ENOENT')) return false;
      throw error;
    },
  );
}
