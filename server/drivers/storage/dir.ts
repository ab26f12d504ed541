// The `dir` storage driver: a pool is a directory, a volume a directory in it, a snapshot a copy.
import { mkdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Log } from '../../lib/log.ts';
import { DriverError } from '../driver-error.ts';
import { copyGuestTree, copyTree, shareTree } from './copy-tree.ts';
import { createDirPool, emptyDirPool, mountDirPool } from './dir-pool.ts';
import type { PoolSpec, StorageDriver, UnpackImage } from './driver.ts';
import { poolSource } from './layout.ts';
import { hasCode, removeTree } from './remove-tree.ts';
import { openTreeDriver } from './tree-driver.ts';

export interface DirStorageDeps {
  /** Pools without a `source` are made here; its parent is the state directory of the daemon. */
  readonly root: string;
  readonly unpackImage: UnpackImage;
  /** `ignore` when the daemon is not root: everything then belongs to the daemon's own user. */
  readonly ownership: 'keep' | 'ignore';
  readonly log: Log;
}

export function openDirStorage(deps: DirStorageDeps): StorageDriver {
  const sourceOf = (pool: PoolSpec): string => poolSource(deps.root, dirname(deps.root), pool);
  const copyGuest = (from: string, to: string, signal: AbortSignal): Promise<void> =>
    copyGuestTree(from, to, deps.ownership === 'keep', signal);

  return openTreeDriver(
    {
      name: 'dir',
      capabilities: { cheapCopies: false, quotas: false, snapshots: true },
      root: sourceOf,
      fillConfig: async (pool) => fillDirConfig(deps.root, pool),
      createPool: async (pool) => createDirPool(deps.root, sourceOf(pool), pool.name),
      async deletePool(pool) {
        const source = sourceOf(pool);
        await emptyDirPool(source, pool.name, removeTree);
        // A directory that the user gave stays; so does anything in it that is not ours.
        if (source !== join(deps.root, pool.name)) return;
        await rmdir(source).catch((error: unknown) => {
          if (hasCode(error, 'ENOENT')) return;
          throw new DriverError('Failed', `cannot delete the directory ${source} of pool ${pool.name}`, error);
        });
      },
      applyConfig: () => Promise.resolve(),
      mountPool: async (pool, busy) => mountDirPool(sourceOf(pool), pool.name, busy, removeTree),
      makeTree: async (path) => {
        await mkdir(path, { mode: 0o700 });
      },
      copyTree: (from, to, by, signal) => (by === 'guest' ? copyGuest(from, to, signal) : copyTree(from, to, signal)),
      importTree: copyGuest,
      shareTree,
      removeTree,
      limitTree: async (_path, bytes) => {
        if (bytes !== undefined)
          throw new DriverError('NotSupported', 'a directory cannot be limited in size; use a btrfs pool for limits');
      },
    },
    deps,
  );
}

/** Looks at no disk. */
export function fillDirConfig(root: string, pool: PoolSpec): Record<string, string> {
  if ((pool.config['size'] ?? '') !== '')
    throw new DriverError(
      'Invalid',
      'config.size: a dir pool has no size of its own; use btrfs, lvm or zfs for limits',
    );
  return { ...pool.config, source: poolSource(root, dirname(root), pool) };
}
