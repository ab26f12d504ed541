// Recognizes the file system on a block device by its first bytes, so that a disk shows its files instead of the device.
import { open, stat } from 'node:fs/promises';

/** Names are those of the kernel. */
export type Content = { readonly fileSystem: string } | { readonly other: string };

interface Mark {
  readonly at: number;
  readonly bytes: string;
  readonly is: Content;
}

const fileSystem = (name: string, at: number, bytes: string): Mark => ({ at, bytes, is: { fileSystem: name } });
const other = (what: string, at: number, bytes: string): Mark => ({ at, bytes, is: { other: what } });

/** The first match counts: a boot sector looks like a partition table. ext4 also mounts ext2 and ext3. */
const marks: readonly Mark[] = [
  other('an encrypted volume (LUKS)', 0, 'LUKS\xba\xbe'),
  other('a part of an LVM volume group', 512, 'LABELONE'),
  other('a part of a pool of ZFS', 16 * 1024 + 40, 'version'),
  other('swap space', 4086, 'SWAPSPACE2'),
  fileSystem('xfs', 0, 'XFSB'),
  fileSystem('btrfs', 64 * 1024 + 64, '_BHRfS_M'),
  fileSystem('ext4', 1080, '\x53\xef'),
  fileSystem('f2fs', 1024, '\x10\x20\xf5\xf2'),
  fileSystem('erofs', 1024, '\xe2\xe1\xf5\xe0'),
  fileSystem('squashfs', 0, 'hsqs'),
  fileSystem('iso9660', 32 * 1024 + 1, 'CD001'),
  fileSystem('exfat', 3, 'EXFAT   '),
  fileSystem('ntfs3', 3, 'NTFS    '),
  fileSystem('vfat', 82, 'FAT32'),
  fileSystem('vfat', 54, 'FAT1'),
  other('a partition table', 512, 'EFI PART'),
  other('a partition table', 510, '\x55\xaa'),
];

const headBytes = 65 * 1024;

/** Pure. `head`: the first 65 KiB. Undefined: unknown content. */
export function contentOf(head: Buffer): Content | undefined {
  return marks.find(({ at, bytes }) => head.toString('latin1', at, at + bytes.length) === bytes)?.is;
}

/** The reason why the block device cannot be mounted. */
export const unmountable = (source: string, content: Content | undefined): string =>
  content !== undefined && 'other' in content
    ? `${source} is a block device with ${content.other}, not with a file system`
    : `${source} is a block device without a file system that is known here`;

/** Undefined if the source is no block device, or does not exist. */
export async function blockContent(source: string): Promise<{ readonly content: Content | undefined } | undefined> {
  const found = await stat(source).catch(() => undefined);
  if (found?.isBlockDevice() !== true) return undefined;
  const file = await open(source, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return { content: contentOf(buffer.subarray(0, bytesRead)) };
  } finally {
    await file.close();
  }
}
