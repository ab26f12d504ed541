// Opens a storage driver on a temporary directory with a busybox image, for the suite of all drivers.
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unpackImage } from '../../../server/drivers/image/unpack.ts';
import type { StorageDriver, UnpackImage } from '../../../server/drivers/storage/driver.ts';
import { silentLog, type Log } from '../../../server/lib/log.ts';
import type { StorageFixture } from '../../conformance/storage-world.ts';
import { buildBusyboxImage } from '../images/busybox.ts';

interface Parts {
  readonly open: (options: {
    readonly root: string;
    readonly log: Log;
    readonly unpackImage: typeof unpackImage;
  }) => StorageDriver;
  /** The pool of this number; earlier ones exist. */
  readonly pool: (number: number, base: string) => ReturnType<StorageFixture['newPool']>;
  /** Removes resources outside the directory of the pools up to this number. */
  readonly remove?: (pools: number, base: string) => void | Promise<void>;
  readonly folder?: string;
  /** See StorageFixture. */
  readonly reusesPools?: boolean;
}

export async function openStorageFixture({
  open,
  pool,
  remove,
  folder = tmpdir(),
  reusesPools = false,
}: Parts): Promise<StorageFixture & { readonly base: string }> {
  const base = await realpath(await mkdtemp(join(folder, 'gantry-storage-')));
  const root = join(base, 'state', 'storage-pools');
  await mkdir(root, { recursive: true });
  let unpacked = 0;
  let pools = 0;
  const storage = open({
    root,
    log: silentLog,
    unpackImage: (image, target, options, signal) => {
      unpacked += 1;
      return unpackImage(image, target, options, signal);
    },
  });
  return {
    base,
    storage,
    reusesPools,
    newPool: () => pool((pools += 1), base),
    image: await buildBusyboxImage(join(base, 'images'), { compression: 'zstd' }),
    imageFile: { path: 'etc/hostname', content: 'busybox\n' },
    unpacked: () => unpacked,
    close: async () => {
      // Waits for deletions that continue in the background.
      await storage.close?.();
      await remove?.(pools, base);
      await rm(base, { recursive: true, force: true });
    },
  };
}

/** An image of one file, for tests that do not look at its contents. */
export const simpleUnpack: UnpackImage = async (_image, target) => {
  await mkdir(join(target, 'rootfs'));
  await writeFile(join(target, 'rootfs', 'file'), 'content');
};
