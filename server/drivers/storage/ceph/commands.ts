// The commands of Ceph, and what they print. Pure.
import { deletedPrefix } from './names.ts';

/** How a cluster is reached: /etc/ceph/NAME.conf, and the keyring of the user. */
export interface Cluster {
  readonly name: string;
  readonly user: string;
}

export interface ImageForm {
  readonly bytes: number;
  readonly features: readonly string[];
  /** The OSD pool with its data; undefined: the one with its name. */
  readonly dataPool: string | undefined;
}

/** The exit codes of `rbd` and `ceph` are numbers of errors. */
export const codes = { notFound: 2, noAccess: 13, busy: 16, exists: 17, invalid: 22, full: 28, notEmpty: 39 } as const;

/** The kernel uses Ceph's first protocol by default; monitors of a cluster may accept only the second. */
export const secondProtocol = 'ms_mode=prefer-crc';

/** The object of a pool that has the marks of its driver. */
export const marksObject = 'gantry';

export const call = (program: string, { name, user }: Cluster, ...args: readonly string[]): readonly string[] => [
  program,
  '--cluster',
  name,
  '--id',
  user,
  ...args,
];

const placed = (form: Omit<ImageForm, 'bytes'>): readonly string[] => [
  ...form.features.flatMap((feature) => ['--image-feature', feature]),
  ...(form.dataPool === undefined ? [] : ['--data-pool', form.dataPool]),
];

export const commands = {
  fsid: (to: Cluster) => call('ceph', to, '--connect-timeout', '15', 'fsid'),
  pools: (to: Cluster) => call('ceph', to, '--connect-timeout', '15', 'osd', 'pool', 'ls', '--format', 'json'),
  usage: (to: Cluster) => call('ceph', to, '--connect-timeout', '15', 'df', '--format', 'json'),
  makePool: (to: Cluster, pool: string, groups: string) =>
    call('ceph', to, 'osd', 'pool', 'create', pool, groups, groups),
  applications: (to: Cluster, pool: string) =>
    call('ceph', to, 'osd', 'pool', 'application', 'get', pool, '--format', 'json'),
  enable: (to: Cluster, pool: string) => call('ceph', to, 'osd', 'pool', 'application', 'enable', pool, 'rbd'),
  removePool: (to: Cluster, pool: string) =>
    call('ceph', to, 'osd', 'pool', 'delete', pool, pool, '--yes-i-really-really-mean-it'),
  /** The first objects of a pool, which can have millions. Data of deleted images stays listed until the cluster has trimmed their snapshots. */
  objects: (to: Cluster, pool: string) => [
    'sh',
    '-c',
    `"$@" | grep -v '^rbd_data[.]' | head -n 50`,
    'sh',
    ...call('rados', to, '-p', pool, 'ls'),
  ],
  marks: (to: Cluster, pool: string) => call('rados', to, '-p', pool, 'listomapkeys', marksObject),
  mark: (to: Cluster, pool: string, mark: string) =>
    call('rados', to, '-p', pool, 'setomapval', marksObject, mark, 'x'),
  unmark: (to: Cluster, pool: string, mark: string) => call('rados', to, '-p', pool, 'rmomapkey', marksObject, mark),
  removeMarks: (to: Cluster, pool: string) => call('rados', to, '-p', pool, 'rm', marksObject),
  /** Fails while an image of the pool is being made or removed, which it lists and cannot open. */
  images: (to: Cluster, pool: string) => call('rbd', to, 'ls', '--long', '--format', 'json', pool),
  imageNames: (to: Cluster, pool: string) => call('rbd', to, 'ls', '--format', 'json', pool),
  snapshots: (to: Cluster, image: string) => call('rbd', to, 'snap', 'ls', '--format', 'json', image),
  /** The object that an image has from the first step of its creation to the first step of its removal. */
  idObject: (to: Cluster, pool: string, image: string) => call('rados', to, '-p', pool, 'stat', `rbd_id.${image}`),
  image: (to: Cluster, image: string) => call('rbd', to, 'info', '--format', 'json', image),
  watchers: (to: Cluster, image: string) => call('rbd', to, 'status', '--format', 'json', image),
  make: (to: Cluster, image: string, form: ImageForm) =>
    call('rbd', to, 'create', image, '--size', `${form.bytes}B`, ...placed(form)),
  snapshot: (to: Cluster, snapshot: string) => call('rbd', to, 'snap', 'create', '--no-progress', snapshot),
  protect: (to: Cluster, snapshot: string) => call('rbd', to, 'snap', 'protect', snapshot),
  unprotect: (to: Cluster, snapshot: string) => call('rbd', to, 'snap', 'unprotect', snapshot),
  removeSnapshot: (to: Cluster, snapshot: string) => call('rbd', to, 'snap', 'rm', '--no-progress', snapshot),
  clone: (to: Cluster, snapshot: string, image: string, form: Omit<ImageForm, 'bytes'>) =>
    call('rbd', to, 'clone', snapshot, image, ...placed(form)),
  /** It has no parent any more. */
  flatten: (to: Cluster, image: string) => call('rbd', to, 'flatten', '--no-progress', image),
  rename: (to: Cluster, from: string, image: string) => call('rbd', to, 'rename', from, image),
  resize: (to: Cluster, image: string, bytes: number) =>
    call('rbd', to, 'resize', '--no-progress', '--allow-shrink', '--size', `${bytes}B`, image),
  remove: (to: Cluster, image: string) => call('rbd', to, 'rm', '--no-progress', image),
  map: (to: Cluster, image: string, readOnly: boolean, options: readonly string[] = []) =>
    call('rbd', to, 'device', 'map', ...(readOnly ? ['--read-only'] : []), ...options, image),
  unmap: (device: string) => ['rbd', 'device', 'unmap', device],
} as const;

export interface Image {
  readonly name: string;
  readonly bytes: number;
  /** What it is a clone of, IMAGE@SNAPSHOT. */
  readonly parent: string | undefined;
}

interface Row {
  readonly image?: string;
  readonly name?: string;
  readonly size: number;
  readonly snapshot?: string;
  readonly parent?: { readonly image: string; readonly snapshot: string };
}

const parsed = (json: string): unknown => JSON.parse(json);

const parentOf = ({ parent }: Row): string | undefined =>
  parent === undefined ? undefined : `${parent.image}@${parent.snapshot}`;

export interface Images {
  readonly images: readonly Image[];
  /** IMAGE@SNAPSHOT. */
  readonly snapshots: readonly string[];
  /** Names that are listed and cannot be opened: an image is being made or removed, or its removal was killed. */
  readonly closed: readonly string[];
}

export function imagesIn(json: string): Images {
  const rows = parsed(json) as readonly Row[];
  return {
    images: rows.flatMap((row) =>
      row.snapshot === undefined ? [{ name: row.image ?? '', bytes: row.size, parent: parentOf(row) }] : [],
    ),
    snapshots: rows.flatMap(({ image = '', snapshot }) => (snapshot === undefined ? [] : [`${image}@${snapshot}`])),
    closed: [],
  };
}

export const namesIn = (json: string): readonly string[] => parsed(json) as readonly string[];

export const snapshotNamesIn = (json: string): readonly string[] =>
  (parsed(json) as readonly { readonly name: string }[]).map(({ name }) => name);

export function imageIn(json: string): Image {
  const row = parsed(json) as Row;
  return { name: row.name ?? '', bytes: row.size, parent: parentOf(row) };
}

/** The addresses of clients that have it open to write. */
export const watchersIn = (json: string): readonly string[] =>
  (parsed(json) as { watchers: readonly { address: string }[] }).watchers.map(({ address }) => address);

export const applicationsIn = (json: string): readonly string[] => Object.keys(parsed(json) as object);

export function usageIn(json: string, pool: string): { readonly used: number; readonly total: number } | undefined {
  const { pools } = parsed(json) as {
    pools: readonly { name: string; stats: { stored: number; max_avail: number } }[];
  };
  const found = pools.find(({ name }) => name === pool)?.stats;
  return found && { used: found.stored, total: found.stored + found.max_avail };
}

export const linesIn = (stdout: string): readonly string[] => stdout.split('\n').filter((line) => line !== '');

/** `rados` ends with 1, whatever was wrong. */
export const saysNotFound = (stderr: string): boolean => /\(2\) No such file or directory/.test(stderr);

/** The snapshot of what does not change: an unpacked image, or a snapshot of a volume. */
export const sealed = 'sealed';
/** A snapshot that copies are clones of is called by a UUID; other snapshots belong to programs that take backups. */
const ofCopy = /@[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const imageOf = (snapshot: string): string => snapshot.slice(0, snapshot.lastIndexOf('@'));

export function snapshotsOf({ images, snapshots }: Images, image: string) {
  const parents = new Set(images.map(({ parent }) => parent));
  return snapshots.filter((each) => imageOf(each) === image).map((name) => ({ name, hasClones: parents.has(name) }));
}

export const isDeleted = (image: string): boolean => image.startsWith(deletedPrefix);

/** Whether an earlier removal did not end. */
export function hasLeft(all: Images): boolean {
  const { snapshots, images } = leftIn(all);
  return all.closed.length + snapshots.length + images.length > 0;
}

/** Finds what can go: snapshots of copies without clones, all snapshots of deleted volumes, and deleted volumes without snapshots. */
export function leftIn(all: Images): { readonly snapshots: readonly string[]; readonly images: readonly string[] } {
  const parents = new Set(all.images.map(({ parent }) => parent));
  return {
    snapshots: all.snapshots.filter(
      (each) => !parents.has(each) && (ofCopy.test(each) || (isDeleted(each) && each.endsWith(`@${sealed}`))),
    ),
    images: all.images.flatMap(({ name }) => (isDeleted(name) && snapshotsOf(all, name).length === 0 ? [name] : [])),
  };
}
