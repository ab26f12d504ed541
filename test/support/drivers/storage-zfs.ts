// Opens the zfs storage driver on a temporary directory with small pools in files; closing removes all of them. For kernels with the module.
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unpackImage } from '../../../server/drivers/image/unpack.ts';
import { openZfsStorage } from '../../../server/drivers/storage/zfs/zfs.ts';
import { silentLog } from '../../../server/lib/log.ts';
import type { StorageFixture } from '../../conformance/storage.ts';
import { buildBusyboxImage } from '../images/busybox.ts';
import { unmountBelow } from './storage-btrfs.ts';

/** Each pool takes memory of the kernel: tests use two at most. */
const keptPools = 3;

export async function openZfsFixture(config: Readonly<Record<string, string>>): Promise<StorageFixture> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'gantry-zfs-')));
  const root = join(base, 'state', 'storage-pools');
  await mkdir(root, { recursive: true });
  const prefix = `t${process.pid}`;
  let unpacked = 0;
  let pools = 0;
  const storage = openZfsStorage({
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
      if (pools > keptPools) removeZpool(base, `${prefix}-${pools - keptPools}`);
      return { name: `${prefix}-${pools}`, driver: 'zfs', config: { size: '256MiB', ...config } };
    },
    image: await buildBusyboxImage(join(base, 'images'), { compression: 'zstd' }),
    imageFile: { path: 'etc/hostname', content: 'busybox\n' },
    unpacked: () => unpacked,
    close: async () => {
      for (let each = Math.max(1, pools - keptPools); each <= pools; each += 1) removeZpool(base, `${prefix}-${each}`);
      await rm(base, { recursive: true, force: true });
    },
  };
}

/** Whatever state a test has left it in. */
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
