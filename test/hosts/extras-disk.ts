// A disk with the image of a container with systemd, which no machine can make: it has no network.
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { guestImage } from './guest-image.ts';
import { program } from './program.ts';
import type { Release } from './releases.ts';

/** Where checks find it in the machine. */
export const extras = '/run/extras';
export const mountExtras = `mountpoint -q ${extras} || { mkdir -p ${extras}; mount -o ro /dev/disk/by-label/extras ${extras}; }`;

/** Makes the disk `file`, in place of that of an earlier machine. */
export async function extrasDisk(release: Release, file: string, say: (text: string) => void): Promise<string> {
  const image = await guestImage(release, say);
  const work = await mkdtemp(`${file}-`);
  try {
    await cp(image, join(work, 'debian.tar.gz'));
    await rm(file, { force: true });
    await program('truncate', ['-s', '256M', file]);
    await program('mke2fs', ['-q', '-t', 'ext4', '-m', '0', '-L', 'extras', '-d', work, file]);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return file;
}
