// The `dir` storage driver: a pool is a directory, a volume a directory in it, a snapshot a copy.
import { randomUUID } from 'node:crypto';
import { mkdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasCode } from '../../lib/shared/error-code.ts';
import type { Log } from '../../lib/log.ts';
import { driverErrors } from '../driver-error.ts';
import { copyGuestTreeInto, copyTree, shareTree } from './copy-tree.ts';
import { checkDirPool, createDirPool, createSharedPool, emptyDirPool, mountDirPool } from './dir-pool.ts';
import type { PoolSpec, StorageDriver, UnpackImage } from './driver.ts';
import { poolSource } from './layout.ts';
import { ProjectQuotas } from './quota/project-quotas.ts';
import { removeTree } from './remove-tree.ts';
import {
  checkMarker,
  type ClusterPart,
  isShared,
  readMarker,
  removeMarker,
  tagOf,
  wantedMarker,
} from './shared-place.ts';
import { openTreeDriver } from './trees/driver.ts';

export interface DirStorageDeps {
  /** Pools without a `source` are made here; its parent is the state directory of the daemon. */
  readonly root: string;
  readonly unpackImage: UnpackImage;
  /** `ignore` when the daemon is not root: everything then belongs to the daemon's own user. */
  readonly ownership: 'keep' | 'ignore';
  readonly log: Log;
  /** The part of this host in its cluster, now; absent or undefined: it is in none. */
  readonly cluster?: () => ClusterPart | undefined;
}

export function openDirStorage(deps: DirStorageDeps): StorageDriver {
  const sourceOf = (pool: PoolSpec): string => poolSource(deps.root, dirname(deps.root), pool);
  const quotas = new ProjectQuotas();
  const makeTree = async (path: string): Promise<void> => {
    await mkdir(path, { mode: 0o700 });
    quotas.begin(path);
  };
  const copyGuest = async (from: string, to: string, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    await makeTree(to);
    await copyGuestTreeInto(from, to, deps.ownership === 'keep', signal);
  };
  const copySettled = async (from: string, to: string, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    await makeTree(to);
    await copyTree(from, to, signal);
  };
  const remove = (path: string): Promise<void> => quotas.forget(path, () => removeTree(path));

  const cluster = (): ClusterPart | undefined => deps.cluster?.();
  /** Ids of shared pools that this host is the first to make. */
  const begun = new Set<string>();

  return openTreeDriver(
    {
      name: 'dir',
      capabilities: { cheapCopies: false, quotas: true, snapshots: true },
      canLimit: (pool) => quotas.holdIn(sourceOf(pool)),
      root: sourceOf,
      tag: () => tagOf(cluster()),
      fillConfig: async (pool) => {
        const config = fillDirConfig(deps.root, pool);
        if (!isShared(pool) || (config['source.shared.id'] ?? '') !== '') return config;
        const id = randomUUID();
        begun.add(id);
        return { ...config, 'source.shared.id': id };
      },
      createPool: async (pool) => {
        const source = sourceOf(pool);
        if (!isShared(pool)) {
          await createDirPool(deps.root, source, pool.name);
          return quotas.find(source);
        }
        const marker = wantedMarker(pool, cluster());
        await createSharedPool(deps.root, source, pool.name, marker, begun.has(marker.pool));
      },
      async deletePool(pool) {
        const source = sourceOf(pool);
        if (isShared(pool)) return deleteSharedPool(source, pool, cluster());
        await emptyDirPool(source, pool.name, remove);
        // A directory that the user gave stays; so does anything in it that is not ours.
        if (source !== join(deps.root, pool.name)) return;
        await rmdir(source).catch((error: unknown) => {
          if (hasCode(error, 'ENOENT')) return;
          throw driverErrors.failed(`cannot delete the directory ${source} of pool ${pool.name}`, error);
        });
      },
      findPool: async (pool) => {
        await checkDirPool(sourceOf(pool), pool.name);
        return { ...pool.config, source: sourceOf(pool) };
      },
      applyConfig: async (pool) => {
        if (isShared(pool)) await checkMarker(sourceOf(pool), pool.name, wantedMarker(pool, cluster()));
      },
      mountPool: async (pool, busy) => {
        const source = sourceOf(pool);
        if (!isShared(pool)) {
          await quotas.find(source);
          return mountDirPool(source, pool.name, busy, remove);
        }
        await checkMarker(source, pool.name, wantedMarker(pool, cluster()));
        const tag = tagOf(cluster());
        await mountDirPool(source, pool.name, busy, removeTree, (entry) => entry.startsWith(tag));
      },
      makeTree,
      copyTree: (from, to, by, signal) => (by === 'guest' ? copyGuest : copySettled)(from, to, signal),
      importTree: copyGuest,
      shareTree: async (from, to, signal) => {
        await mkdir(to, { mode: 0o700 });
        quotas.share(to, from);
        await shareTree(from, to, signal).catch(async (error: unknown) => {
          // Files that are older than their tree's project cannot be shared.
          if (signal.aborted || !quotas.holdIn(dirname(dirname(to)))) throw error;
          await removeTree(to);
          await copySettled(from, to, signal);
        });
      },
      removeTree: remove,
      limitTree: (path, bytes, { mustHold = false }) => quotas.limit(path, bytes, mustHold),
      limitsIn: (root) => Promise.resolve(quotas.limitsIn(root)),
      usedIn: (path) => Promise.resolve(quotas.used(path)),
    },
    deps,
  );
}

/** A place that is not (any more) that of this pool, or whose cluster this host has left, stays as it is. */
async function deleteSharedPool(source: string, pool: PoolSpec, cluster: ClusterPart | undefined): Promise<void> {
  const found = await readMarker(source);
  if (found === undefined || found.cluster !== cluster?.id || found.pool !== pool.config['source.shared.id']) return;
  await emptyDirPool(source, pool.name, removeTree);
  await removeMarker(source);
}

/** Does not access the disk. */
export function fillDirConfig(root: string, pool: PoolSpec): Record<string, string> {
  if ((pool.config['size'] ?? '') !== '')
    throw driverErrors.invalid('config.size: a dir pool has no size of its own; use btrfs, lvm or zfs for one');
  if (isShared(pool) && (pool.config['source'] ?? '') === '')
    throw driverErrors.invalid(
      'config.source: a shared pool needs the directory where every member mounts the file system',
    );
  if (!isShared(pool) && (pool.config['source.shared.id'] ?? '') !== '')
    throw driverErrors.invalid('config.source.shared.id: is of shared pools only; set source.shared, too');
  return { ...pool.config, source: poolSource(root, dirname(root), pool) };
}
