// Opens the lvm storage driver on a temporary directory with small pools in files; closing removes all of them. For hosts with device mapper.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { openLvmStorage } from '../../../server/drivers/storage/lvm/lvm.ts';
import type { StorageFixture } from '../../conformance/storage-world.ts';
import { unmountBelow } from '../hosts/mounts.ts';
import { openStorageFixture } from './storage-fixture.ts';

/** Each volume group slows down every LVM command, so tests use max two. */
const keptPools = 3;
const nameOf = (number: number): string => `t${process.pid}-${number}`;

export const openLvmFixture = (config: Readonly<Record<string, string>>): Promise<StorageFixture> =>
  openStorageFixture({
    open: openLvmStorage,
    reusesPools: true,
    pool(number, base) {
      if (number > keptPools) removeGroup(base, nameOf(number - keptPools));
      return { name: nameOf(number), driver: 'lvm', config: { size: '1GiB', 'volume.size': '64MiB', ...config } };
    },
    remove(pools, base) {
      for (let each = Math.max(1, pools - keptPools); each <= pools; each += 1) removeGroup(base, nameOf(each));
    },
  });

/** Removes a group in any state. */
export function removeGroup(base: string, name: string): void {
  const file = join(base, 'state', 'disks', `${name}.img`);
  unmountBelow(join(base, 'state', 'storage-pools', name));
  execFileSync('sh', [
    '-c',
    `vgs "$1" >/dev/null 2>&1 && vgremove --quiet --force --yes "$1" >/dev/null 2>&1
     for loop in $(losetup --noheadings --output NAME --associated "$2"); do losetup --detach "$loop"; done
     rm -f "$2"; true`,
    'sh',
    name,
    file,
  ]);
}
