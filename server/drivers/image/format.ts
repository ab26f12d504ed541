// Detects the packing of an image file by its first bytes, and which program unpacks it; ignores file names.
import { open } from 'node:fs/promises';
import { driverErrors } from '../driver-error.ts';

export type ImageFormat = 'tar' | 'tar.gz' | 'tar.bz2' | 'tar.xz' | 'tar.lzma' | 'tar.zst' | 'squashfs';

const magics: readonly { readonly format: ImageFormat; readonly offset: number; readonly bytes: Buffer }[] = [
  { format: 'tar.gz', offset: 0, bytes: Buffer.from([0x1f, 0x8b]) },
  { format: 'tar.bz2', offset: 0, bytes: Buffer.from('BZh') },
  { format: 'tar.xz', offset: 0, bytes: Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]) },
  { format: 'tar.lzma', offset: 0, bytes: Buffer.from([0x5d, 0x00, 0x00]) },
  { format: 'tar.zst', offset: 0, bytes: Buffer.from([0x28, 0xb5, 0x2f, 0xfd]) },
  { format: 'squashfs', offset: 0, bytes: Buffer.from('hsqs') },
  { format: 'tar', offset: 257, bytes: Buffer.from('ustar') },
];

/** The program that unpacks standard input to standard output; undefined: none is needed. */
export function decompressorOf(format: ImageFormat): readonly string[] | undefined {
  return decompressors[format];
}

const decompressors: Readonly<Record<ImageFormat, readonly string[] | undefined>> = {
  tar: undefined,
  'tar.gz': ['gzip', '-dc'],
  'tar.bz2': ['bzip2', '-dc'],
  'tar.xz': ['xz', '-dc', '--format=xz', '--memlimit-decompress=1GiB'],
  'tar.lzma': ['xz', '-dc', '--format=lzma', '--memlimit-decompress=1GiB'],
  'tar.zst': ['zstd', '-dcq', '--memory=1024MB'],
  squashfs: undefined,
};

export function parseFormat(head: Buffer): ImageFormat | undefined {
  return magics.find(({ offset, bytes }) => head.subarray(offset, offset + bytes.length).equals(bytes))?.format;
}

/** Throws Invalid naming the first bytes if they match no known packing. */
export async function detectFormat(path: string, what: string): Promise<ImageFormat> {
  const file = await open(path, 'r').catch((error: unknown) => {
    throw driverErrors.failed(`cannot open the ${what}`, error);
  });
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(512), 0, 512, 0);
    const head = buffer.subarray(0, bytesRead);
    const format = parseFormat(head);
    if (format !== undefined) return format;
    const start = bytesRead === 0 ? 'it is empty' : `it starts with ${head.subarray(0, 6).toString('hex')}`;
    throw driverErrors.invalid(
      `unknown packing of the ${what} (${start}); known are tar plain or by gz, bz2, xz, lzma, zstd, and squashfs`,
    );
  } finally {
    await file.close();
  }
}
