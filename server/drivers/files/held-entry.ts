// Holds one entry of a tree by a descriptor: whatever is renamed or replaced later, it stays the same entry.
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

/** O_PATH, which Node does not name: the descriptor opens nothing, so it does not touch FIFOs and devices. */
const pathOnly = 0o10000000;
/** Other systems have no paths through descriptors; simulated containers have no programs that could race. */
const canAnchor = process.platform === 'linux';

export interface HeldEntry {
  /** A host path that leads to this very entry while it is held. */
  readonly path: Buffer;
  /** As it was when opened. */
  readonly stats: Stats;
  close(): void;
}

/** Does not follow a symbolic link in the last part. Throws the errors of open(2). */
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

/** Opens the held regular file or directory. Never waits, not even for a lease of a process inside. */
export function reopen(held: HeldEntry, flags: number): number {
  const noFollow = canAnchor ? 0 : constants.O_NOFOLLOW;
  return openSync(held.path, flags | constants.O_NONBLOCK | noFollow);
}

export function linkText(parent: HeldEntry, name: Buffer): Buffer {
  return readlinkSync(below(parent, name), { encoding: 'buffer' });
}

/** Whether the entry is a mount point in its tree. Check it before a removal: a mount point in the container's namespace is none for the
 *  kernel here, which would remove the mount with it. */
export function isMountPoint(parent: HeldEntry, entry: HeldEntry): boolean {
  return canAnchor && mountOf(parent) !== mountOf(entry);
}

function mountOf({ path }: HeldEntry): string | undefined {
  const info = readFileSync(path.toString().replace('/fd/', '/fdinfo/'), 'utf8');
  return /^mnt_id:\s*(\d+)/m.exec(info)?.[1];
}

/** statfs(2) numbers of file systems that control or expose the host's kernel. */
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

export function kernelFileSystem(held: HeldEntry): string | undefined {
  // Some numbers have the top bit set and are negative on 32-bit kernels.
  return kernelFileSystems.get(statfsSync(held.path).type >>> 0);
}
