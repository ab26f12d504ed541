// Snapshots of volumes that are trees: made, dropped, renamed beside their volume, and put back in its place.
import { existsSync } from 'node:fs';
import { mkdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasCode } from '../../../lib/shared/error-code.ts';
import type { KeyedMutex } from '../../../lib/keyed-mutex.ts';
import { type Log, logFailure } from '../../../lib/log.ts';
import { driverErrors } from '../../driver-error.ts';
import { asDriverError } from '../copy-tree.ts';
import type { PoolSpec, SnapshotRef, SnapshotSource, StorageDriver, VolumeRef, VolumeShape } from '../driver.ts';
import { replacedPathIn, snapshotPathIn, snapshotsPathIn, volumePathIn } from '../layout.ts';
import type { TreeKind } from './kind.ts';
import { directoryNames } from './names.ts';
import type { TreeStaging } from './staging.ts';

interface Deps {
  readonly kind: TreeKind;
  readonly staging: TreeStaging;
  /** Held per path of a volume. */
  readonly mutex: KeyedMutex;
  readonly log: Log;
}

type Methods = Pick<
  StorageDriver,
  'snapshotPath' | 'createSnapshot' | 'restoreSnapshot' | 'deleteSnapshot' | 'renameSnapshot' | 'listSnapshots'
>;

export interface TreeSnapshots {
  readonly methods: Methods;
  /** The caller holds the volume's lock. */
  readonly deleteAll: (pool: PoolSpec, volume: VolumeRef) => Promise<void>;
  /** The finished tree `fresh` takes the place of the volume. The caller holds the volume's lock. */
  readonly swapIn: (root: string, volume: VolumeRef, fresh: string) => Promise<void>;
  /** After a snapshot could not be made: removes the folder that it would have been in, if no other is there. Logs failures. */
  readonly dropUnused: (root: string, volume: VolumeRef) => Promise<void>;
}

export function treeSnapshots({ kind, staging, mutex, log }: Deps): TreeSnapshots {
  const names = kind.names ?? directoryNames;
  const rootOf = (pool: PoolSpec): string => kind.root(pool);
  const pathOf = (pool: PoolSpec, snapshot: SnapshotRef): string => snapshotPathIn(rootOf(pool), snapshot);

  async function fill(
    pool: PoolSpec,
    snapshot: SnapshotRef,
    source: SnapshotSource,
    signal: AbortSignal,
  ): Promise<void> {
    const root = rootOf(pool);
    const path = pathOf(pool, snapshot);
    const from =
      source.kind === 'tree'
        ? source.path
        : source.kind === 'copy'
          ? snapshotPathIn(root, source.from)
          : volumePathIn(root, snapshot.volume);
    if (source.kind !== 'tree' && !(await names.isTree(from)))
      throw driverErrors.notFound(`there is no directory ${from}`);
    if (source.kind === 'tree') {
      const shape = { ...(await kind.shapeOf?.(volumePathIn(root, snapshot.volume))), ...leastSize(snapshot.volume) };
      await staging.build(root, path, (temporary) => kind.importTree(from, temporary, signal, shape));
      await kind.atomic?.seal(path);
    } else if (kind.atomic === undefined || !(await kind.atomic.isWhole(from))) {
      const by = source.kind === 'now' ? 'guest' : 'settled';
      await staging.build(root, path, (temporary) => kind.copyTree(from, temporary, by, signal));
    } else {
      await kind.atomic.snapshot(from, path, signal);
    }
  }

  async function drop(root: string, path: string): Promise<void> {
    if (kind.atomic === undefined) await staging.remove(root, path);
    else if (await names.has(path)) await kind.atomic.drop(path);
  }

  async function namesOf(pool: PoolSpec, volume: VolumeRef): Promise<readonly string[]> {
    return names.treesIn(snapshotsPathIn(rootOf(pool), volume)).catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    });
  }

  /** The old content moves aside, the new one in; mountPool and the next restore know what to do with a half of that. */
  async function swapIn(root: string, volume: VolumeRef, fresh: string): Promise<void> {
    const [path, aside] = [volumePathIn(root, volume), replacedPathIn(root, volume, kind.tag?.())];
    staging.busy.add(aside);
    try {
      if (await names.has(aside)) await settleAside(root, path, aside);
      await names.move(path, aside);
      await names.move(fresh, path).catch(async (error: unknown) => {
        await names.move(aside, path).catch(logFailure(log, `Moving ${aside} back to ${path}`));
        throw error;
      });
      await staging.remove(root, aside);
    } finally {
      staging.busy.delete(aside);
    }
  }

  async function settleAside(root: string, path: string, aside: string): Promise<void> {
    if (await names.has(path)) await staging.remove(root, aside);
    else await names.move(aside, path);
  }

  const dropUnused = (root: string, volume: VolumeRef): Promise<void> => {
    const directory = snapshotsPathIn(root, volume);
    return removeEmpty(directory).catch(logFailure(log, `Removing ${directory}`));
  };

  const methods: Methods = {
    snapshotPath: pathOf,
    async createSnapshot(pool, snapshot, source, signal) {
      const path = pathOf(pool, snapshot);
      const what = `cannot make snapshot ${snapshot.snapshot} of ${nameOf(snapshot.volume)} in pool ${pool.name}`;
      signal.throwIfAborted();
      await mutex.run(volumePathIn(rootOf(pool), snapshot.volume), async () => {
        if (await names.has(path)) throw driverErrors.exists(`${what}: it exists`);
        if (!(await names.isTree(volumePathIn(rootOf(pool), snapshot.volume))))
          throw driverErrors.notFound(`${what}: there is no such volume`);
        try {
          await mkdir(dirname(path), { mode: 0o700, recursive: true });
          await fill(pool, snapshot, source, signal);
        } catch (error) {
          await dropUnused(rootOf(pool), snapshot.volume);
          if (signal.aborted) throw signal.reason;
          throw asDriverError(what, error);
        }
      });
    },
    async restoreSnapshot(pool, snapshot, signal) {
      const { volume } = snapshot;
      const root = rootOf(pool);
      const from = pathOf(pool, snapshot);
      const what = `cannot restore snapshot ${snapshot.snapshot} of ${nameOf(volume)} in pool ${pool.name}`;
      signal.throwIfAborted();
      await mutex.run(volumePathIn(root, volume), async () => {
        if (!(await names.isTree(from))) throw driverErrors.notFound(`${what}: there is no such snapshot`);
        try {
          await staging.make(
            root,
            (temporary) => kind.copyTree(from, temporary, 'settled', signal, sizeOnly(volume.shape)),
            (temporary) => swapIn(root, volume, temporary),
          );
        } catch (error) {
          if (signal.aborted) throw signal.reason;
          throw asDriverError(what, error);
        }
      });
    },
    async deleteSnapshot(pool, snapshot) {
      const path = pathOf(pool, snapshot);
      await mutex.run(volumePathIn(rootOf(pool), snapshot.volume), async () => {
        await drop(rootOf(pool), path);
        await removeEmpty(dirname(path));
      });
    },
    async renameSnapshot(pool, snapshot, newName) {
      const [from, to] = [pathOf(pool, snapshot), pathOf(pool, { volume: snapshot.volume, snapshot: newName })];
      if (from === to) return;
      await mutex.run(volumePathIn(rootOf(pool), snapshot.volume), async () => {
        const [hasOld, hasNew] = [await names.has(from), await names.has(to)];
        const what = `cannot rename snapshot ${snapshot.snapshot} of ${nameOf(snapshot.volume)} to ${newName}`;
        if (hasOld && hasNew) throw driverErrors.exists(`${what}: ${newName} exists`);
        if (!hasOld && !hasNew) throw driverErrors.notFound(`${what}: it does not exist`);
        if (!hasOld) return;
        await names.move(from, to).catch((error: unknown) => {
          throw asDriverError(what, error);
        });
      });
    },
    listSnapshots: async (pool, volume) => (await namesOf(pool, volume)).toSorted(),
  };

  return {
    methods,
    swapIn,
    dropUnused,
    async deleteAll(pool, volume) {
      const root = rootOf(pool);
      const directory = snapshotsPathIn(root, volume);
      // Most volumes have none, and a look takes a tenth of asking a thread.
      if (kind.names === undefined && !existsSync(directory)) return;
      for (const name of await namesOf(pool, volume)) await drop(root, join(directory, name));
      await removeEmpty(directory);
    },
  };
}

/** The kind and the file system stay those of the snapshot. */
const sizeOnly = ({ bytes }: VolumeShape = {}): VolumeShape => (bytes === undefined ? {} : { bytes });

/** A copy of a tree keeps its shape, and has at least this size. */
export const leastSize = ({ shape: { minBytes } = {} }: VolumeRef): VolumeShape =>
  minBytes === undefined ? {} : { minBytes };

const nameOf = (volume: VolumeRef): string => `${volume.type} volume ${volume.name}`;

/** Leaves a directory that is missing or not empty. */
async function removeEmpty(directory: string): Promise<void> {
  await rmdir(directory).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT') && !hasCode(error, 'ENOTEMPTY') && !hasCode(error, 'EEXIST')) throw error;
  });
}
