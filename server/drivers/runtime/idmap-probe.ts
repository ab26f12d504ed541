// Finds out whether a directory's file system can be mounted through an id map on this kernel. Leaves no mount behind.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readlinkSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadLibc } from './syscalls.ts';

const atFdcwd = -100;
const openTreeClone = 1;
const openTreeCloexec = 0o2000000;
const atEmptyPath = 0x1000;
const mountAttrIdmap = 0x100000n;

/** False also when it cannot be found out (no koffi): a tree shifted on disk works everywhere. */
export async function canMountIdmapped(dir: string): Promise<boolean> {
  const libc = await loadLibc();
  if (libc === undefined) return false;
  return withUserNamespace((namespaceFd) => {
    const tree = libc.openTree(atFdcwd, dir, openTreeClone | openTreeCloexec);
    if (tree < 0) return false;
    try {
      const attributes = new DataView(new ArrayBuffer(32));
      attributes.setBigUint64(0, mountAttrIdmap, true);
      attributes.setBigUint64(24, BigInt(namespaceFd), true);
      return libc.mountSetAttr(tree, '', atEmptyPath, new Uint8Array(attributes.buffer)) === 0;
    } finally {
      closeSync(tree);
    }
  });
}

async function withUserNamespace(work: (fd: number) => boolean): Promise<boolean> {
  const own = readlinkSync('/proc/self/ns/user');
  const holder = spawn('unshare', ['--user', 'cat'], { stdio: ['pipe', 'ignore', 'ignore'] });
  const ended = new Promise<void>((resolve) => holder.on('exit', () => resolve()).on('error', () => resolve()));
  holder.stdin.on('error', () => {});
  try {
    const { pid } = holder;
    if (pid === undefined) return false;
    for (let tries = 0; readlinkSync(`/proc/${pid}/ns/user`) === own; tries++) {
      if (tries > 1000) return false;
      await sleep(1);
    }
    writeFileSync(`/proc/${pid}/uid_map`, '0 100000 65536');
    writeFileSync(`/proc/${pid}/gid_map`, '0 100000 65536');
    const fd = openSync(`/proc/${pid}/ns/user`, 'r');
    try {
      return work(fd);
    } finally {
      closeSync(fd);
    }
  } catch {
    return false;
  } finally {
    holder.stdin.end();
    holder.kill('SIGKILL');
    await ended;
  }
}
