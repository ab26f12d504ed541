// Asks the kernel which process opened the other end of a local socket, in which container, as which user.
import { readlinkSync } from 'node:fs';
import { readProcess } from '../../../lib/shared/processes.ts';
import type { RuntimePeer } from '../driver.ts';
import { hostIdOf } from './proc.ts';
import type { Libc } from './syscalls.ts';
import { attempt } from '../../../lib/shared/attempt.ts';

const solSocket = 1;
const soPeercred = 17;
/** Deeper nesting only serves to mislead. */
const maxDepth = 256;

/** Without the system call every peer is a stranger. */
export function peerOf(libc: Libc | undefined, initPid: number, socketFd: number): RuntimePeer {
  const peer = libc === undefined ? undefined : readPeer(libc, socketFd);
  if (peer === undefined || !isInside(peer.pid, initPid)) return 'stranger';
  return peer.uid === hostIdOf(initPid, 'uid', 0) ? 'root' : 'user';
}

interface Credentials {
  readonly pid: number;
  /** An id of this host. */
  readonly uid: number;
}

/** The kernel's record of when the connection was made; the process may have ended since. */
export function readPeer(libc: Pick<Libc, 'getsockopt'>, fd: number): Credentials | undefined {
  const value = new Uint8Array(12);
  const length = new Uint32Array([value.length]);
  if (libc.getsockopt(fd, solSocket, soPeercred, value, length) !== 0 || length[0] !== value.length) return undefined;
  const [pid = 0, uid = 0] = new Uint32Array(value.buffer);
  return { pid, uid };
}

/** In the container's own pid namespace, or in one nested in it. */
export function isInside(pid: number, initPid: number): boolean {
  const own = namespaceOf(initPid);
  if (own === undefined) return false;
  let at = pid;
  for (let depth = 0; at > 1 && depth < maxDepth; depth++) {
    if (namespaceOf(at) === own) return true;
    at = readProcess(at)?.parentPid ?? 0;
  }
  return false;
}

const namespaceOf = (pid: number): string | undefined => attempt(() => readlinkSync(`/proc/${pid}/ns/pid`));
