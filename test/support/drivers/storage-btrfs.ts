// Opens the btrfs storage driver on a temporary directory with small pools in files; closing unmounts and removes all of them.
import { openBtrfsStorage } from '../../../server/drivers/storage/btrfs/btrfs.ts';
import { unmountBelow } from '../hosts/mounts.ts';
import { openStorageFixture } from './storage-fixture.ts';

export const openBtrfsFixture = (): ReturnType<typeof openStorageFixture> =>
  openStorageFixture({
    open: openBtrfsStorage,
    pool: (number) => ({ name: `pool${number}`, driver: 'btrfs', config: { size: '256MiB' } }),
    remove: (_pools, base) => unmountBelow(base),
  });
