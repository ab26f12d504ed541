// Streams trees together with the subvolumes that guests made in them, one stream for each, as LXD does between pools of btrfs.
import { mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { driverErrors } from '../../driver-error.ts';
import { asDriverError, syncTree } from '../copy-tree.ts';
import type { HeldTree, PoolSpec, Subvolume, SubvolumeStreams, TreeRef } from '../driver.ts';
import { treePathIn } from '../layout.ts';
import { directoryNames } from '../trees/names.ts';
import type { TreeTools } from '../trees/kind.ts';
import { guardedSource, isSuccess, readFrom, untilEnd, writeTo } from '../trees/stream.ts';
import { labelOf } from '../trees/deps.ts';
import { closeTree } from '../trees/imports.ts';
import { commands, endCommand } from './commands.ts';
import { at, findNested, hasNested, isSealed, putInto } from './nested.ts';
import { run } from './pool.ts';

export interface SubvolumeDeps extends TreeTools {
  readonly rootOf: (pool: PoolSpec) => string;
  readonly removeTree: (path: string) => Promise<void>;
}

export function subvolumeStreams({ rootOf, removeTree, ...tools }: SubvolumeDeps): SubvolumeStreams {
  const pathOf = (pool: PoolSpec, tree: TreeRef): string => treePathIn(rootOf(pool), tree);

  async function receiveTree(
    pool: PoolSpec,
    { to, subvolumes }: { readonly to: TreeRef; readonly subvolumes: readonly Subvolume[] },
    scratch: string,
    { next, settle, signal }: { next: () => Incoming; settle: (path: string) => Promise<void>; signal: AbortSignal },
  ): Promise<void> {
    const received: string[] = [];
    for (const [index] of subvolumes.entries()) {
      const kept = `${scratch}.${index}`;
      const incoming = next();
      await receiveInto(kept, incoming.bytes, removeTree, signal);
      await incoming.drain();
      received.push(kept);
    }
    const path = pathOf(pool, to);
    if (await directoryNames.has(path)) throw driverErrors.exists('it exists');
    if (to.snapshot !== undefined) await mkdir(dirname(path), { mode: 0o700, recursive: true });
    await tools.build(rootOf(pool), path, async (fresh) => {
      await assemble(fresh, subvolumes, received, signal);
      await settle(fresh);
      await closeTree(fresh, to.volume, true);
    });
    if (to.snapshot !== undefined && subvolumes.length === 1) await run(commands.seal(path));
  }

  return {
    async send(pool, trees, use, signal) {
      await tools.scratch(rootOf(pool), async (temporary) => {
        await mkdir(temporary, { mode: 0o700 });
        const held: HeldTree[] = [];
        for (const [index, tree] of trees.entries()) {
          const path = pathOf(pool, tree);
          if (!(await directoryNames.isTree(path))) throw driverErrors.notFound(`there is no ${labelOf(tree)}`);
          held.push(await hold(path, join(temporary, String(index)), signal));
        }
        await use(held);
      });
    },
    async receive(pool, trees, next, settle, signal) {
      const [first] = trees;
      if (first === undefined) return;
      let broken: { readonly error: unknown } | undefined;
      const guarded = (): Incoming => {
        const incoming = next();
        return { ...incoming, bytes: guardedSource(incoming.bytes, (error) => (broken = { error })).bytes };
      };
      const receiveAll = async (temporary: string): Promise<void> => {
        await mkdir(temporary, { mode: 0o700 });
        for (const [index, tree] of trees.entries())
          try {
            await receiveTree(pool, tree, join(temporary, String(index)), { next: guarded, settle, signal });
          } catch (error) {
            signal.throwIfAborted();
            if (broken !== undefined) throw broken.error;
            throw asDriverError(`cannot make ${labelOf(tree.to)} in pool ${pool.name}`, error);
          }
      };
      const volume = pathOf(pool, { volume: first.to.volume });
      await tools.alone(volume, () => tools.scratch(rootOf(pool), receiveAll));
      // The sender may delete its own copy.
      await syncTree(rootOf(pool), signal);
    },
  };
}

type Incoming = ReturnType<Parameters<SubvolumeStreams['receive']>[2]>;

/** Read-only copies of what can change, called `copies.0` and so on. A sealed tree has no subvolumes inside. */
async function hold(path: string, copies: string, signal: AbortSignal): Promise<HeldTree> {
  const places = [{ path: '/', place: path, isReadonly: false }];
  if (!(await isSealed(path))) {
    const inside = (await hasNested(path)) ? await findNested(path) : [];
    for (const [index, name] of ['', ...inside].entries()) {
      const place = `${copies}.${index}`;
      const isReadonly = await at(path, name, async (named) => {
        await run(commands.snapshot(named, place, 'readonly'), undefined, signal);
        return isSealed(named);
      });
      places[index] = { path: `/${name}`, place, isReadonly };
    }
  }
  const placeIn = (tree: HeldTree | undefined, wanted: string): string | undefined =>
    (tree?.subvolumes as typeof places | undefined)?.find((each) => each.path === wanted)?.place;
  const tree: HeldTree = {
    subvolumes: places,
    async stream(wanted, parent, consume) {
      const place = placeIn(tree, wanted);
      if (place === undefined) throw driverErrors.notFound(`there is no subvolume ${wanted}`);
      await readFrom(commands.send(place, placeIn(parent, wanted)), isSuccess, consume, signal);
    },
  };
  return tree;
}

/** Read-only at `kept`, so that later streams may build on it. */
async function receiveInto(
  kept: string,
  bytes: AsyncIterable<Buffer>,
  removeTree: (path: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const directory = `${kept}.new`;
  try {
    const received = await receiveOne(directory, bytes, signal);
    // Made again and not moved: what is read-only cannot leave its directory.
    await run(commands.snapshot(received, kept, 'readonly'), undefined, signal);
  } finally {
    await removeTree(directory);
  }
}

/** Makes one read-only subvolume below `directory`, which is not there yet; its path. */
export async function receiveOne(
  directory: string,
  bytes: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<string> {
  await mkdir(directory, { mode: 0o700 });
  const whole = untilEnd(bytes, endCommand.length, (tail) => tail.equals(endCommand));
  await writeTo(commands.receive(directory), whole, signal);
  const [name, ...others] = await readdir(directory);
  if (name !== undefined && others.length === 0) return join(directory, name);
  throw driverErrors.failed(`the stream brought ${name === undefined ? 'nothing' : 'more than one volume'}`);
}

async function assemble(
  fresh: string,
  subvolumes: readonly Subvolume[],
  received: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  await run(commands.snapshot(received[0] ?? '', fresh, 'writable'), undefined, signal);
  const inside = subvolumes.slice(1).map(({ path, isReadonly }) => ({ path: path.slice(1), isReadonly }));
  for (const [index, { path }] of inside.entries()) await putInto(fresh, path, received[index + 1] ?? '', signal);
  for (const { path } of inside.filter(({ isReadonly }) => isReadonly).toReversed())
    await at(fresh, path, async (named) => void (await run(commands.seal(named))));
}
