// The volumes of a pool of trees: each is made under a temporary name, and appears and vanishes whole, in one rename.
import { join } from 'node:path';
import { succeeds } from '../../../lib/shared/attempt.ts';
import { DriverError, driverErrors } from '../../driver-error.ts';
import { asDriverError } from '../copy-tree.ts';
import type { PoolSpec, StorageDriver, VolumeRef } from '../driver.ts';
import { checkVolumeName, snapshotsPathIn, volumeFolder, volumePathIn, volumeTypes } from '../layout.ts';
import type { TreeDeps } from './deps.ts';
import { isTaken, type TreeFill } from './fill.ts';
import type { TreeKind } from './kind.ts';
import { directoryNames } from './names.ts';
import type { TreeSnapshots } from './snapshots.ts';

interface Deps extends TreeDeps, TreeFill {
  readonly deleteSnapshots: TreeSnapshots['deleteAll'];
}

type Methods = Pick<
  StorageDriver,
  | 'volumePath'
  | 'hasVolume'
  | 'createVolume'
  | 'deleteVolume'
  | 'renameVolume'
  | 'listVolumes'
  | 'limitsIn'
  | 'limitVolume'
>;

export function treeVolumes({ kind, staging, mutex, fill, images, deleteSnapshots }: Deps): Methods {
  const names = kind.names ?? directoryNames;
  const pathOf = (pool: PoolSpec, volume: VolumeRef): string => volumePathIn(kind.root(pool), volume);

  /** Repeats `make` once if the disk was full and deleted files have freed space since its start. */
  async function withRoom(root: string, make: () => Promise<void>): Promise<void> {
    const wasRemoving = staging.isRemoving(root);
    try {
      await make();
    } catch (error) {
      if (asDriverError('', error).code !== 'NoSpace') throw error;
      const hasRemoved = await staging.settled(root);
      if (!hasRemoved && !wasRemoving) throw error;
      await make();
    }
  }

  return {
    volumePath: pathOf,
    async hasVolume(pool, volume) {
      if (volume.type === 'image') await staging.caughtUp(kind.root(pool));
      return names.isTree(pathOf(pool, volume));
    },
    async createVolume(pool, volume, source, progress, signal) {
      const [root, path] = [kind.root(pool), pathOf(pool, volume)];
      const what = `create ${volume.type} volume ${volume.name} in pool ${pool.name}`;
      signal.throwIfAborted();
      // The cache has its own lock per image; two volumes made from one image must not wait for each other here.
      await mutex.run(path, async () => {
        const refusal = (): DriverError => driverErrors.exists(`cannot ${what}: it exists`);
        // An empty container has a folder in it and cannot be moved over another one; making anything else first costs more than a look.
        const isRefusedByMove = source.kind === 'empty' && volume.type === 'container';
        if (!isRefusedByMove && (await names.has(path))) throw refusal();
        try {
          await withRoom(root, () => fill(pool, volume, source, progress, signal));
        } catch (error) {
          if (signal.aborted) throw signal.reason;
          if (isRefusedByMove && isTaken(error)) throw refusal();
          throw asDriverError(`cannot ${what}`, error);
        }
      });
    },
    async deleteVolume(pool, volume) {
      const root = kind.root(pool);
      const path = pathOf(pool, volume);
      await mutex.run(path, async () => {
        if (volume.type === 'image') return images.whenUnused(path, () => staging.remove(root, path));
        await deleteSnapshots(pool, volume);
        await (volume.type === 'container' ? staging.removeBehind(root, path) : staging.remove(root, path));
      });
    },
    async renameVolume(pool, volume, newName) {
      const target: VolumeRef = { type: volume.type, name: newName };
      if (volume.type === 'image') throw driverErrors.invalid('the volume of an image cannot be renamed');
      const root = kind.root(pool);
      const [from, to] = [pathOf(pool, volume), pathOf(pool, target)];
      if (from === to) return;
      await mutex.runAll([from, to], async () => {
        const [hasOld, hasNew] = [await names.has(from), await names.has(to)];
        const what = `cannot rename ${volume.type} volume ${volume.name} to ${newName} in pool ${pool.name}`;
        if (hasOld && hasNew) throw driverErrors.exists(`${what}: ${newName} exists`);
        if (!hasOld && !hasNew) throw driverErrors.notFound(`${what}: there is no ${volume.name}`);
        try {
          // Snapshots move first, so a reader of the volume's new name finds them.
          const [oldSnapshots, newSnapshots] = [snapshotsPathIn(root, volume), snapshotsPathIn(root, target)];
          await names.moveFolder(oldSnapshots, newSnapshots);
          if (hasOld) await names.move(from, to);
        } catch (error) {
          throw asDriverError(what, error);
        }
      });
    },
    async listVolumes(pool) {
      const root = kind.root(pool);
      await staging.caughtUp(root);
      const lists = volumeTypes.map(async (type) => {
        const found = await names.treesIn(join(root, volumeFolder(type))).catch((error: unknown) => {
          throw asDriverError(`cannot list the volumes of pool ${pool.name}`, error);
        });
        return found.map((name) => ({ type, name }));
      });
      return (await Promise.all(lists)).flat().filter(isVolumeName);
    },
    ...(kind.limitsIn === undefined ? {} : { limitsIn: limitsOf(kind, kind.limitsIn) }),
    async limitVolume(pool, volume, bytes, how = {}) {
      const path = pathOf(pool, volume);
      await mutex.run(path, async () => {
        try {
          await kind.limitTree(path, bytes, how);
        } catch (error) {
          const what = `cannot limit ${volume.type} volume ${volume.name} of pool ${pool.name}`;
          if (error instanceof DriverError && error.code === 'Invalid') {
            throw driverErrors.invalid(`${what} to ${bytes} bytes`, error);
          }
          throw asDriverError(what, error);
        }
      });
    },
  };
}

const limitsOf =
  (kind: TreeKind, limitsIn: NonNullable<TreeKind['limitsIn']>): NonNullable<StorageDriver['limitsIn']> =>
  async (pool) => {
    const limits = await limitsIn(kind.root(pool)).catch((error: unknown) => {
      throw driverErrors.failed(`cannot read the limits of volumes in pool ${pool.name}`, error);
    });
    return ({ type, name }) => limits.get(`${volumeFolder(type)}/${name}`);
  };

const isVolumeName = (volume: VolumeRef): boolean => succeeds(() => checkVolumeName(volume));
