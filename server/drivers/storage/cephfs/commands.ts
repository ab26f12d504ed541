// The commands of CephFS, and what they print. Pure.
import { call, type Cluster } from '../ceph/commands.ts';

/** What is mounted: a directory of a file system, by its path there. */
export interface CephfsPlace {
  readonly cluster: Cluster;
  readonly fileSystem: string;
  /** `/`, or `/PATH`. */
  readonly path: string;
  /** Whether the host keeps what was read in its cache of files. */
  readonly isCached: boolean;
}

const quota = 'ceph.quota.max_bytes';

const optionsOf = ({ cluster, fileSystem, isCached }: CephfsPlace): string =>
  [
    `name=${cluster.user}`,
    `conf=/etc/ceph/${cluster.name}.conf`,
    `mds_namespace=${fileSystem}`,
    ...(isCached ? ['fsc'] : []),
  ].join(',');

/** A guest can make snapshots of its directories, which nobody can remove before those are gone. Names with _ are of snapshots above. */
const dropSnapshots = 'for each; do find "$each/.snap" -mindepth 1 -maxdepth 1 ! -name "_*" -delete; done';

const sumOfSizes = `find "$1" -xdev -type f -printf '%s\\n' | awk '{ all += $1 } END { printf "%d", all }'`;

export const commands = {
  fileSystems: (to: Cluster) => call('ceph', to, '--connect-timeout', '15', 'fs', 'ls', '--format', 'json'),
  /** mount.ceph finds the monitors in the file, and the key in the keyring that it names. */
  mount: (place: CephfsPlace, target: string, more = '') => [
    'mount',
    '-t',
    'ceph',
    `:${place.path}`,
    target,
    '-o',
    `${optionsOf(place)}${more}`,
  ],
  bind: (from: string, path: string, isWritten: boolean) => [
    'mount',
    '-o',
    isWritten ? 'bind' : 'bind,ro',
    '--',
    from,
    path,
  ],
  /** Nothing to set is 0. */
  limit: (path: string, bytes: number) => ['setfattr', '-n', quota, '-v', String(bytes), '--', path],
  limits: (paths: readonly string[]) => ['getfattr', '--absolute-names', '-n', quota, '--', ...paths],
  used: (path: string) => ['getfattr', '--absolute-names', '--only-values', '-n', 'ceph.dir.rbytes', '--', path],
  /** The bytes of all files as a quota counts them, now. */
  sizes: (path: string) => ['sh', '-c', sumOfSizes, 'sh', path],
  dropSnapshotsBelow: (path: string) => [
    'find',
    path,
    '-type',
    'd',
    '-exec',
    'sh',
    '-c',
    dropSnapshots,
    'sh',
    '{}',
    '+',
  ],
} as const;

export const fileSystemsIn = (json: string): readonly string[] =>
  (JSON.parse(json) as readonly { readonly name: string }[]).map(({ name }) => name);

/** What getfattr prints: a line `# file: PATH`, and one with the value, for each that has it. */
export function limitsIn(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  let path = '';
  for (const line of text.split('\n')) {
    if (line.startsWith('# file: ')) path = line.slice('# file: '.length);
    const [, value = ''] = /^ceph\.quota\.max_bytes="(\d+)"$/.exec(line) ?? [];
    if (Number(value) > 0) found.set(path, Number(value));
  }
  return found;
}

/** NAME or NAME/PATH; undefined: it is neither. */
export function placeIn(source: string): Pick<CephfsPlace, 'fileSystem' | 'path'> | undefined {
  const [fileSystem = '', ...folders] = source.split('/').filter((part, at) => at === 0 || part !== '');
  const isPlain = /^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/.test(fileSystem) && folders.every(isFolder);
  return isPlain ? { fileSystem, path: `/${folders.join('/')}` } : undefined;
}

/** The mount options and paths of tools have no place for others. */
const isFolder = (name: string): boolean =>
  /^[A-Za-z0-9_.@+=-]+$/.test(name) && !/^\.{1,2}$/.test(name) && name !== '.snap';
