// Volumes and snapshots as streams of bytes, out of a pool of trees.
import { driverErrors } from '../../driver-error.ts';
import { asDriverError, boundsOf } from '../copy-tree.ts';
import type { ExportForm, PoolSpec, StorageDriver, TreeRef } from '../driver.ts';
import { membersOf } from '../tar-part.ts';
import { labelOf, noNative, pathOfTree, type TreeDeps } from './deps.ts';
import { type TreeKind, withFiles } from './kind.ts';
import { directoryNames } from './names.ts';
import { guardedSource, isPacked, isSuccess, packTree, readFrom, type Consume } from './stream.ts';

export function treeExports({
  kind,
  staging,
  asRoot,
}: TreeDeps): Pick<StorageDriver, 'holdStill' | 'hasNativeForm' | 'exportVolume'> {
  const names = kind.names ?? directoryNames;
  const pathOf = (pool: PoolSpec, tree: TreeRef): string => pathOfTree(kind, pool, tree);

  /** What does not change while it is read, where the file system can hold it still. */
  async function still(pool: PoolSpec, from: TreeRef, use: (path: string) => Promise<void>, signal: AbortSignal) {
    const path = pathOf(pool, from);
    if (!(await names.isTree(path))) throw driverErrors.notFound(`there is no ${labelOf(from)}`);
    const { atomic } = kind;
    if (from.snapshot !== undefined || from.moment !== undefined || atomic === undefined)
      return withFiles(kind, path, () => use(path));
    await staging.scratch(kind.root(pool), async (temporary) => {
      await freeze(atomic, path, temporary, signal);
      await withFiles(kind, temporary, () => use(temporary));
    });
  }

  async function freeze(atomic: NonNullable<TreeKind['atomic']>, path: string, to: string, signal: AbortSignal) {
    if (await atomic.isWhole(path)) await atomic.snapshot(path, to, signal);
    else await kind.copyTree(path, to, 'guest', signal);
  }

  async function send(pool: PoolSpec, from: TreeRef, form: ExportForm, consume: Consume, signal: AbortSignal) {
    if (form.kind === 'native') {
      const { native } = kind;
      if (native === undefined) throw noNative(pool);
      await native.check(pathOf(pool, from));
      const parent =
        form.parent === undefined ? undefined : pathOf(pool, { volume: from.volume, snapshot: form.parent });
      if (parent !== undefined && !(await names.isTree(parent)))
        throw driverErrors.notFound(`there is no ${labelOf({ ...from, snapshot: form.parent ?? '' })}`);
      return still(
        pool,
        from,
        async (path) => readFrom(await native.send(path, parent), isSuccess, consume, signal),
        signal,
      );
    }
    const { ownerOf, isPart, prefix = '.', without = [] } = form;
    const isPlain = isPart !== true && ownerOf === undefined;
    const end = isPart === true ? [] : [Buffer.alloc(1024)];
    const convert: Consume = (bytes) => (isPlain ? consume(bytes) : consume(joined(membersOf(bytes, ownerOf), end)));
    await still(
      pool,
      from,
      async (path) => {
        const bounds = await boundsOf(path);
        await readFrom(packTree(path, { prefix, without, bounds, asRoot: asRoot }), isPacked, convert, signal);
      },
      signal,
    );
  }

  return {
    async holdStill(pool, volume, use, signal) {
      const path = pathOf(pool, { volume });
      if (!(await names.isTree(path))) throw driverErrors.notFound(`there is no ${labelOf({ volume })}`);
      const { atomic } = kind;
      if (atomic === undefined) return use({ from: { volume }, path, isStill: false });
      await staging.scratch(kind.root(pool), async (moment) => {
        await freeze(atomic, path, moment, signal);
        await withFiles(kind, moment, () => use({ from: { volume, moment }, path: moment, isStill: true }));
      });
    },
    hasNativeForm: async (pool, from) => (await kind.native?.canSend(pathOf(pool, from))) ?? false,
    async exportVolume(pool, from, form, consume, signal) {
      // What the receiver throws is the receiver's, also when it looks like an error of ours.
      let refused: { readonly error: unknown } | undefined;
      const watched: Consume = async (bytes) => {
        const source = guardedSource(bytes);
        await consume(source.bytes).catch((error: unknown) => {
          if (source.broken() === undefined) refused = { error };
          throw error;
        });
      };
      try {
        await send(pool, from, form, watched, signal);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (refused !== undefined) throw refused.error;
        throw asDriverError(`cannot read ${labelOf(from)} of pool ${pool.name}`, error);
      }
    },
  };
}

async function* joined(first: AsyncIterable<Buffer>, then: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* first;
  yield* then;
}
