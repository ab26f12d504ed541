// Puts temporary files of tests in memory if there is enough: on ext4, finding free inodes among deleted ones took a tenth of a whole
// run. Respects TMPDIR.
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { freemem, release } from 'node:os';
import { join } from 'node:path';
import { mountsBelow, unmountBelow } from './hosts/mounts.ts';

const memory = '/dev/shm';
const tmpfsMagic = 0x01_02_19_94;
/** Bytes: a run needs a third of it at most. */
const enough = 8 * 1024 ** 3;

/** tmpfs has attributes of users, and mounts that shift ids, from Linux 6.6 on. */
export function isRecentKernel(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  return major > 6 || (major === 6 && minor >= 6);
}

function isRoomy(): boolean {
  try {
    const { type, bavail, bsize } = statfsSync(memory);
    return type === tmpfsMagic && bavail * bsize >= enough && freemem() >= enough;
  } catch {
    return false;
  }
}

/** Makes a folder in memory and sets TMPDIR to it; the returned function removes it. Leaves TMPDIR alone if memory is unsuitable. */
export function keepTestsInMemory(): () => void {
  if (process.platform !== 'linux' || process.env['TMPDIR'] !== undefined) return () => {};
  if (!isRecentKernel(release()) || !isRoomy()) return () => {};
  // A short name: paths of Unix sockets have at most 107 bytes. Guests with other ids reach into it.
  const folder = mkdtempSync(join(memory, 'gantry-'));
  chmodSync(folder, 0o755);
  process.env['TMPDIR'] = folder;
  console.log(`tests keep their files in ${folder}`);
  return () => {
    // A test that failed in its setup may leave mounts, which would hide its own failure behind one of this removal.
    for (const target of mountsBelow(folder)) console.log(`a test left this mounted: ${target}`);
    unmountBelow(folder);
    rmSync(folder, { recursive: true, force: true });
  };
}
