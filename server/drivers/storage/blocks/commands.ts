// The commands for file systems on block devices. Pure.

export const fileSystems = ['ext4', 'xfs', 'btrfs'] as const;
export type FileSystem = (typeof fileSystems)[number];

export const isFileSystem = (name: string): name is FileSystem => (fileSystems as readonly string[]).includes(name);

/** The smallest size of a volume on which each can be made and used. */
export const smallest: Readonly<Record<FileSystem, number>> = {
  ext4: 4 * 1_048_576,
  xfs: 300 * 1_048_576,
  btrfs: 128 * 1_048_576,
};

/** The kernel makes no btrfs smaller than this, although it can be made on less. */
export const smallestShrunk: Readonly<Record<FileSystem, number>> = { ...smallest, btrfs: 256 * 1_048_576 };

export const packageOf: Readonly<Record<FileSystem, string>> = {
  ext4: 'e2fsprogs',
  xfs: 'xfsprogs',
  btrfs: 'btrfs-progs',
};

export interface MountForm {
  readonly fileSystem: FileSystem;
  /** As the user wants them. */
  readonly options: string;
  readonly readOnly: boolean;
  /** What was never written reads as zeros. */
  readonly readsZeros: boolean;
}

/** xfs: a copy has the id of its origin. ext4: tables that read as zeros need not be written; a snapshot has nothing to recover. */
export function mountOptions({ fileSystem, options, readOnly, readsZeros }: MountForm): string {
  const own = {
    ext4: [...(readOnly ? ['noload'] : []), ...(readsZeros ? ['noinit_itable'] : [])],
    xfs: ['nouuid', ...(readOnly ? ['norecovery'] : [])],
    btrfs: [],
  }[fileSystem];
  return [readOnly ? 'ro' : 'rw', ...own, ...(options === '' ? [] : [options])].join(',');
}

export const commands = {
  /** None of them is made where something is: volumes are wiped when they are made. */
  make: (fileSystem: FileSystem, device: string): readonly string[] =>
    ({
      ext4: ['mkfs.ext4', '-q', '-E', 'nodiscard', device],
      xfs: ['mkfs.xfs', '-q', '-K', device],
      btrfs: ['mkfs.btrfs', '--quiet', '--nodiscard', device],
    })[fileSystem],
  mount: (device: string, path: string, fileSystem: FileSystem, options: string) => [
    'mount',
    '-t',
    fileSystem,
    '-o',
    options,
    device,
    path,
  ],
  remount: (path: string, options: string) => ['mount', '-o', `remount,${options}`, path],
  /** The file system on a device; status 2: none. */
  probe: (device: string) => ['blkid', '--probe', '--match-tag', 'TYPE', '--output', 'value', device],
  /** What is on a device, of any kind; status 2: nothing. */
  signatures: (device: string) => ['blkid', '--probe', '--output', 'export', device],
  /** A copy of a btrfs file system is mounted beside its origin only with another id. */
  newId: (device: string) => ['btrfstune', '-f', '-m', device],
  check: (device: string) => ['e2fsck', '-f', '-y', device],
  /** To the size of the device. */
  grow: (fileSystem: FileSystem, device: string, path: string): readonly string[] =>
    ({ ext4: ['resize2fs', device], xfs: ['xfs_growfs', path], btrfs: ['btrfs', 'filesystem', 'resize', 'max', path] })[
      fileSystem
    ],
  shrinkExt4: (device: string, bytes: number) => ['resize2fs', device, `${Math.floor(bytes / 1024)}K`],
  shrinkBtrfs: (path: string, bytes: number) => ['btrfs', 'filesystem', 'resize', String(bytes), path],
  /** One program: if the daemon is killed meanwhile, no file system stays frozen. */
  atRest: (path: string, command: readonly string[]) => [
    'sh',
    '-c',
    'path=$1; shift; sync -f -- "$path"; fsfreeze --freeze "$path" || exit 16; timeout 60 "$@"; code=$?; fsfreeze --unfreeze "$path"; exit $code',
    'sh',
    path,
    ...command,
  ],
  /** Code 1: it was not frozen. */
  thaw: (path: string) => ['fsfreeze', '--unfreeze', path],
} as const;

/** What resize2fs and btrfs say to a size that is too small for what is in the file system. */
export const saysHoldsMore = (stderr: string): boolean =>
  /smaller than minimum|No space left on device|Not enough space/i.test(stderr);

/** A root without the capability sys_resource may not grow an ext4 that is mounted. */
export const saysMayNot = (stderr: string): boolean => /Permission denied to resize/.test(stderr);
/** What the tools of ext4 say to a device that somebody has open: e2fsck on its standard output, resize2fs on the other. */
export const saysInUse = ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }): boolean =>
  /is in use|Device or resource busy|is mounted/i.test(`${stdout}\n${stderr}`);

/** What `signatures` found, in words; undefined: nothing. */
export function contentIn(exported: string): string | undefined {
  const field = (name: string): string | undefined => new RegExp(`^${name}=(.+)$`, 'm').exec(exported)?.[1];
  const type = field('TYPE');
  if (type !== undefined)
    return type === 'LVM2_member' ? 'a part of an LVM volume group' : `a file system or data of type ${type}`;
  const table = field('PTTYPE');
  return table === undefined ? undefined : `a partition table of type ${table}`;
}
