// A disk with files that a machine without network cannot fetch: the image of a container with systemd, Terraform.
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { guestImage } from './guest-image.ts';
import { program } from './program.ts';
import type { Release } from './releases.ts';

export type ExtraFile = 'debian.tar.gz' | 'terraform';

/** Where checks find it in the machine. */
export const extras = '/run/extras';
export const mountExtras = `mountpoint -q ${extras} || { mkdir -p ${extras}; mount -o ro /dev/disk/by-label/extras ${extras}; }`;

/** Makes the disk `file`, replacing that of an earlier machine. */
export async function extrasDisk(
  release: Release,
  file: string,
  wanted: readonly ExtraFile[],
  say: (text: string) => void,
): Promise<string> {
  const work = await mkdtemp(`${file}-`);
  try {
    for (const name of wanted) {
      const from = name === 'terraform' ? await pathOf(name) : await guestImage(release, say);
      await cp(from, join(work, name), { dereference: true });
    }
    await rm(file, { force: true });
    await program('truncate', ['-s', '256M', file]);
    await program('mke2fs', ['-q', '-t', 'ext4', '-m', '0', '-L', 'extras', '-d', work, file]);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return file;
}

/** The path of a program of this machine; empty if there is none. */
export async function pathOf(name: string): Promise<string> {
  return (await program('sh', ['-c', `command -v ${name} || true`])).trim();
}
