// System calls for writing into a container's tree that Node lacks, through koffi; undefined if unavailable.
import { libcCalls } from '../libc-calls.ts';

export interface Native {
  /** Runs `work`, which must not wait; files made in it belong to these host ids. Keeps all privileges. */
  makingAs<T>(uid: number, gid: number, work: () => T): T;
  /** Names an open nameless file. Throws an error with the code of link(2). */
  nameFile(fd: number, path: Buffer): void;
  /** Copies extended attributes and ACLs between open files. Throws an error with the code of fsetxattr(2). */
  copyAttributes(from: number, to: number): void;
}

const atFdcwd = -100;
const followLinks = 0x400;
const getSecureBits = 27;
const setSecureBits = 28;
const keepRights = 1 << 2;

export const loadNative = libcCalls<Native>((libc, { failed }) => {
  const linkat = libc.func('int linkat(int from, const uint8_t *old, int to, const uint8_t *path, int flags)');
  const setfsuid = libc.func('int setfsuid(uint id)') as (id: number) => number;
  const setfsgid = libc.func('int setfsgid(uint id)') as (id: number) => number;
  const prctl = libc.func('int prctl(int option, ulong value, ulong a, ulong b, ulong c)');
  const list = libc.func('long flistxattr(int fd, _Out_ uint8_t *list, ulong size)');
  const get = libc.func('long fgetxattr(int fd, const uint8_t *name, _Out_ uint8_t *value, ulong size)');
  const set = libc.func('int fsetxattr(int fd, const uint8_t *name, const uint8_t *value, ulong size, int flags)');
  return {
    makingAs: (uid, gid, work) => makingAs({ setfsuid, setfsgid, prctl }, uid, gid, work),
    nameFile(fd, path) {
      const old = Buffer.from(`/proc/self/fd/${fd}\0`);
      const named = linkat(atFdcwd, old, atFdcwd, Buffer.concat([path, Buffer.of(0)]), followLinks) as number;
      if (named !== 0) throw failed('link');
    },
    copyAttributes: (from, to) => copyAttributes({ list, get, set, failed }, from, to),
  };
});

interface AttributeCalls {
  readonly list: (...args: unknown[]) => number;
  readonly get: (...args: unknown[]) => number;
  readonly set: (...args: unknown[]) => number;
  readonly failed: (call: string) => Error;
}

/** The kernel's limit per file. */
const maxAttributeBytes = 65_536;
/** A write removes these, since they vouch for the content. */
const takenByWrites = /^security\.(capability|ima|evm)$/;

function copyAttributes(calls: AttributeCalls, from: number, to: number): void {
  const buffer = Buffer.alloc(maxAttributeBytes);
  const size = calls.list(from, buffer, buffer.length);
  // A file system without attributes has none to copy.
  if (size <= 0) return;
  for (const name of buffer.toString('latin1', 0, size).split('\0').filter(Boolean)) {
    if (takenByWrites.test(name)) continue;
    const key = Buffer.from(`${name}\0`, 'latin1');
    const value = Buffer.alloc(maxAttributeBytes);
    const length = calls.get(from, key, value, value.length);
    // Removed in between, or unreadable for us.
    if (length < 0) continue;
    if (calls.set(to, key, value, length, 0) !== 0) throw calls.failed(`fsetxattr ${name}`);
  }
}

interface Calls {
  readonly setfsuid: (id: number) => number;
  readonly setfsgid: (id: number) => number;
  readonly prctl: (...args: number[]) => number;
}

/** Ids and bits belong to the calling thread, and nothing else runs on it before they are restored. */
function makingAs<T>(calls: Calls, uid: number, gid: number, work: () => T): T {
  const { setfsuid, setfsgid, prctl } = calls;
  const bits = prctl(getSecureBits, 0, 0, 0, 0);
  // Without this the kernel drops privileges over files together with user id 0.
  prctl(setSecureBits, bits | keepRights, 0, 0, 0);
  const before = { gid: setfsgid(gid), uid: setfsuid(uid) };
  try {
    return work();
  } finally {
    setfsuid(before.uid);
    setfsgid(before.gid);
    prctl(setSecureBits, bits, 0, 0, 0);
    // A process with wrong ids would give the host's files to a container.
    if (setfsuid(before.uid) !== before.uid || setfsgid(before.gid) !== before.gid) process.abort();
  }
}
