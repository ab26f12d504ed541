// The few system calls that Node lacks, through koffi if it is installed. Every caller can do without.
import { libcCalls } from '../../libc-calls.ts';
import { loadPosixSpawn, type PosixSpawn } from './posix-spawn.ts';
import { attempt } from '../../../lib/shared/attempt.ts';

export interface Libc {
  /** Numbers above 424 are the same on every architecture. */
  openTree(dirFd: number, path: string, flags: number): number;
  /** A descriptor that opens nothing (O_PATH). Follows links, except those of /proc to open files and processes. */
  holdPath(path: string): number;
  mountSetAttr(fd: number, path: string, flags: number, attributes: Uint8Array): number;
  moveMount(fromFd: number, from: string, toFd: number, to: string, flags: number): number;
  umount2(path: string, flags: number): number;
  fsopen(fileSystem: string, flags: number): number;
  fsconfig(context: number, command: number, key: string, value: string | null): number;
  /** Reads the file system; on a separate thread, as that can be slow. */
  fsCreate(context: number): Promise<number>;
  fsmount(context: number, flags: number): number;
  setns(fd: number, kind: number): number;
  socket(domain: number, type: number, protocol: number): number;
  /** Fills `value`; `length` holds its capacity before, and the number of filled bytes afterwards. */
  getsockopt(fd: number, level: number, option: number, value: Uint8Array, length: Uint32Array): number;
  send(fd: number, bytes: Uint8Array, length: number, flags: number): number;
  recv(fd: number, bytes: Uint8Array, length: number, flags: number): number;
  if_indextoname(index: number, name: Uint8Array): unknown;
  /** Fills two descriptors: the read end and the write end. */
  pipe2(ends: Int32Array, flags: number): number;
  memfd_create(name: string, flags: number): number;
  mkfifo(path: string, mode: number): number;
  fcntl(fd: number, command: number, argument: number): number;
  unlockpt(fd: number): number;
  ptsname_r(fd: number, name: Uint8Array, length: number): number;
  tcgetattr(fd: number, settings: Uint8Array): number;
  tcsetattr(fd: number, when: number, settings: Uint8Array): number;
  cfmakeraw(settings: Uint8Array): void;
  ioctl(fd: number, request: number, argument: Uint8Array): number;
  waitpid(pid: number, status: Int32Array, options: number): number;
  readonly posixSpawn: PosixSpawn | undefined;
  /** Undefined on C libraries without it. */
  readonly mallocTrim: ((keepBytes: number) => number) | undefined;
}

/** Undefined if koffi has no binary for this platform or is not installed. */
export const loadLibc = libcCalls<Libc>((libc) => {
  const openTree = libc.func('long syscall(long number, int fd, const char *path, uint flags)');
  const setAttr = libc.func(
    'long syscall(long number, int fd, const char *path, uint flags, uint8_t *attr, ulong size)',
  );
  const moveMount = libc.func(
    'long syscall(long number, int from, const char *path, int to, const char *target, uint flags)',
  );
  const fsopen = libc.func('long syscall(long number, const char *name, uint flags)');
  const fsconfig = libc.func(
    'long syscall(long number, int fd, uint command, const char *key, const char *value, int aux)',
  );
  const fsmount = libc.func('long syscall(long number, int fd, uint flags, uint attributes)');
  const openat2 = libc.func('long syscall(long number, int dir, const char *path, uint64_t *how, ulong size)');
  return {
    // AT_FDCWD; O_PATH | O_CLOEXEC, no mode, RESOLVE_NO_MAGICLINKS.
    holdPath: (path) => Number(openat2(437, -100, path, new BigUint64Array([0o12000000n, 0n, 2n]), 24)),
    openTree: (dirFd, path, flags) => Number(openTree(428, dirFd, path, flags)),
    mountSetAttr: (fd, path, flags, attributes) => Number(setAttr(442, fd, path, flags, attributes, attributes.length)),
    moveMount: (fromFd, from, toFd, to, flags) => Number(moveMount(429, fromFd, from, toFd, to, flags)),
    umount2: libc.func('int umount2(const char *path, int flags)'),
    fsopen: (name, flags) => Number(fsopen(430, name, flags)),
    fsconfig: (context, command, key, value) => Number(fsconfig(431, context, command, key, value, 0)),
    // FSCONFIG_CMD_CREATE
    fsCreate: (context) =>
      new Promise((resolve, reject) => {
        fsconfig.async(431, context, 6, null, null, 0, (error: unknown, done: unknown) => {
          if (error === null || error === undefined) resolve(Number(done));
          else reject(error instanceof Error ? error : new Error('fsconfig failed'));
        });
      }),
    fsmount: (context, flags) => Number(fsmount(432, context, flags, 0)),
    setns: libc.func('int setns(int fd, int kind)'),
    socket: libc.func('int socket(int domain, int type, int protocol)'),
    getsockopt: libc.func(
      'int getsockopt(int fd, int level, int option, _Out_ uint8_t *value, _Inout_ uint32_t *length)',
    ),
    send: libc.func('long send(int fd, const uint8_t *bytes, ulong length, int flags)'),
    recv: libc.func('long recv(int fd, _Out_ uint8_t *bytes, ulong length, int flags)'),
    if_indextoname: libc.func('void *if_indextoname(uint index, _Out_ uint8_t *name)'),
    pipe2: libc.func('int pipe2(_Out_ int *ends, int flags)'),
    mkfifo: libc.func('int mkfifo(const char *path, uint mode)'),
    memfd_create: libc.func('int memfd_create(const char *name, uint flags)'),
    fcntl: libc.func('int fcntl(int fd, int command, int argument)'),
    unlockpt: libc.func('int unlockpt(int fd)'),
    ptsname_r: libc.func('int ptsname_r(int fd, _Out_ uint8_t *name, ulong length)'),
    tcgetattr: libc.func('int tcgetattr(int fd, _Out_ uint8_t *settings)'),
    tcsetattr: libc.func('int tcsetattr(int fd, int when, const uint8_t *settings)'),
    cfmakeraw: libc.func('void cfmakeraw(_Inout_ uint8_t *settings)'),
    ioctl: libc.func('int ioctl(int fd, ulong request, const uint8_t *argument)'),
    waitpid: libc.func('int waitpid(int pid, _Out_ int *status, int options)'),
    posixSpawn: loadPosixSpawn(libc),
    mallocTrim: attempt(() => libc.func('int malloc_trim(ulong keep)')),
  };
});
