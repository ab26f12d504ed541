// Opens the zfs storage driver on a temporary directory with small pools in files; closing removes all of them. For kernels with the module.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { openZfsStorage } from '../../../server/drivers/storage/zfs/zfs.ts';
import type { StorageFixture } from '../../conformance/storage-world.ts';
import { unmountBelow } from '../hosts/mounts.ts';
import { openStorageFixture } from './storage-fixture.ts';

/** Each pool uses kernel memory, so tests use max two. */
const keptPools = 3;
const nameOf = (number: number): string => `t${process.pid}-${number}`;

export const openZfsFixture = (config: Readonly<Record<string, string>>): Promise<StorageFixture> =>
  openStorageFixture({
    open: openZfsStorage,
    reusesPools: true,
    pool(number, base) {
      if (number > keptPools) removeZpool(base, nameOf(number - keptPools));
      return { name: nameOf(number), driver: 'zfs', config: { size: '256MiB', ...config } };
    },
    remove(pools, base) {
      for (let each = Math.max(1, pools - keptPools); each <= pools; each += 1) removeZpool(base, nameOf(each));
    },
  });

/** Removes a pool in any state. */
function removeZpool(base: string, name: string): void {
  unmountBelow(join(base, 'state', 'storage-pools', name));
  execFileSync('sh', [
    '-c',
    'zpool destroy -f "$1" 2>/dev/null; rm -f "$2"',
    'sh',
    name,
    join(base, 'state', 'disks', `${name}.img`),
  ]);
}
