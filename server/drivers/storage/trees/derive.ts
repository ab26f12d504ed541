// Derives a snapshot or volume from a copy of another one plus the caller's changes. Refreshes of copies use it.
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { driverErrors } from '../../driver-error.ts';
import { asDriverError } from '../copy-tree.ts';
import type { ChangingTree, PoolSpec, StorageDriver, TreeRef } from '../driver.ts';
import { snapshotPathIn, treePathIn, volumePathIn } from '../layout.ts';
import { leastSize } from './snapshots.ts';
import { type TreeKind, withFiles } from './kind.ts';
import { directoryNames } from './names.ts';
import { unpackTree, wholeTar, writeTo } from './stream.ts';
import { labelOf, type TreeDeps } from './deps.ts';
import { closeTree } from './imports.ts';

export function treeDerive(deps: TreeDeps): Pick<StorageDriver, 'deriveVolume' | 'streamId'> {
  const { kind, staging, mutex } = deps;
  const names = kind.names ?? directoryNames;
  const pathOf = (pool: PoolSpec, tree: TreeRef): string => treePathIn(kind.root(pool), tree);

  /** A snapshot never shares files with a volume, which is written to in place; the old volume and the new one may, since one goes. */
  const copy = (from: TreeRef, to: TreeRef): TreeKind['copyTree'] => {
    const canShare =
      from.volume.name === to.volume.name && (from.snapshot === undefined) === (to.snapshot === undefined);
    const { shareTree } = kind;
    if (!canShare || shareTree === undefined)
      return (source, target, by, signal) => kind.copyTree(source, target, by, signal, leastSize(to.volume));
    return (source, target, _by, signal) => shareTree(source, target, signal);
  };

  async function derive(
    pool: PoolSpec,
    from: TreeRef,
    to: TreeRef,
    change: (tree: ChangingTree) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const [root, path] = [kind.root(pool), pathOf(pool, to)];
    const fill = async (temporary: string): Promise<void> => {
      await copy(from, to)(pathOf(pool, from), temporary, 'settled', signal);
      const unpack = (bytes: AsyncIterable<Buffer>): Promise<void> =>
        writeTo(unpackTree(temporary, '.', deps.asRoot), wholeTar(bytes), signal);
      await withFiles(kind, temporary, async () => {
        await change({ path: temporary, unpack });
        await closeTree(temporary, to.volume, deps.asRoot);
      });
    };
    if (to.snapshot === undefined) return staging.make(root, fill, (fresh) => deps.swapIn(root, to.volume, fresh));
    await mkdir(dirname(path), { mode: 0o700, recursive: true });
    await staging.build(root, path, fill);
    // A tree with subvolumes inside stays open, as one that createSnapshot made: sealed ones count as having none.
    if ((await kind.atomic?.isWhole(path)) === true) await kind.atomic?.seal(path);
  }

  return {
    async deriveVolume(pool, from, to, change, signal) {
      const what = `cannot make ${labelOf(to)} in pool ${pool.name} of ${labelOf(from)}`;
      signal.throwIfAborted();
      await mutex.run(volumePathIn(kind.root(pool), to.volume), async () => {
        if (to.snapshot !== undefined && (await names.has(pathOf(pool, to))))
          throw driverErrors.exists(`${what}: it exists`);
        if (!(await names.isTree(pathOf(pool, from)))) throw driverErrors.notFound(`${what}: there is none`);
        // Errors of the caller's own work pass unchanged.
        let refused: { readonly error: unknown } | undefined;
        const watched = async (tree: ChangingTree): Promise<void> =>
          change(tree).catch((error: unknown) => {
            refused = { error };
            throw error;
          });
        try {
          await derive(pool, from, to, watched, signal);
        } catch (error) {
          if (to.snapshot !== undefined) await deps.dropUnused(kind.root(pool), to.volume);
          if (signal.aborted) throw signal.reason;
          throw asDriverError(what, refused === undefined ? error : refused.error);
        }
      });
    },
    async streamId(pool, snapshot) {
      const path = snapshotPathIn(kind.root(pool), snapshot);
      return kind.native !== undefined && (await names.isTree(path)) ? kind.native.idOf(path) : undefined;
    },
  };
}
