// The commands of ZFS, and what they print. Pure.
import { idProperty } from './names.ts';

export const poolProperty = 'gantry:pool';
/** What the daemon has made itself goes with the pool. */
export const madeProperty = 'gantry:made';
/** A change of the size of a block volume was begun and not ended. */
export const resizingProperty = 'gantry:resizing';

/** As LXD makes its pools. Volumes are mounted one by one, by the daemon. */
const properties = {
  mountpoint: 'legacy',
  compression: 'on',
  relatime: 'on',
  acltype: 'posixacl',
  xattr: 'sa',
  setuid: 'on',
  exec: 'on',
  devices: 'on',
};

const given = (flag: '-o' | '-O', values: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(values).flatMap(([name, value]) => [flag, `${name}=${value}`]);

const assigned = (values: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(values).map(([name, value]) => `${name}=${value}`);

export const commands = {
  pools: () => ['zpool', 'list', '-H', '-p', '-o', 'name,health'],
  makePool: (name: string, device: string, tag: string) => [
    'zpool',
    'create',
    '-o',
    'cachefile=none',
    ...given('-O', { ...properties, [poolProperty]: tag, [madeProperty]: 'yes' }),
    name,
    device,
  ],
  /** `file`: of a pool of this daemon; whoever had it before is gone. */
  importPool: (name: string, file?: string) => [
    'zpool',
    'import',
    '-N',
    '-o',
    'cachefile=none',
    ...(file === undefined ? [] : ['-f', '-d', file]),
    name,
  ],
  removePool: (name: string) => ['zpool', 'destroy', name],
  growPool: (name: string, device: string) => ['zpool', 'online', '-e', name, device],
  /** What is in a dataset, itself included. */
  list: (dataset: string, depth?: number) => [
    'zfs',
    'list',
    '-H',
    '-p',
    '-t',
    'filesystem,volume',
    '-o',
    `name,used,avail,referenced,quota,refquota,${poolProperty},${madeProperty},${idProperty},volsize,${resizingProperty}`,
    '-r',
    ...(depth === undefined ? [] : ['-d', String(depth)]),
    dataset,
  ],
  /** Datasets and snapshots, oldest first. */
  names: (dataset: string) => [
    'zfs',
    'list',
    '-H',
    '-t',
    'filesystem,volume,snapshot',
    '-o',
    'name,clones',
    '-s',
    'createtxg',
    '-r',
    dataset,
  ],
  /** The folder that it is in, too, when it is the first there; so it is with the next two. */
  make: (dataset: string, values: Readonly<Record<string, string>> = {}) => [
    'zfs',
    'create',
    '-p',
    ...given('-o', values),
    dataset,
  ],
  /** A block volume, which has no space of its own reserved. `volmode=dev`: the host does not look for partitions on it. */
  makeVolume: (dataset: string, bytes: number, values: Readonly<Record<string, string>> = {}) => [
    'zfs',
    'create',
    '-p',
    '-s',
    '-V',
    String(bytes),
    ...given('-o', { volmode: 'dev', ...values }),
    dataset,
  ],
  nameOfDevice: (device: string) => ['/lib/udev/zvol_id', device],
  take: (dataset: string, values: Readonly<Record<string, string>>) => [
    'zfs',
    'create',
    ...given('-o', { ...properties, ...values }),
    dataset,
  ],
  set: (dataset: string, values: Readonly<Record<string, string>>) => ['zfs', 'set', ...assigned(values), dataset],
  adopt: (dataset: string, values: Readonly<Record<string, string>>) => [
    'zfs',
    'set',
    ...assigned({ ...properties, ...values }),
    dataset,
  ],
  unset: (dataset: string, name: string) => ['zfs', 'inherit', name, dataset],
  snapshot: (snapshot: string) => ['zfs', 'snapshot', snapshot],
  clone: (snapshot: string, dataset: string, values: Readonly<Record<string, string>> = {}) => [
    'zfs',
    'clone',
    '-p',
    ...given('-o', values),
    snapshot,
    dataset,
  ],
  rename: (from: string, to: string) => ['zfs', 'rename', '-p', from, to],
  /** Its snapshots go, too. */
  remove: (dataset: string) => ['zfs', 'destroy', '-r', dataset],
  /** The snapshot goes with its last clone. */
  removeLater: (snapshot: string) => ['zfs', 'destroy', '-d', snapshot],
  rollBack: (snapshot: string) => ['zfs', 'rollback', snapshot],
  mount: (dataset: string, path: string, options: string) => ['mount', '-t', 'zfs', '-o', options, dataset, path],
} as const;

export interface Dataset {
  readonly name: string;
  readonly used: number;
  readonly available: number;
  readonly referenced: number;
  /** 0: none. */
  readonly quota: number;
  readonly refquota: number;
  readonly pool: string | undefined;
  readonly isMade: boolean;
  readonly ids: string;
  /** The size of a block volume; undefined: it is a file system. */
  readonly volumeBytes: number | undefined;
  readonly isResizing: boolean;
}

const linesOf = (stdout: string): readonly (readonly string[])[] =>
  stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')]));

const set = (text = '-'): string | undefined => (text === '-' ? undefined : text);

export const datasetsIn = (stdout: string): readonly Dataset[] =>
  linesOf(stdout).map(
    ([name = '', used, available, referenced, quota, refquota, pool, made, ids, bytes, resizing]) => ({
      name,
      used: Number(used),
      available: Number(available),
      referenced: Number(referenced),
      quota: Number(set(quota) ?? 0),
      refquota: Number(set(refquota) ?? 0),
      pool: set(pool),
      isMade: made === 'yes',
      ids: set(ids) ?? '',
      volumeBytes: set(bytes) === undefined ? undefined : Number(bytes),
      isResizing: resizing === 'yes',
    }),
  );

/** Health by name. */
export const poolsIn = (stdout: string): ReadonlyMap<string, string> =>
  new Map(linesOf(stdout).map(([name = '', health = '']) => [name, health]));

export interface Named {
  /** It has an `@` when it is a snapshot. */
  readonly name: string;
  readonly hasClones: boolean;
}

export const namedIn = (stdout: string): readonly Named[] =>
  linesOf(stdout).map(([name = '', clones]) => ({ name, hasClones: (set(clones) ?? '') !== '' }));

export const datasetOfSnapshot = (name: string): string => name.split('@')[0] ?? '';

/** Deleted volumes without a snapshot that has clones: nothing needs them. */
export function withoutClones(folder: string, all: readonly Named[]): readonly string[] {
  const held = new Set(all.flatMap(({ name, hasClones }) => (hasClones ? [datasetOfSnapshot(name)] : [])));
  return all.flatMap(({ name }) =>
    name.startsWith(`${folder}/`) && !name.includes('@') && !held.has(name) ? [name] : [],
  );
}

/** What copies are clones of is called by a UUID. Other snapshots without clones are the host's: of a program that takes backups, perhaps. */
const ofCopy = /@[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Snapshots that no clone needs and nobody sees: of a copy that a crash cut short. */
export const leftSnapshots = (all: readonly Named[]): readonly string[] =>
  all.flatMap(({ name, hasClones }) => (ofCopy.test(name) && !hasClones ? [name] : []));

export const saysFull = (stderr: string): boolean => /out of space|No space left/i.test(stderr);
export const saysBusy = (stderr: string): boolean => /\bis busy|target is busy/.test(stderr);
export const saysMissing = (stderr: string): boolean => /does not exist|no such pool/.test(stderr);
export const saysExists = (stderr: string): boolean => /already exists/.test(stderr);
export const saysHasClones = (stderr: string): boolean => /has dependent clones/.test(stderr);
export const saysTooSmall = (stderr: string): boolean => /size is less than current used/.test(stderr);
