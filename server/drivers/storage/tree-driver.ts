// A storage driver over trees in one place (a directory, a btrfs file system): volumes appear and vanish whole, in one rename.
// Snapshots are in tree-snapshots.ts, sources in tree-fill.ts; a kind says how trees are made.
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KeyedMutex } from '../../lib/keyed-mutex.ts';
import type { Log } from '../../lib/log.ts';
import { DriverError, driverErrors } from '../driver-error.ts';
import { asDriverError } from './copy-tree.ts';
import type { PoolSpec, StorageDriver, UnpackImage, VolumeRef } from './driver.ts';
import { durably } from './durable.ts';
import { checkVolumeName, recordsFolder, snapshotsPathIn, volumeFolder, volumePathIn, volumeTypes } from './layout.ts';
import { directoryNames } from './tree-names.ts';
import { openTreeStaging } from './tree-staging.ts';
import type { TreeKind } from './tree-kind.ts';
import { treeDerive } from './tree-derive.ts';
import { isTaken, treeFill } from './tree-fill.ts';
import { treeSnapshots } from './tree-snapshots.ts';
import { treeTransfer } from './tree-transfer.ts';
import { succeeds } from '../../lib/shared/attempt.ts';

export interface TreeDriverDeps {
  readonly unpackImage: UnpackImage;
  /** `ignore` when the daemon is not root: everything then belongs to the daemon's own user. */
  readonly ownership: 'keep' | 'ignore';
  readonly log: Log;
}

/** Trees that are not unlinked by then are left to mountPool. */
const closeMs = 5_000;

export function openTreeDriver(kind: TreeKind, deps: TreeDriverDeps): StorageDriver {
  const mutex = new KeyedMutex();
  const names = kind.names ?? directoryNames;
  const staging = openTreeStaging(kind, deps.log);
  const pathOf = (pool: PoolSpec, volume: VolumeRef): string => volumePathIn(kind.root(pool), volume);
  const snapshots = treeSnapshots({ kind, staging, mutex, log: deps.log });
  const { swapIn, dropUnused } = snapshots;
  const parts = { kind, staging, mutex, asRoot: deps.ownership === 'keep', swapIn, dropUnused };

  const { fill, images } = treeFill({ ...parts, names, unpackImage: deps.unpackImage, log: deps.log });
  const transfer = treeTransfer(parts);
  const derive = treeDerive(parts);

  /** For work that needs disk space and cannot be repeated. */
  const afterRemovals =
    <Rest extends readonly unknown[]>(make: (pool: PoolSpec, ...rest: Rest) => Promise<void>) =>
    async (pool: PoolSpec, ...rest: Rest): Promise<void> => {
      await staging.settled(kind.root(pool));
      await make(pool, ...rest);
    };

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

  const driver: StorageDriver = {
    close: async () => void (await Promise.race([staging.settled(), sleep(closeMs, undefined, { ref: false })])),
    name: kind.name,
    capabilities: kind.capabilities,
    fillConfig: (pool) => kind.fillConfig(pool),
    createPool: (pool, signal) => kind.createPool(pool, signal),
    async deletePool(pool) {
      await staging.settled(kind.root(pool));
      await kind.deletePool(pool);
    },
    applyConfig: (pool, before) => kind.applyConfig(pool, before),
    findPool: async (pool) => {
      if (kind.findPool !== undefined) return kind.findPool(pool);
      throw driverErrors.notFound(`pools of driver ${kind.name} cannot be found again`);
    },
    recordsPath: (pool) => join(kind.root(pool), recordsFolder),
    mountPool: (pool) => kind.mountPool(pool, staging.busy),
    resources: async (pool) => {
      // Deleted trees count as free space.
      await staging.settled(kind.root(pool));
      if (kind.resources !== undefined) return kind.resources(pool);
      const stats = await statfs(kind.root(pool)).catch((error: unknown) => {
        throw driverErrors.failed(`cannot read the resources of pool ${pool.name}`, error);
      });
      return {
        space: { used: (stats.blocks - stats.bfree) * stats.bsize, total: stats.blocks * stats.bsize },
        inodes: { used: stats.files - stats.ffree, total: stats.files },
      };
    },
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
        await snapshots.deleteAll(pool, volume);
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
    ...snapshots.methods,
    ...transfer,
    ...derive,
    createSnapshot: afterRemovals(snapshots.methods.createSnapshot),
    restoreSnapshot: afterRemovals(snapshots.methods.restoreSnapshot),
    importVolume: afterRemovals(transfer.importVolume),
    deriveVolume: afterRemovals(derive.deriveVolume),
  };
  const { withFiles, useMountOptions, canLimit, usedIn, subvolumes } = kind;
  const tools = { ...staging, alone: (path: string, work: () => Promise<void>) => mutex.run(path, work) };
  const whole: StorageDriver = {
    ...driver,
    ...(canLimit === undefined ? {} : { canLimit }),
    ...(usedIn === undefined ? {} : { usedBytes: (pool, volume) => usedIn(pathOf(pool, volume)) }),
    ...(withFiles === undefined ? {} : { withFiles }),
    ...(subvolumes === undefined ? {} : { subvolumes: subvolumes(tools) }),
    ...(useMountOptions === undefined
      ? {}
      : { useMountOptions: (pool, volume, options) => useMountOptions(pathOf(pool, volume), options) }),
  };
  return kind.isDurable === true ? whole : { ...whole, ...durably((pool) => kind.root(pool), driver) };
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
