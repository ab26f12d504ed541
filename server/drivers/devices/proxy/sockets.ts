// Creates sockets in another network namespace and file tree from within this process, which Node itself cannot. Nothing else runs between
// entry and return. The caller owns each returned descriptor.
import { closeSync, constants, lstatSync, openSync, unlinkSync } from 'node:fs';
import { posix } from 'node:path';
import { parseIp } from '../../../api/text/ip.ts';
import { libcCalls } from '../../libc-calls.ts';
import { driverErrors } from '../../driver-error.ts';
import { endpointText, type Endpoint } from './proxy-plan.ts';
import { ifMissing } from '../../../lib/shared/missing-files.ts';

export interface Side {
  /** Process whose network and files it uses; undefined: the host's. */
  readonly pid: number | undefined;
  /** Host ids of the user that creates it. */
  readonly uid: number;
  readonly gid: number;
  /** Whether it ignores file modes, like root; otherwise it has only the rights of that user. */
  readonly overrides?: boolean;
}

interface Calls {
  setns(fd: number, kind: number): number;
  socket(domain: number, type: number, protocol: number): number;
  bind(fd: number, address: Uint8Array, length: number): number;
  connect(fd: number, address: Uint8Array, length: number): number;
  listen(fd: number, backlog: number): number;
  setsockopt(fd: number, level: number, name: number, value: Int32Array, length: number): number;
  /** Changes the ids of the calling thread only, unlike libc's. */
  setIds(uid: number, gid: number): boolean;
  /** Grants the calling thread root's rights over files, whatever its other ids. */
  overrideFiles(): void;
  openInRoot(root: number, path: string, flags: number): number;
  reason(): string;
}

const numbers: Readonly<Record<string, Readonly<Record<'setresuid' | 'setresgid' | 'setfsuid', number>>>> = {
  x64: { setresuid: 117, setresgid: 119, setfsuid: 122 },
  arm64: { setresuid: 147, setresgid: 149, setfsuid: 151 },
  riscv64: { setresuid: 147, setresgid: 149, setfsuid: 151 },
};

export const loadSocketCalls = libcCalls<Calls>((libc, errno) => {
  const ids = numbers[process.arch];
  if (ids === undefined) return undefined;
  const setId = libc.func('long syscall(long number, long real, long effective, long saved)');
  const openat2 = libc.func('long syscall(long number, int dir, const char *path, uint64_t *how, ulong size)');
  const strerror = libc.func('const char *strerror(int code)');
  return {
    setns: libc.func('int setns(int fd, int kind)'),
    socket: libc.func('int socket(int domain, int type, int protocol)'),
    bind: libc.func('int bind(int fd, const uint8_t *address, uint length)'),
    connect: libc.func('int connect(int fd, const uint8_t *address, uint length)'),
    listen: libc.func('int listen(int fd, int backlog)'),
    setsockopt: libc.func('int setsockopt(int fd, int level, int name, const int *value, uint length)'),
    setIds: (uid, gid) => {
      // The user is set last when leaving root and first when returning, since it decides whether the other call is allowed.
      const user = (): boolean => Number(setId(ids.setresuid, -1, uid, -1)) === 0;
      const group = (): boolean => Number(setId(ids.setresgid, -1, gid, -1)) === 0;
      return uid === 0 ? user() && group() : group() && user();
    },
    overrideFiles: () => void setId(ids.setfsuid, 0, 0, 0),
    openInRoot: (root, path, flags) => {
      // RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS: no link inside leads out.
      const how = new BigUint64Array([BigInt(flags), 0n, 0x10n | 0x02n]);
      return Number(openat2(437, root, path, how, 24));
    },
    reason: () => String(strerror(errno())),
  };
});

const newNet = 0x4000_0000;
const oPath = 0o10000000;
const families = { inet: 2, inet6: 10, unix: 1 } as const;
const stream = 1;
const datagram = 2;
const closeOnExec = 0o2000000;
const cloexecNonblock = closeOnExec | 0o4000;

/** A listening (udp: bound) socket. */
export function openListener(calls: Calls, side: Side, endpoint: Endpoint): number {
  return withSide(calls, side, endpoint, true, (fd, address) => {
    if (endpoint.kind === 'tcp') calls.setsockopt(fd, 1, 2, new Int32Array([1]), 4);
    check(calls, calls.bind(fd, address, address.length), `Cannot listen on ${endpointText(endpoint)}`);
    if (endpoint.kind !== 'udp') {
      check(calls, calls.listen(fd, 511), `Cannot listen on ${endpointText(endpoint)}`);
    }
  });
}

/** An unconnected tcp socket, a udp socket with its own port, or a connected unix socket. */
export function openConnector(calls: Calls, side: Side, endpoint: Endpoint): number {
  return withSide(calls, side, endpoint, false, (fd, address) => {
    if (endpoint.kind === 'unix') {
      check(calls, calls.connect(fd, address, address.length), `Cannot connect to ${endpointText(endpoint)}`);
    }
    if (endpoint.kind === 'udp') {
      const any = inetAddress(endpoint.host.includes(':') ? '::' : '0.0.0.0', 0);
      check(calls, calls.bind(fd, any, any.length), `Cannot connect to ${endpointText(endpoint)}`);
    }
  });
}

function check(calls: Calls, result: number, what: string): void {
  if (result !== 0) throw driverErrors.failed(what, new Error(calls.reason()));
}

function withSide(
  calls: Calls,
  side: Side,
  endpoint: Endpoint,
  listens: boolean,
  work: (fd: number, address: Uint8Array) => void,
): number {
  const address = socketAddress(calls, side, endpoint, listens);
  const type = (endpoint.kind === 'udp' ? datagram : stream) | cloexecNonblock;
  const own = openSync('/proc/thread-self/ns/net', 'r');
  let other: number | undefined;
  try {
    other = side.pid === undefined ? undefined : openSync(`/proc/${side.pid}/ns/net`, 'r');
    return inWindow(calls, side, { own, other }, () => {
      const fd = calls.socket(address.family, type, 0);
      if (fd < 0) check(calls, fd, `Cannot make a socket for ${endpointText(endpoint)}`);
      try {
        work(fd, address.address);
        return fd;
      } catch (error) {
        closeSync(fd);
        throw error;
      }
    });
  } finally {
    closeSync(own);
    if (other !== undefined) closeSync(other);
    address.close();
  }
}

/** `work` must not wait or start anything: threads created during it would stay on the other side. */
function inWindow<T>(
  calls: Calls,
  side: Side,
  namespaces: { readonly own: number; readonly other: number | undefined },
  work: () => T,
): T {
  if (namespaces.other !== undefined) {
    check(calls, calls.setns(namespaces.other, newNet), 'Cannot enter the network of the container');
  }
  try {
    const isOther = side.uid !== 0 || side.gid !== 0;
    if (isOther && !calls.setIds(side.uid, side.gid)) {
      if (!calls.setIds(0, 0)) process.abort();
      throw driverErrors.failed(`Cannot act as user ${side.uid}`);
    }
    try {
      if (side.overrides === true) calls.overrideFiles();
      return work();
    } finally {
      if (isOther && !calls.setIds(0, 0)) process.abort();
    }
  } finally {
    // In the wrong network everything that this process does would be wrong.
    if (namespaces.other !== undefined && calls.setns(namespaces.own, newNet) !== 0) process.abort();
  }
}

interface SocketAddress {
  readonly family: number;
  readonly address: Uint8Array;
  close(): void;
}

function socketAddress(calls: Calls, side: Side, endpoint: Endpoint, listens: boolean): SocketAddress {
  const plain = (family: number, address: Uint8Array): SocketAddress => ({ family, address, close: () => {} });
  if (endpoint.kind !== 'unix') {
    const family = endpoint.host.includes(':') ? families.inet6 : families.inet;
    return plain(family, inetAddress(endpoint.host, endpoint.port));
  }
  const { path } = endpoint;
  if (path.startsWith('@')) return plain(families.unix, unixAddress(`\0${path.slice(1)}`));
  if (side.pid === undefined) return plain(families.unix, unixAddress(`${path}\0`));
  // A name to create in its directory, or the existing socket that the name refers to inside.
  const fd = listens ? openDirInside(calls, side.pid, posix.dirname(path)) : openInside(calls, side.pid, path, 0);
  const name = listens ? `/${posix.basename(path)}` : '';
  const address = unixAddress(`/proc/self/fd/${fd}${name}\0`);
  return { family: families.unix, address, close: () => closeSync(fd) };
}

/** A directory in a container's files, opened without following any link out of them. */
export const openDirInside = (calls: Calls, pid: number, path: string): number =>
  openInside(calls, pid, path, constants.O_DIRECTORY);

function openInside(calls: Calls, pid: number, path: string, flags: number): number {
  const root = openSync(`/proc/${pid}/root`, oPath | constants.O_DIRECTORY);
  try {
    const found = calls.openInRoot(root, path, oPath | flags | closeOnExec);
    if (found < 0) throw driverErrors.notFound(`The container has no ${path}`, new Error(calls.reason()));
    return found;
  } finally {
    closeSync(root);
  }
}

export function inetAddress(host: string, port: number): Uint8Array {
  const ip = parseIp(host);
  if (ip === undefined) throw driverErrors.invalid(`${host} is no address`);
  const size = ip.family === 4 ? 4 : 16;
  const bytes = Buffer.alloc(ip.family === 4 ? 16 : 28);
  bytes.writeUInt16LE(ip.family === 4 ? families.inet : families.inet6, 0);
  bytes.writeUInt16BE(port, 2);
  const at = ip.family === 4 ? 4 : 8;
  for (let index = 0; index < size; index++) {
    bytes[at + index] = Number((ip.value >> BigInt(8 * (size - 1 - index))) & 0xffn);
  }
  return bytes;
}

function unixAddress(text: string): Uint8Array {
  const name = Buffer.from(text, 'utf8');
  if (name.length > 108) throw driverErrors.invalid(`The socket path ${text.replaceAll('\0', '')} is too long`);
  const family = Buffer.alloc(2);
  family.writeUInt16LE(families.unix, 0);
  return Buffer.concat([family, name]);
}

/** Removes the socket that a former listener left at a path, and never any other file. */
export function removeSocketFile(path: string): void {
  try {
    if (lstatSync(path).isSocket()) unlinkSync(path);
  } catch (error) {
    ifMissing(error);
  }
}
