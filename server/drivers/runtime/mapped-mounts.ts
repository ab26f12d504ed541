// Mounts files and directories a second time where a container's root can reach them, if wanted through its id map: what belongs
// to 0:0 on disk belongs to the container's root there. Done here and not by LXC, which forgets the map when a container reboots.
import { closeSync } from 'node:fs';
import { DriverError } from '../driver-error.ts';
import type { IdMapEntry } from './driver.ts';
import type { Libc } from './syscalls.ts';
import type { UserNamespaces } from './user-namespaces.ts';

const atFdcwd = -100;
const openTreeClone = 1;
const openTreeCloexec = 0o2000000;
const atEmptyPath = 0x1000;
const atRecursive = 0x8000;
const moveMountFromFd = 4;
const mountAttrIdmap = 0x10_0000n;
const propagationPrivate = 1n << 18n;
const umountDetach = 2;
const umountNoFollow = 8;

export interface SecondMount {
  readonly source: string;
  /** Exists and is of the kind of `source`. */
  readonly target: string;
  /** Undefined = owners as they are. */
  readonly map: readonly IdMapEntry[] | undefined;
  /** With all mounts below the source. */
  readonly recursive: boolean;
}

export async function mountAgain(
  deps: { readonly libc: Libc; readonly namespaces: UserNamespaces },
  { source, target, map, recursive }: SecondMount,
): Promise<void> {
  const { libc } = deps;
  const namespaceFd = map === undefined ? undefined : await deps.namespaces.fdOf(map);
  const depth = recursive ? atRecursive : 0;
  const tree = libc.openTree(atFdcwd, source, openTreeClone | openTreeCloexec | depth);
  if (tree < 0) throw new DriverError('Failed', `Cannot take ${source} for mounting`);
  try {
    if (namespaceFd !== undefined && !mapTree(libc, tree, namespaceFd, depth)) {
      throw new DriverError('Failed', `The file system of ${source} cannot be mounted through an id map`);
    }
    if (libc.moveMount(tree, '', atFdcwd, target, moveMountFromFd) !== 0) {
      throw new DriverError('Failed', `Cannot mount ${source} at ${target}`);
    }
  } finally {
    closeSync(tree);
  }
}

/** Idempotent; what still uses the mount keeps it. */
export function unmount(libc: Libc, target: string): void {
  // More than one mount can lie there after a crash in between.
  while (libc.umount2(target, umountDetach | umountNoFollow) === 0);
}

/** Whether this directory's file system can do it, with this kernel. Leaves no mount behind. */
export async function canMountMapped(
  deps: { readonly libc: Libc; readonly namespaces: UserNamespaces },
  dir: string,
): Promise<boolean> {
  const { libc } = deps;
  const namespaceFd = await deps.namespaces.fdOf([
    { isuid: true, isgid: true, nsid: 0, hostid: 100_000, maprange: 65_536 },
  ]);
  const tree = libc.openTree(atFdcwd, dir, openTreeClone | openTreeCloexec);
  if (tree < 0) return false;
  try {
    return mapTree(libc, tree, namespaceFd, 0);
  } finally {
    closeSync(tree);
  }
}

function mapTree(libc: Libc, tree: number, namespaceFd: number, depth: number): boolean {
  // struct mount_attr: attr_set, attr_clr, propagation, userns_fd; all 64 bits, in the machine's order.
  const attributes = new BigUint64Array([mountAttrIdmap, 0n, propagationPrivate, BigInt(namespaceFd)]);
  return libc.mountSetAttr(tree, '', atEmptyPath | depth, new Uint8Array(attributes.buffer)) === 0;
}
