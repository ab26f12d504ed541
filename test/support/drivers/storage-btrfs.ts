// Opens the btrfs storage driver on a temporary directory with small pools in files; closing unmounts and removes all of them.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { openBtrfsStorage } from '../../../server/drivers/storage/btrfs/btrfs.ts';
import { openStorageFixture } from './storage-fixture.ts';

export const openBtrfsFixture = (): ReturnType<typeof openStorageFixture> =>
  openStorageFixture({
    open: openBtrfsStorage,
    pool: (number) => ({ name: `pool${number}`, driver: 'btrfs', config: { size: '256MiB' } }),
    remove: (_pools, base) => unmountBelow(base),
  });

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
