// A store of block devices as files with loop devices, and a driver over it, to test the shared part of all block drivers on any kernel.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, realpath, rename, rm, stat, writeFile, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unpackImage } from '../../../server/drivers/image/unpack.ts';
import { commands as fileSystemCommands } from '../../../server/drivers/storage/blocks/commands.ts';
import { BlockTrees } from '../../../server/drivers/storage/blocks/blocks.ts';
import type { BlockStore, BlockVolume } from '../../../server/drivers/storage/blocks/store.ts';
import { DriverError } from '../../../server/drivers/driver-error.ts';
import { makeFolders } from '../../../server/drivers/storage/dir-pool.ts';
import type { PoolSpec, StorageDriver, UnpackImage } from '../../../server/drivers/storage/driver.ts';
import { openTreeDriver } from '../../../server/drivers/storage/trees/driver.ts';
import { hasCode } from '../../../server/lib/shared/error-code.ts';
import { exec } from '../../../server/lib/exec.ts';
import { KeyedMutex } from '../../../server/lib/keyed-mutex.ts';
import { silentLog } from '../../../server/lib/log.ts';
import type { StorageFixture } from '../../conformance/storage-world.ts';
import { buildBusyboxImage } from '../images/busybox.ts';
import { unmountBelow } from '../hosts/mounts.ts';

const unit = 1_048_576;

/** `broken`: called before each change with its name; throwing simulates the end of the process. */
export interface FileBlocks extends BlockStore {
  broken: (step: string) => void;
}

/** The files are in DIR/POOL, each beside its id. `clones`: whether copies are clones, as with thin volumes. */
export function fileBlocks(dir: string, clones: boolean): FileBlocks {
  const fileOf = (pool: PoolSpec, id: string): string =>
    join(dir, pool.name, createHash('sha256').update(id).digest('hex').slice(0, 20));
  const loopOf = async (file: string): Promise<string | undefined> => {
    const { stdout } = await exec(['losetup', '--noheadings', '--output', 'NAME', '--associated', file]);
    return stdout.trim() === '' ? undefined : stdout.trim();
  };
  const detach = async (file: string): Promise<void> => {
    const loop = await loopOf(file);
    if (loop !== undefined) await exec(['losetup', '--detach', loop]);
  };
  const opening = new KeyedMutex();
  const store: FileBlocks = {
    broken: () => {},
    canClone: () => clones,
    readsZeros: () => true,
    rounded: (_pool, bytes) => Math.ceil(bytes / unit) * unit,
    async list(pool) {
      const names = await readdir(join(dir, pool.name)).catch(() => [] as string[]);
      const found: BlockVolume[] = [];
      for (const name of names.filter((each) => each.endsWith('.id'))) {
        const id = await readFile(join(dir, pool.name, name), 'utf8');
        const volume = await store.find(pool, id);
        if (volume !== undefined) found.push(volume);
      }
      return found;
    },
    has: async (pool, id) => (await store.find(pool, id)) !== undefined,
    async find(pool, id) {
      const file = fileOf(pool, id);
      const stats = await stat(file).catch((error: unknown) => {
        if (hasCode(error, 'ENOENT')) return undefined;
        throw error;
      });
      if (stats === undefined) return undefined;
      const isResizing = await stat(`${file}.resizing`).then(
        () => true,
        () => false,
      );
      return { id, bytes: stats.size, isResizing };
    },
    async create(pool, id, bytes) {
      store.broken('create');
      await mkdir(join(dir, pool.name), { recursive: true });
      await writeFile(`${fileOf(pool, id)}.id`, id);
      await exec(['truncate', `--size=${store.rounded(pool, bytes)}`, fileOf(pool, id)]);
    },
    async clone(pool, from, to, mountedAt) {
      store.broken('clone');
      const [source, target] = [fileOf(pool, from), fileOf(pool, to)];
      const copy = ['cp', '--sparse=always', source, `${target}.new`];
      await exec(mountedAt === undefined ? copy : fileSystemCommands.atRest(mountedAt, copy));
      await writeFile(`${target}.id`, to);
      await rename(`${target}.new`, target);
    },
    async rename(pool, from, to) {
      store.broken('rename');
      const [source, target] = [fileOf(pool, from), fileOf(pool, to)];
      if (await store.has(pool, to)) throw new Error('it is there');
      // The loop device stays: one that a copy of a mount elsewhere keeps busy would go away later, in the middle of its next use.
      await writeFile(`${target}.id`, to);
      await rename(source, target);
      await rm(`${source}.id`);
    },
    async remove(pool, id) {
      store.broken('remove');
      const file = fileOf(pool, id);
      await detach(file);
      for (const each of [file, `${file}.resizing`, `${file}.id`]) await rm(each, { force: true });
    },
    async beginResize(pool, id) {
      store.broken('begin');
      await writeFile(`${fileOf(pool, id)}.resizing`, '');
    },
    async resize(pool, id, bytes) {
      store.broken('resize');
      await exec(['truncate', `--size=${bytes}`, fileOf(pool, id)]);
      const loop = await loopOf(fileOf(pool, id));
      if (loop !== undefined) await exec(['losetup', '--set-capacity', loop]);
    },
    async endResize(pool, id) {
      store.broken('end');
      await rm(`${fileOf(pool, id)}.resizing`, { force: true });
    },
    open: (pool, id) =>
      opening.run(fileOf(pool, id), async () => {
        const file = fileOf(pool, id);
        return (await loopOf(file)) ?? (await exec(['losetup', '--find', '--show', file])).stdout.trim();
      }),
  };
  return store;
}

export function openFileBlocks(base: string, store: BlockStore, unpack: UnpackImage, log = silentLog): StorageDriver {
  const root = join(base, 'state', 'storage-pools');
  const trees = new BlockTrees(store, { root, log });
  return openTreeDriver(
    {
      ...trees.kind(),
      name: 'blocks',
      capabilities: { cheapCopies: true, quotas: true, snapshots: true, ownFileSystems: true },
      fillConfig: (pool) => Promise.resolve({ ...pool.config, source: base }),
      async createPool(pool) {
        const volumes = (await store.list(pool)).filter(({ id }) => /^(containers|custom)\//.test(id));
        if (volumes.length > 0) throw new DriverError('InUse', 'it has volumes');
        await mkdir(trees.root(pool), { recursive: true });
        await makeFolders(trees.root(pool));
      },
      async deletePool(pool) {
        const volumes = await store.list(pool);
        if (volumes.some(({ id }) => /^(containers|custom)\//.test(id)))
          throw new DriverError('InUse', 'it has volumes');
        await trees.unmountAll(pool);
        for (const { id } of volumes) await store.remove(pool, id);
      },
      applyConfig: (pool) => trees.remountAll(pool),
      async mountPool(pool, busy) {
        await trees.recover(pool, busy);
        await trees.mountAll(pool);
      },
    },
    { log: silentLog, unpackImage: unpack, ownership: 'keep' },
  );
}

export async function openBlocksFixture(
  config: Readonly<Record<string, string>>,
  clones = true,
): Promise<StorageFixture & { readonly base: string; readonly store: FileBlocks }> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'gantry-blocks-')));
  await mkdir(join(base, 'state', 'storage-pools'), { recursive: true });
  let unpacked = 0;
  let pools = 0;
  const store = fileBlocks(join(base, 'files'), clones);
  const storage = openFileBlocks(base, store, (image, target, options, signal) => {
    unpacked += 1;
    return unpackImage(image, target, options, signal);
  });
  return {
    base,
    store,
    storage,
    newPool: () => {
      pools += 1;
      return { name: `pool${pools}`, driver: 'blocks', config };
    },
    image: await buildBusyboxImage(join(base, 'images'), { compression: 'zstd' }),
    imageFile: { path: 'etc/hostname', content: 'busybox\n' },
    unpacked: () => unpacked,
    close: async () => {
      // Waits for deletions that continue in the background.
      await storage.close?.();
      removeFileBlocks(base);
      await rm(base, { recursive: true, force: true });
    },
  };
}

/** The mounts and loop devices below the directory. */
export function removeFileBlocks(base: string): void {
  unmountBelow(base);
  execFileSync('sh', [
    '-c',
    // Those that go by themselves may have another file by now.
    `losetup --list --noheadings --output NAME,AUTOCLEAR,BACK-FILE | while read -r name goes file; do
       case "$goes$file" in 0"$1"/*) losetup --detach "$name" ;; esac; done`,
    'sh',
    base,
  ]);
}
