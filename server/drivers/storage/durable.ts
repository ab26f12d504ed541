// Writes a pool's volumes to the disk before they are acknowledged: all of a volume where the pool says so or the source may go, else names.
import { dirname } from 'node:path';
import { isTrue } from '../../api/text/value-checks.ts';
import { syncDirectory } from '../../lib/durable-files.ts';
import { syncTree } from './copy-tree.ts';
import type { PoolSpec, StorageDriver } from './driver.ts';
import { snapshotPathIn, volumePathIn } from './layout.ts';

type Durable = Pick<
  StorageDriver,
  | 'createVolume'
  | 'createSnapshot'
  | 'restoreSnapshot'
  | 'deriveVolume'
  | 'importVolume'
  | 'renameVolume'
  | 'renameSnapshot'
  | 'deleteVolume'
  | 'deleteSnapshot'
>;

const isSynced = (pool: PoolSpec): boolean => isTrue(pool.config['sync.volumes'] ?? '');

/** The same methods, each resolving when its effect survives a power cut as far as this pool promises. The sync of a container's record
 *  also covers its name, on one file system. */
export function durably(rootOf: (pool: PoolSpec) => string, driver: Durable): Durable {
  const whole = (pool: PoolSpec): Promise<void> => syncTree(rootOf(pool), new AbortController().signal);
  const wholeIfWanted = async (pool: PoolSpec): Promise<void> => {
    if (isSynced(pool)) await whole(pool);
  };
  return {
    async createVolume(pool, volume, source, progress, signal) {
      await driver.createVolume(pool, volume, source, progress, signal);
      // The tree of another pool goes when a volume moves.
      if (isSynced(pool) || source.kind === 'tree') await whole(pool);
      else if (volume.type === 'custom') await syncDirectory(dirname(volumePathIn(rootOf(pool), volume)));
    },
    async createSnapshot(pool, snapshot, source, signal) {
      await driver.createSnapshot(pool, snapshot, source, signal);
      if (isSynced(pool) || source.kind === 'tree') await whole(pool);
      else if (snapshot.volume.type === 'custom') await syncDirectory(dirname(snapshotPathIn(rootOf(pool), snapshot)));
    },
    async importVolume(pool, to, bytes, form, signal) {
      await driver.importVolume(pool, to, bytes, form, signal);
      // The sender may delete its own copy.
      await whole(pool);
    },
    async restoreSnapshot(pool, snapshot, signal) {
      await driver.restoreSnapshot(pool, snapshot, signal);
      await wholeIfWanted(pool);
    },
    async deriveVolume(pool, from, to, change, signal) {
      await driver.deriveVolume(pool, from, to, change, signal);
      await wholeIfWanted(pool);
    },
    async renameVolume(pool, volume, newName) {
      await driver.renameVolume(pool, volume, newName);
      await syncDirectory(dirname(volumePathIn(rootOf(pool), volume)));
    },
    async renameSnapshot(pool, snapshot, newName) {
      await driver.renameSnapshot(pool, snapshot, newName);
      await syncDirectory(dirname(snapshotPathIn(rootOf(pool), snapshot)));
    },
    async deleteVolume(pool, volume) {
      await driver.deleteVolume(pool, volume);
      await wholeIfWanted(pool);
    },
    async deleteSnapshot(pool, snapshot) {
      await driver.deleteSnapshot(pool, snapshot);
      await wholeIfWanted(pool);
    },
  };
}
