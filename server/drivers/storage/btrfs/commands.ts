// The commands of btrfs, mkfs and mount, and their output. Pure.
import { keptToRead, keptToWrite, type ConfinedCommand } from '../../../lib/confined.ts';

/** Below this mkfs.btrfs refuses, or nothing fits in. */
export const smallestPool = 128 * 1_048_576;

export const defaultMountOptions = 'user_subvol_rm_allowed';

export type BlockSource =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'device'; readonly path: string };

export const commands = {
  /** Without -f: it refuses a device that has a file system. */
  makeFileSystem: (path: string, uuid?: string) => [
    'mkfs.btrfs',
    '--quiet',
    ...(uuid === undefined ? [] : ['--uuid', uuid]),
    path,
  ],
  allocate: (path: string, bytes: number) => ['truncate', `--size=${bytes}`, path],
  findByUuid: (uuid: string) => ['blkid', '--cache-file', '/dev/null', '--uuid', uuid],
  uuidOf: (device: string) => [
    'blkid',
    '--cache-file',
    '/dev/null',
    '--match-token',
    'TYPE=btrfs',
    '--match-tag',
    'UUID',
    '--output',
    'value',
    device,
  ],
  mount: (source: BlockSource, target: string, options: string) => [
    'mount',
    '-t',
    'btrfs',
    '-o',
    source.kind === 'file' ? `loop,${options}` : options,
    source.path,
    target,
  ],
  remount: (target: string, options: string) => ['mount', '-o', `remount,${options}`, target],
  readLoopSize: (device: string) => ['losetup', '--set-capacity', device],
  growToDevice: (target: string) => ['btrfs', 'filesystem', 'resize', 'max', target],
  unmount: (target: string) => ['umount', target],
  create: (path: string) => ['btrfs', 'subvolume', 'create', path],
  snapshot: (from: string, to: string, kind: 'readonly' | 'writable') => [
    'btrfs',
    'subvolume',
    'snapshot',
    ...(kind === 'readonly' ? ['-r'] : []),
    from,
    to,
  ],
  send: (path: string, parent: string | undefined): ConfinedCommand => ({
    argv: ['btrfs', 'send', '--quiet', ...(parent === undefined ? [] : ['-p', parent]), path],
    confinement: { writes: [], keeps: keptToRead },
  }),
  /** Streams name their parents by their place below the mount of the file system. */
  receive: (directory: string): ConfinedCommand => ({
    argv: ['btrfs', 'receive', '--quiet', directory],
    confinement: { writes: [directory], keeps: keptToWrite, isAtHome: true },
  }),
  remove: (path: string) => ['btrfs', 'subvolume', 'delete', path],
  /** A subvolume's own directory has the number 256; a hard link of directories there is none. Relative paths, ended by 0 bytes. */
  findNested: (path: string) => ['find', path, '-mindepth', '1', '-type', 'd', '-inum', '256', '-printf', '%P\\0'],
  removeNested: (path: string) => [
    'find',
    path,
    '-depth',
    '-mindepth',
    '1',
    '-type',
    'd',
    '-inum',
    '256',
    '-exec',
    'btrfs',
    'subvolume',
    'delete',
    '{}',
    ';',
  ],
  seal: (path: string) => ['btrfs', 'property', 'set', path, 'ro', 'true'],
  show: (path: string) => ['btrfs', 'subvolume', 'show', path],
  /** Those right below a subvolume. */
  listInside: (path: string) => ['btrfs', 'subvolume', 'list', '-o', path],
  enableQuotas: (root: string) => ['btrfs', 'quota', 'enable', root],
  awaitQuotas: (root: string) => ['btrfs', 'quota', 'rescan', '-w', root],
  limit: (path: string, bytes: number | undefined) => [
    'btrfs',
    'qgroup',
    'limit',
    bytes === undefined ? 'none' : String(bytes),
    path,
  ],
  /** By number and from outside: a subvolume above its limit refuses even changes of the limit. */
  limitFromOutside: (root: string, id: string, bytes: number | undefined) => [
    'btrfs',
    'qgroup',
    'limit',
    bytes === undefined ? 'none' : String(bytes),
    `0/${id}`,
    root,
  ],
  numberOf: (path: string) => ['btrfs', 'inspect-internal', 'rootid', path],
  /** The use of one subvolume, with all that was written until now. */
  use: (path: string) => ['btrfs', 'qgroup', 'show', '--raw', '--sync', '-re', '-f', path],
  limits: (root: string) => ['btrfs', 'qgroup', 'show', '--raw', '-re', root],
  forgetLimits: (root: string) => ['btrfs', 'qgroup', 'clear-stale', root],
} as const;

/** The last command of a stream that btrfs sent: no data, number 21, checksum. */
export const endCommand = Buffer.from('000000001500506cc99d', 'hex');

/** What streams call a subvolume: as it was called where it was made first. */
export function streamIdIn(shown: string): string | undefined {
  const field = (label: string): string | undefined =>
    new RegExp(`^\\s+${label}:\\s+([0-9a-f-]{36})\\s*$`, 'm').exec(shown)?.[1];
  return field('Received UUID') ?? field('UUID');
}

/** How many lines such as `ID 260 gen 10 top level 259 path b/nested` there are; a name may hold more of them. */
export const countSubvolumes = (output: string): number =>
  output.match(/^ID [0-9]+ gen [0-9]+ top level /gm)?.length ?? 0;

export interface QuotaGroup {
  /** Bytes that the subvolume refers to, shared or not. */
  readonly referenced: number;
  readonly limit: number | undefined;
  readonly path: string;
}

/** Lines such as `0/256  49983488  16384  70000000  none  custom/v2`. */
export function quotaGroupsIn(shown: string): readonly QuotaGroup[] {
  const lines = shown.matchAll(/^0\/[0-9]+\s+([0-9]+)\s+[0-9]+\s+([0-9]+|none)\s+(?:[0-9]+|none)[ \t]*(.*)$/gm);
  return [...lines].map(([, referenced, limit, path = '']) => ({
    referenced: Number(referenced),
    limit: limit === 'none' ? undefined : Number(limit),
    path,
  }));
}

/** Limits by the last two parts of paths; of several the one that is least deep, as guests make subvolumes too. */
export function limitsByPlace(groups: readonly QuotaGroup[]): ReadonlyMap<string, number> {
  const depth = ({ path }: QuotaGroup): number => path.split('/').length;
  const deepestFirst = groups.toSorted((one, other) => depth(other) - depth(one));
  const limits = new Map(deepestFirst.map(({ path, limit }) => [path.split('/').slice(-2).join('/'), limit]));
  return new Map([...limits].flatMap(([place, limit]) => (limit === undefined ? [] : [[place, limit] as const])));
}

/** What the kernel's words mean: no limits were ever wanted in this file system. */
export const saysNoQuotas = (stderr: string): boolean => /quotas? not enabled/i.test(stderr);
export const saysOverQuota = (stderr: string): boolean => /Disk quota exceeded/i.test(stderr);
export const saysNotEmpty = (stderr: string): boolean => /Directory not empty/.test(stderr);
export const saysBusy = (stderr: string): boolean => /target is busy/.test(stderr);
