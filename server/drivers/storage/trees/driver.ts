// A storage driver over trees in one place (a directory, a btrfs file system), put together of its parts; a kind says how trees are made.
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KeyedMutex } from '../../../lib/keyed-mutex.ts';
import type { Log } from '../../../lib/log.ts';
import { driverErrors } from '../../driver-error.ts';
import type { PoolSpec, StorageDriver, UnpackImage, VolumeRef } from '../driver.ts';
import { durably } from '../durable.ts';
import { recordsFolder, volumePathIn } from '../layout.ts';
import { directoryNames } from './names.ts';
import { openTreeStaging } from './staging.ts';
import type { TreeKind } from './kind.ts';
import { treeDerive } from './derive.ts';
import { treeFill } from './fill.ts';
import { treeVolumes } from './volumes.ts';
import { treeSnapshots } from './snapshots.ts';
import { treeExports } from './exports.ts';
import { treeImports } from './imports.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

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
  const { importVolume } = treeImports(parts);
  const derive = treeDerive(parts);

  /** For work that needs disk space and cannot be repeated. */
  const afterRemovals =
    <Rest extends readonly unknown[]>(make: (pool: PoolSpec, ...rest: Rest) => Promise<void>) =>
    async (pool: PoolSpec, ...rest: Rest): Promise<void> => {
      await staging.settled(kind.root(pool));
      await make(pool, ...rest);
    };

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
    ...treeVolumes({ ...parts, fill, images, deleteSnapshots: snapshots.deleteAll }),
    ...snapshots.methods,
    ...treeExports(parts),
    ...derive,
    createSnapshot: afterRemovals(snapshots.methods.createSnapshot),
    restoreSnapshot: afterRemovals(snapshots.methods.restoreSnapshot),
    importVolume: afterRemovals(importVolume),
    deriveVolume: afterRemovals(derive.deriveVolume),
  };
  const { withFiles, useMountOptions, canLimit, usedIn, subvolumes } = kind;
  const tools = { ...staging, alone: (path: string, work: () => Promise<void>) => mutex.run(path, work) };
  const whole: StorageDriver = {
    ...driver,
    ...withoutUndefined({ canLimit }),
    ...(usedIn === undefined ? {} : { usedBytes: (pool, volume) => usedIn(pathOf(pool, volume)) }),
    ...withoutUndefined({ withFiles }),
    ...(subvolumes === undefined ? {} : { subvolumes: subvolumes(tools) }),
    ...(useMountOptions === undefined
      ? {}
      : { useMountOptions: (pool, volume, options) => useMountOptions(pathOf(pool, volume), options) }),
  };
  return kind.isDurable === true ? whole : { ...whole, ...durably((pool) => kind.root(pool), driver) };
}
