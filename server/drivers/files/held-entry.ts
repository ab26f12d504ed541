// Holds one entry of a tree fast: whatever is renamed or replaced afterwards, a place stays the entry that was looked at.
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  statfsSync,
  type Stats,
} from 'node:fs';

/** O_PATH, which Node does not name: a descriptor that opens nothing, so FIFOs and devices are not touched by it. */
const pathOnly = 0o10000000;
/** Elsewhere there is no such thing as a path through a descriptor; simulated containers have no programs that could race. */
const canAnchor = process.platform === 'linux';

export interface HeldEntry {
  /** A host path that leads to this very entry for as long as the place is open. */
  readonly path: Buffer;
  /** As it was when opened. */
  readonly stats: Stats;
  close(): void;
}

/** The last part of the path is not followed when it is a symbolic link. Throws the errors of open(2). */
export function holdEntry(path: Buffer): HeldEntry {
  if (!canAnchor) return { path, stats: lstatSync(path), close() {} };
  const fd = openSync(path, pathOnly | constants.O_NOFOLLOW);
  try {
    return { path: Buffer.from(`/proc/self/fd/${fd}`), stats: fstatSync(fd), close: () => closeSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

export function below(held: HeldEntry, name: Buffer): Buffer {
  return Buffer.concat([held.path, Buffer.from('/'), name]);
}

/** Opens the regular file or directory that the place holds. Never waits: not for a lease that somebody inside has on it either. */
export function reopen(held: HeldEntry, flags: number): number {
  const noFollow = canAnchor ? 0 : constants.O_NOFOLLOW;
  return openSync(held.path, flags | constants.O_NONBLOCK | noFollow);
}

export function linkText(parent: HeldEntry, name: Buffer): Buffer {
  return readlinkSync(below(parent, name), { encoding: 'buffer' });
}

/**
 * Whether something is mounted on the entry in the tree it was found in. Asked before it is removed: what is a mount point in the
 * container only is none for the kernel here, which would take the mount away with it.
 */
export function isMountPoint(parent: HeldEntry, entry: HeldEntry): boolean {
  return canAnchor && mountOf(parent) !== mountOf(entry);
}

function mountOf({ path }: HeldEntry): string | undefined {
  const info = readFileSync(path.toString().replace('/fd/', '/fdinfo/'), 'utf8');
  return /^mnt_id:\s*(\d+)/m.exec(info)?.[1];
}

/** statfs(2) numbers of file systems whose files are switches and windows of the host's kernel. */
const kernelFileSystems: ReadonlyMap<number, string> = new Map([
  [0x9fa0, 'proc'],
  [0x62656572, 'sysfs'],
  [0x27e0eb, 'cgroup'],
  [0x63677270, 'cgroup2'],
  [0x64626720, 'debugfs'],
  [0x74726163, 'tracefs'],
  [0x73636673, 'securityfs'],
  [0xcafe4a11, 'bpf'],
  [0x6165676c, 'pstore'],
  [0xde5e81e4, 'efivarfs'],
  [0x1cd1, 'devpts'],
  [0x62656570, 'configfs'],
  [0x42494e4d, 'binfmt_misc'],
  [0x65735543, 'fusectl'],
  [0xf97cff8c, 'selinuxfs'],
  [0x43415d53, 'smackfs'],
  [0x19800202, 'mqueue'],
  [0x6e736673, 'nsfs'],
  [0x50494446, 'pidfs'],
]);

/** The name of the kernel's own file system that the place is on, or undefined for an ordinary one. */
export function kernelFileSystem(held: HeldEntry): string | undefined {
  // Some numbers have the top bit set and come as negative ones on 32-bit kernels.
  return kernelFileSystems.get(statfsSync(held.path).type >>> 0);
}
