// Free space on the file system of a container's root disk.
import { statfs } from 'node:fs/promises';
import type { RootSpace } from './metric-figures.ts';

/** Numbers of statfs(2). */
const fileSystems: ReadonlyMap<number, string> = new Map([
  [0x0102_1994, 'tmpfs'],
  [0x2fc1_2fc1, 'zfs'],
  [0x5846_5342, 'xfs'],
  [0x6969, 'nfs'],
  [0x794c_7630, 'overlayfs'],
  [0x9123_683e, 'btrfs'],
  [0xef53, 'ext4'],
]);

/** `path`: on the host, beyond the container's control. Undefined for disks without files. */
export async function rootSpace(path: string): Promise<RootSpace | undefined> {
  try {
    const { type, bsize, bavail, bfree, blocks } = await statfs(path);
    const fstype = fileSystems.get(type >>> 0) ?? `0x${(type >>> 0).toString(16)}`;
    return { fstype, avail: bavail * bsize, free: bfree * bsize, size: blocks * bsize };
  } catch {
    return undefined;
  }
}
