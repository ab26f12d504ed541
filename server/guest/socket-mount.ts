// The directory of one guest socket as a small file system: a privileged guest may make its mount writable, but its writes are limited and
// reach no disk of the host.
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, open, rename, rm, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { exec } from '../lib/exec.ts';
import { hasCode } from '../lib/shared/error-code.ts';

/** Room for the socket and little more. */
const options = 'size=64k,nr_inodes=16,mode=0755,nosuid,nodev,noexec';

/** Idempotent. */
export async function mountSmall(dir: string): Promise<void> {
  if (await isMountPoint(dir)) return;
  await exec(['mount', '-t', 'tmpfs', '-o', options, 'gantry-guest', dir]);
}

/** Removes the directory with its contents. Idempotent. */
export async function removePlace(dir: string): Promise<void> {
  // A stopping container may still use it: the file system goes with its last user.
  if (await isMountPoint(dir)) await exec(['umount', '--lazy', dir]);
  await rm(dir, { recursive: true, force: true });
}

/** Frees the name of a former socket. Root of a privileged guest may have put a directory there: that is moved aside as it is, since a
 *  deletion of its contents by their paths could be led out of it. */
export async function freeName(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    if (!hasCode(error, 'EISDIR')) throw error;
    await rename(path, `${path}.${randomUUID()}`);
  }
}

/** O_PATH, which Node does not name. */
const justTheName = 0o10000000;

/** Lets every user connect. Root of a privileged guest may have replaced the socket with a link: that is not followed. */
export async function openToAll(path: string): Promise<void> {
  const file = await open(path, justTheName | constants.O_NOFOLLOW);
  try {
    if (!(await file.stat()).isSocket()) throw new Error(`${path} is no socket any more`);
    await chmod(`/proc/self/fd/${file.fd}`, 0o666);
  } finally {
    await file.close();
  }
}

async function isMountPoint(dir: string): Promise<boolean> {
  const [own, parent] = await Promise.all([
    stat(dir).catch(() => undefined),
    stat(dirname(dir)).catch(() => undefined),
  ]);
  return own !== undefined && parent !== undefined && own.dev !== parent.dev;
}
