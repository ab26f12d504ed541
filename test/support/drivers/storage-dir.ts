// Opens the dir storage driver on a temporary directory with a busybox image, for the suite of all drivers.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unpackImage } from '../../../server/drivers/image/unpack.ts';
import { openDirStorage } from '../../../server/drivers/storage/dir.ts';
import { silentLog } from '../../../server/lib/log.ts';
import type { StorageFixture } from '../../conformance/storage.ts';
import { buildBusyboxImage } from '../images/busybox.ts';

export const openDirFixture = (ownership: 'keep' | 'ignore'): Promise<StorageFixture> =>
  openDirFixtureIn(tmpdir(), ownership);

export async function openDirFixtureIn(folder: string, ownership: 'keep' | 'ignore'): Promise<StorageFixture> {
  const base = await mkdtemp(join(folder, 'gantry-storage-'));
  const root = join(base, 'state', 'storage-pools');
  await mkdir(root, { recursive: true });
  let unpacked = 0;
  let pools = 0;
  const storage = openDirStorage({
    root,
    ownership,
    log: silentLog,
    unpackImage: (image, target, options, signal) => {
      unpacked += 1;
      return unpackImage(image, target, options, signal);
    },
  });
  return {
    storage,
    newPool: () => {
      pools += 1;
      return { name: `pool${pools}`, driver: 'dir', config: {} };
    },
    image: await buildBusyboxImage(join(base, 'images'), { compression: 'zstd' }),
    imageFile: { path: 'etc/hostname', content: 'busybox\n' },
    unpacked: () => unpacked,
    close: async () => {
      // What was deleted behind an answer is still being removed.
      await storage.close?.();
      await rm(base, { recursive: true, force: true });
    },
  };
}
