// The file that a pool of blocks keeps its volumes in, and the loop device on it.
import { rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ifMissing } from '../../lib/shared/missing-files.ts';
import { exec } from '../../lib/exec.ts';
import { driverErrors } from '../driver-error.ts';
import type { PoolSpec } from './driver.ts';
import { makeFolder } from '../../lib/shared/make-folder.ts';

const gigabyte = 1_000_000_000;

/** Size of a new pool file: a fifth of the free space, from 15 to 100 GB; undefined when not even 15 are free. */
export function defaultSize(freeBytes: number): string | undefined {
  const wanted = Math.min(Math.max(Math.floor(freeBytes / 5 / gigabyte), 15), 100);
  return wanted * gigabyte > freeBytes ? undefined : `${wanted}GB`;
}

/** `root`: where pools are mounted; the files of pools are beside it. */
export const loopFileOf = (root: string, { name }: Pick<PoolSpec, 'name'>): string =>
  join(dirname(root), 'disks', `${name}.img`);

/** The default size of a pool. Throws Invalid if too little space is free. */
export async function freeSize(root: string): Promise<string> {
  const { bavail, bsize } = await statfs(dirname(root));
  const size = defaultSize(bavail * bsize);
  if (size === undefined)
    throw driverErrors.invalid(`config.size: less than 15GB are free; say how large the pool may get`);
  return size;
}

export const hasLoopFile = async (file: string): Promise<boolean> => (await stat(file).catch(ifMissing)) !== undefined;

export async function makeLoopFile(file: string, bytes: number): Promise<void> {
  await makeFolder(dirname(file), 0o700);
  await exec(['truncate', `--size=${bytes}`, file]);
}

export async function attachedLoop(file: string): Promise<string> {
  const [device] = await loopsOn(file);
  return device ?? (await exec(['losetup', '--find', '--show', file])).stdout.trim();
}

async function loopsOn(file: string): Promise<readonly string[]> {
  const { stdout } = await exec(['losetup', '--noheadings', '--output', 'NAME', '--associated', file]);
  return stdout.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
}

/** Succeeds if there is none. */
export async function removeLoopFile(file: string): Promise<void> {
  if (!(await hasLoopFile(file))) return;
  for (const device of await loopsOn(file)) await exec(['losetup', '--detach', device]);
  await rm(file, { force: true });
}
