// Volumes and snapshots made of streams of bytes, in a pool of trees.
import { chmod, chown, lstat, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exec } from '../../../lib/exec.ts';
import { driverErrors } from '../../driver-error.ts';
import { asDriverError } from '../copy-tree.ts';
import type { ImportForm, PoolSpec, StorageDriver, TreeRef, VolumeRef } from '../driver.ts';
import { snapshotsPathIn, volumePathIn } from '../layout.ts';
import { labelOf, noNative, pathOfTree, type TreeDeps } from './deps.ts';
import { withFiles } from './kind.ts';
import { directoryNames } from './names.ts';
import { guardedSource, unpackTree, wholeTar, writeTo } from './stream.ts';

const hourMs = 3_600_000;

export function treeImports(deps: TreeDeps): Pick<StorageDriver, 'importVolume'> {
  const { kind, staging, mutex } = deps;
  const names = kind.names ?? directoryNames;
  const pathOf = (pool: PoolSpec, tree: TreeRef): string => pathOfTree(kind, pool, tree);

  async function receiveTar(
    pool: PoolSpec,
    to: TreeRef,
    bytes: AsyncIterable<Buffer>,
    form: ImportForm & { kind: 'tar' },
    signal: AbortSignal,
  ): Promise<void> {
    const path = pathOf(pool, to);
    await put(pool, to, form, async (temporary) => {
      await kind.makeTree(temporary, to.volume.shape);
      await writeTo(unpackTree(temporary, form.prefix ?? '.', deps.asRoot), wholeTar(bytes), signal);
      if (form.strange === true && deps.asRoot) await dropNodes(temporary, signal);
      if (!deps.asRoot) await exec(['chmod', '-R', 'u+rwX', '--', temporary], { timeoutMs: hourMs }, signal);
      await closeTree(temporary, to.volume, deps.asRoot);
    });
    if (to.snapshot !== undefined) await kind.atomic?.seal(path);
  }

  /** Where it belongs, once it is whole. */
  function put(pool: PoolSpec, to: TreeRef, { replace }: ImportForm, fill: (temporary: string) => Promise<void>) {
    const root = kind.root(pool);
    if (replace !== true) return staging.build(root, pathOf(pool, to), fill);
    return staging.make(root, fill, (temporary) => deps.swapIn(root, to.volume, temporary));
  }

  async function receiveNative(
    pool: PoolSpec,
    to: TreeRef,
    bytes: AsyncIterable<Buffer>,
    form: ImportForm & { kind: 'native' },
    signal: AbortSignal,
  ): Promise<void> {
    const { native } = kind;
    if (native === undefined) throw noNative(pool);
    const root = kind.root(pool);
    const kept = snapshotsPathIn(root, to.volume);
    const kin = async (): Promise<readonly string[]> => (await names.treesIn(kept)).map((name) => join(kept, name));
    await staging.scratch(root, async (temporary) => {
      const received = await native.receive(temporary, bytes, kin, signal, form.strange);
      if (form.strange === true) await withFiles(kind, received, () => refuseNodes(received, signal));
      if (to.snapshot !== undefined) {
        await withFiles(kind, received, () => checkParts(received, to.volume));
        return native.keep(received, pathOf(pool, to), signal);
      }
      await put(pool, to, form, async (fresh) => {
        await native.settle(received, fresh, signal);
        await withFiles(kind, fresh, () => closeTree(fresh, to.volume, deps.asRoot));
      });
    });
  }

  return {
    async importVolume(pool, to, bytes, form, signal) {
      const path = pathOf(pool, to);
      const what = `cannot make ${labelOf(to)} in pool ${pool.name}`;
      if (to.volume.type === 'image') throw driverErrors.invalid('the volume of an image is not made of a stream');
      signal.throwIfAborted();
      await mutex.run(volumePathIn(kind.root(pool), to.volume), async () => {
        if (form.replace !== true && (await names.has(path))) throw driverErrors.exists(`${what}: it exists`);
        const source = guardedSource(bytes);
        try {
          if (to.snapshot !== undefined) await mkdir(dirname(path), { mode: 0o700, recursive: true });
          if (form.kind === 'native') await receiveNative(pool, to, source.bytes, form, signal);
          else await receiveTar(pool, to, source.bytes, form, signal);
        } catch (error) {
          if (to.snapshot !== undefined) await deps.dropUnused(kind.root(pool), to.volume);
          if (signal.aborted) throw signal.reason;
          const broken = source.broken();
          if (broken !== undefined) throw broken.error;
          throw asDriverError(what, error);
        }
      });
    },
  };
}

/** Users who may enter a container's volume from the host may run its setuid files. Throws Invalid for what cannot be a container's. */
export async function closeTree(path: string, volume: VolumeRef, asRoot: boolean): Promise<void> {
  if (volume.type === 'custom') return;
  await checkParts(path, volume);
  await chmod(path, 0o700);
  if (asRoot) await chown(path, 0, 0);
}

/** A link as `rootfs` would make a directory of the host the root of the container. */
async function checkParts(path: string, volume: VolumeRef): Promise<void> {
  if (volume.type !== 'container') return;
  const rootfs = await lstat(join(path, 'rootfs')).catch(() => undefined);
  if (rootfs?.isDirectory() === true) return;
  const found = rootfs === undefined ? 'missing' : rootfs.isSymbolicLink() ? 'a symbolic link' : 'no directory';
  throw driverErrors.invalid(`these are no files of a container: rootfs is ${found}, and must be a directory`);
}

const nodes = ['-xdev', '(', '-type', 'b', '-o', '-type', 'c', ')'] as const;

/** Nodes in a root file system on a host disk would work for the guest; 0:0 stands for a deleted file in layered file systems. */
async function dropNodes(path: string, signal: AbortSignal): Promise<void> {
  const drop = 'for node; do [ "$(stat -c %t:%T -- "$node")" = 0:0 ] || rm -f -- "$node"; done';
  await exec(['find', path, ...nodes, '-exec', 'sh', '-c', drop, 'sh', '{}', '+'], { timeoutMs: hourMs }, signal);
}

/** What the file system made of a stream itself is not to be changed. */
async function refuseNodes(path: string, signal: AbortSignal): Promise<void> {
  const show = 'for node; do [ "$(stat -c %t:%T -- "$node")" = 0:0 ] || echo node; done';
  const { stdout } = await exec(
    ['find', path, ...nodes, '-exec', 'sh', '-c', show, 'sh', '{}', '+'],
    { timeoutMs: hourMs },
    signal,
  );
  if (stdout !== '')
    throw driverErrors.invalid('the stream has device nodes, which only a privileged container may have');
}
