// Opens the lvm storage driver on a temporary directory with small pools in files; closing removes all of them. For hosts with device mapper.
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unpackImage } from '../../../server/drivers/image/unpack.ts';
import { openLvmStorage } from '../../../server/drivers/storage/lvm/lvm.ts';
import { silentLog } from '../../../server/lib/log.ts';
import type { StorageFixture } from '../../conformance/storage.ts';
import { buildBusyboxImage } from '../images/busybox.ts';
import { unmountBelow } from './storage-btrfs.ts';

/** Each volume group slows every command of LVM down: tests use two at most. */
const keptPools = 3;

export async function openLvmFixture(config: Readonly<Record<string, string>>): Promise<StorageFixture> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'gantry-lvm-')));
  const root = join(base, 'state', 'storage-pools');
  await mkdir(root, { recursive: true });
  const prefix = `t${process.pid}`;
  let unpacked = 0;
  let pools = 0;
  const storage = openLvmStorage({
    root,
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
      if (pools > keptPools) removeGroup(base, `${prefix}-${pools - keptPools}`);
      const name = `${prefix}-${pools}`;
      return { name, driver: 'lvm', config: { size: '1GiB', 'volume.size': '64MiB', ...config } };
    },
    image: await buildBusyboxImage(join(base, 'images'), { compression: 'zstd' }),
    imageFile: { path: 'etc/hostname', content: 'busybox\n' },
    unpacked: () => unpacked,
    close: async () => {
      for (let each = Math.max(1, pools - keptPools); each <= pools; each += 1) removeGroup(base, `${prefix}-${each}`);
      await rm(base, { recursive: true, force: true });
    },
  };
}

/** Whatever state a test has left it in. */
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
