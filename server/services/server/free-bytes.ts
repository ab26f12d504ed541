// How much this process may still write to the disk of a directory: less than the file system's free space if it reserves blocks.
import { readFileSync, readlinkSync, statSync, statfsSync } from 'node:fs';
import { basename } from 'node:path';

export interface DiskSpace {
  /** What this process may still write. */
  readonly freeBytes: number;
  readonly totalBytes: number;
}

export function readDiskSpace(dir: string): DiskSpace {
  const { bsize, bavail, bfree, blocks, type } = statfsSync(dir);
  const isRoot = process.getuid?.() === 0;
  const free = isRoot ? bfree - (type === extType ? reservedExt4Blocks(statSync(dir).dev) : 0) : bavail;
  return { freeBytes: Math.max(0, free) * bsize, totalBytes: blocks * bsize };
}

const extType = 0xef53;

/** Ext4 gives its last blocks to no process (a fiftieth of the disk, 4096 at most), yet reports them as free for root. */
function reservedExt4Blocks(device: number): number {
  try {
    const name = basename(readlinkSync(`/sys/dev/block/${majorOf(device)}:${minorOf(device)}`));
    return Number(readFileSync(`/sys/fs/ext4/${name}/reserved_clusters`, 'utf8')) || 0;
  } catch {
    return 0;
  }
}

// Like makedev(3); Linux device numbers have 32 bits.
const majorOf = (device: number): number => (device >>> 8) & 0xfff;
const minorOf = (device: number): number => (device & 0xff) | ((device >>> 12) & 0xfff00);
