// Opens the dir storage driver on a temporary directory with a busybox image, for the suite of all drivers.
import { openDirStorage } from '../../../server/drivers/storage/dir.ts';
import type { StorageFixture } from '../../conformance/storage-world.ts';
import { openStorageFixture } from './storage-fixture.ts';

export const openDirFixture = (ownership: 'keep' | 'ignore', folder?: string): Promise<StorageFixture> =>
  openStorageFixture({
    open: (options) => openDirStorage({ ...options, ownership }),
    pool: (number) => ({ name: `pool${number}`, driver: 'dir', config: {} }),
    ...(folder === undefined ? {} : { folder }),
  });
