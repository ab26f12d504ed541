// Mounts files and directories again where a container's root can reach them, optionally through its id map: files of 0:0 on disk then
// belong to the container's root. Not left to LXC, which forgets the map when a container reboots.
import { closeSync } from 'node:fs';
import type { MountFlag } from '../../../api/devices/index.ts';
import { driverErrors } from '../../driver-error.ts';
import type { IdMapEntry, MountRun } from '../driver.ts';
import type { Libc } from '../host/syscalls.ts';
import type { UserNamespaces } from '../idmap/user-namespaces.ts';
import { mountBlock } from './block-mount.ts';
import { holdSource } from './held-source.ts';

const atFdcwd = -100;
const openTreeClone = 1;
const openTreeCloexec = 0o2000000;
const atEmptyPath = 0x1000;
const atRecursive = 0x8000;
const moveMountFromFd = 4;
const mountAttrIdmap = 0x10_0000n;
const mountAttrReadonly = 1n;
const mountAttrNodev = 4n;
const propagationPrivate = 1n << 18n;
const propagationSlave = 1n << 19n;
const propagationShared = 1n << 20n;
/** One after the other. Never only shared: the container's mounts must not reach the host. An unbindable tree cannot be attached to shared
 *  mounts, which containers have (and LXC shares them again at a start). */
const propagations: Readonly<Record<string, readonly bigint[]>> = {
  private: [propagationPrivate],
  shared: [propagationSlave, propagationShared],
  slave: [propagationSlave],
  unbindable: [propagationPrivate],
};
const umountDetach = 2;
const umountNoFollow = 8;

const accessTimes = 0x70n;
const flagBits: Readonly<Record<MountFlag, readonly [set: bigint, clear: bigint]>> = {
  ro: [mountAttrReadonly, 0n],
  nosuid: [2n, 0n],
  nodev: [mountAttrNodev, 0n],
  noexec: [8n, 0n],
  nosymfollow: [0x20_0000n, 0n],
  nodiratime: [0x80n, 0n],
  noatime: [0x10n, accessTimes],
  relatime: [0n, accessTimes],
  strictatime: [0x20n, accessTimes],
};

export interface SecondMount extends Pick<MountRun, 'source' | 'recursive' | 'propagation' | 'flags' | 'nodes'> {
  /** Exists and has the kind of `source`. */
  readonly target: string;
  /** Undefined: owners stay. */
  readonly map: readonly IdMapEntry[] | undefined;
  /** See MountRun. */
  readonly within?: readonly string[] | undefined;
  readonly block?: MountRun['block'] | undefined;
  readonly readonly?: boolean;
}

export interface TreeOptions extends Omit<SecondMount, 'target'> {
  readonly readonly: boolean;
}

/** A second, detached mount of `source` as a descriptor; the caller attaches and closes it. */
export async function openMountTree(
  deps: { readonly libc: Libc; readonly namespaces: UserNamespaces },
  options: TreeOptions,
): Promise<number> {
  const { libc } = deps;
  const { recursive, source, propagation = 'private' } = options;
  const namespaceFd = options.map === undefined ? undefined : await deps.namespaces.fdOf(options.map);
  const depth = recursive ? atRecursive : 0;
  const tree = await takeSource(libc, options, depth);
  try {
    const fail = (what: string): never => {
      throw driverErrors.failed(`The file system of ${source} cannot be mounted ${what}`);
    };
    const kinds = propagations[propagation.replace(/^r(?=private|shared|slave|unbindable)/, '')];
    if (kinds === undefined) throw driverErrors.invalid(`Unknown propagation "${propagation}"`);
    for (const kind of kinds) {
      if (!setAttributes(libc, tree, 0n, 0n, kind, depth)) fail(`with propagation ${propagation}`);
    }
    if (namespaceFd !== undefined && !mapTree(libc, tree, namespaceFd, depth, 0n)) fail('through an id map');
    if (options.nodes === true && !setAttributes(libc, tree, 0n, mountAttrNodev, 0n, depth)) fail('with device nodes');
    setFlags(libc, tree, options, depth);
    if (options.readonly && !setAttributes(libc, tree, mountAttrReadonly, 0n, 0n, depth)) fail('read-only');
    return tree;
  } catch (error) {
    closeSync(tree);
    throw error;
  }
}

type Source = Pick<SecondMount, 'source' | 'within' | 'block' | 'flags' | 'readonly'>;

/** A detached copy of the source's mount, or a mount of its file system. */
async function takeSource(libc: Libc, mount: Source, depth: number): Promise<number> {
  const { source, within, block, flags = [] } = mount;
  const sourceHandle = holdSource(libc, source, within);
  try {
    const readonly = mount.readonly === true || flags.includes('ro');
    if (block !== undefined) return await mountBlock(libc, { source: sourceHandle.path, readonly, ...block });
    const tree = libc.openTree(atFdcwd, sourceHandle.path, openTreeClone | openTreeCloexec | depth);
    if (tree < 0) throw driverErrors.failed(`Cannot take ${source} for mounting`);
    return tree;
  } finally {
    sourceHandle.close();
  }
}

function setFlags(
  libc: Libc,
  tree: number,
  { source, flags = [] }: Pick<SecondMount, 'source' | 'flags'>,
  depth: number,
): void {
  const [set, clear] = flags.reduce(
    ([all, none], flag) => [all | flagBits[flag][0], none | flagBits[flag][1]] as const,
    [0n, 0n] as const as readonly [bigint, bigint],
  );
  if (flags.length === 0 || setAttributes(libc, tree, set, clear, 0n, depth)) return;
  throw driverErrors.failed(`The file system of ${source} cannot be mounted with ${flags.join(',')}`);
}

function setAttributes(
  libc: Libc,
  tree: number,
  set: bigint,
  clear: bigint,
  propagation: bigint,
  depth: number,
): boolean {
  const attributes = new BigUint64Array([set, clear, propagation, 0n]);
  return libc.mountSetAttr(tree, '', atEmptyPath | depth, new Uint8Array(attributes.buffer)) === 0;
}

export async function mountAgain(
  deps: { readonly libc: Libc; readonly namespaces: UserNamespaces },
  mount: SecondMount,
): Promise<void> {
  const { source, target, map, recursive, nodes, propagation = 'private' } = mount;
  const { libc } = deps;
  const namespaceFd = map === undefined ? undefined : await deps.namespaces.fdOf(map);
  const depth = recursive ? atRecursive : 0;
  const tree = await takeSource(libc, mount, depth);
  try {
    // LXC can only pass on to the container the propagation that this mount keeps.
    const alone = propagation.includes('private') || propagation.includes('unbindable');
    if (namespaceFd !== undefined && !mapTree(libc, tree, namespaceFd, depth, alone ? propagationPrivate : 0n)) {
      throw driverErrors.failed(`The file system of ${source} cannot be mounted through an id map`);
    }
    if (nodes === true && !setAttributes(libc, tree, 0n, mountAttrNodev, 0n, depth)) {
      throw driverErrors.failed(`The file system of ${source} cannot be mounted with device nodes`);
    }
    setFlags(libc, tree, mount, depth);
    if (libc.moveMount(tree, '', atFdcwd, target, moveMountFromFd) !== 0) {
      throw driverErrors.failed(`Cannot mount ${source} at ${target}`);
    }
  } finally {
    closeSync(tree);
  }
}

/** Idempotent; current users of the mount keep it. */
export function unmount(libc: Libc, target: string): void {
  // After a crash in between there can be several mounts.
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
    return mapTree(libc, tree, namespaceFd, 0, propagationPrivate);
  } finally {
    closeSync(tree);
  }
}

function mapTree(libc: Libc, tree: number, namespaceFd: number, depth: number, propagation: bigint): boolean {
  // struct mount_attr: attr_set, attr_clr, propagation, userns_fd; all 64 bits, in the machine's order.
  const attributes = new BigUint64Array([mountAttrIdmap, 0n, propagation, BigInt(namespaceFd)]);
  return libc.mountSetAttr(tree, '', atEmptyPath | depth, new Uint8Array(attributes.buffer)) === 0;
}
