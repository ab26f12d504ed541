// Mounts directories a second time through an id map: what belongs to 0:0 on disk belongs to the container's root there.
// Done here and not by LXC, which forgets the map when a container reboots from inside.
import { closeSync } from 'node:fs';
import { DriverError } from '../driver-error.ts';
import type { IdMapEntry } from './driver.ts';
import type { Libc } from './syscalls.ts';
import type { UserNamespaces } from './user-namespaces.ts';

const atFdcwd = -100;
const openTreeClone = 1;
const openTreeCloexec = 0o2000000;
const atEmptyPath = 0x1000;
const moveMountFromFd = 4;
const mountAttrIdmap = 0x10_0000n;
const propagationPrivate = 1n << 18n;
const umountDetach = 2;
const umountNoFollow = 8;

/** `target` exists and is of the kind of `source`. */
export async function mountMapped(
  deps: { readonly libc: Libc; readonly namespaces: UserNamespaces },
  source: string,
  target: string,
  map: readonly IdMapEntry[],
): Promise<void> {
  const { libc } = deps;
  const namespaceFd = await deps.namespaces.fdOf(map);
  const tree = libc.openTree(atFdcwd, source, openTreeClone | openTreeCloexec);
  if (tree < 0) throw new DriverError('Failed', `Cannot take ${source} for mounting`);
  try {
    if (!mapTree(libc, tree, namespaceFd)) {
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
    return mapTree(libc, tree, namespaceFd);
  } finally {
    closeSync(tree);
  }
}

function mapTree(libc: Libc, tree: number, namespaceFd: number): boolean {
  // struct mount_attr: attr_set, attr_clr, propagation, userns_fd; all 64 bits, in the machine's order.
  const attributes = new BigUint64Array([mountAttrIdmap, 0n, propagationPrivate, BigInt(namespaceFd)]);
  return libc.mountSetAttr(tree, '', atEmptyPath, new Uint8Array(attributes.buffer)) === 0;
}
