// Opens the btrfs storage driver on a temporary directory with small pools in files; closing unmounts and removes all of them.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unpackImage } from '../../../server/drivers/image/unpack.ts';
import { openBtrfsStorage } from '../../../server/drivers/storage/btrfs/btrfs.ts';
import { silentLog } from '../../../server/lib/log.ts';
import type { StorageFixture } from '../../conformance/storage.ts';
import { buildBusyboxImage } from '../images/busybox.ts';

export async function openBtrfsFixture(): Promise<StorageFixture & { readonly base: string }> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'gantry-btrfs-')));
  const root = join(base, 'state', 'storage-pools');
  await mkdir(root, { recursive: true });
  let unpacked = 0;
  let pools = 0;
  const storage = openBtrfsStorage({
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
    newPool: () => {
      pools += 1;
      return { name: `pool${pools}`, driver: 'btrfs', config: { size: '256MiB' } };
    },
    image: await buildBusyboxImage(join(base, 'images'), { compression: 'zstd' }),
    imageFile: { path: 'etc/hostname', content: 'busybox\n' },
    unpacked: () => unpacked,
    close: async () => {
      unmountBelow(base);
      await rm(base, { recursive: true, force: true });
    },
  };
}

/** Loop devices are removed with their mounts. */
export function unmountBelow(dir: string): void {
  for (const target of mountsBelow(dir).toReversed()) execFileSync('umount', ['--lazy', target]);
}

export function mountsBelow(dir: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((target) => target.startsWith(`${dir}/`));
}

/** Loop devices whose file is below the directory. */
export function loopsBelow(dir: string): string[] {
  return execFileSync('losetup', ['--list', '--noheadings', '--output', 'BACK-FILE'], { encoding: 'utf8' })
    .split('\n')
    .filter((file) => file.trim().startsWith(`${dir}/`));
}
