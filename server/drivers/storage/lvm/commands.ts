// The commands of LVM, and what they print. Pure.

/** Marks what the driver created, and deletes with the pool. */
export const madeTag = 'gantry.made';

const poolTag = 'gantry.pool=';
export const groupTag = (hash: string): string => `${poolTag}${hash}`;
/** The tags of pools that a group has; no two pools share one. */
export const poolTagsOf = ({ tags }: Group): readonly string[] => tags.filter((each) => each.startsWith(poolTag));

const report = ['--reportformat', 'json', '--units', 'b', '--nosuffix'] as const;

export const commands = {
  groups: () => ['vgs', ...report, '--options', 'vg_name,vg_size,vg_free,vg_tags,lv_count'],
  volumes: (group: string) => [
    'lvs',
    ...report,
    '--options',
    'lv_name,lv_size,lv_tags,pool_lv,lv_attr,data_percent',
    group,
  ],
  devices: () => ['pvs', ...report, '--options', 'pv_name,vg_name'],
  activateGroup: (group: string) => ['vgchange', '--quiet', '--activate', 'y', group],
  makeDevice: (device: string) => ['pvcreate', '--quiet', device],
  makeGroup: (group: string, device: string, tag: string) => ['vgcreate', '--quiet', '--addtag', tag, group, device],
  removeGroup: (group: string) => ['vgremove', '--quiet', '--yes', group],
  removeDevice: (device: string) => ['pvremove', '--quiet', device],
  renameGroup: (from: string, to: string) => ['vgrename', '--quiet', from, to],
  tagGroup: (group: string, tag: string) => ['vgchange', '--quiet', '--addtag', tag, group],
  untagGroup: (group: string, tag: string) => ['vgchange', '--quiet', '--deltag', tag, group],
  /** A full pool refuses writes at once, instead of letting them wait a minute for a larger one. */
  makeThinPool: (group: string, pool: string) => [
    'lvcreate',
    '--quiet',
    '--yes',
    '--type',
    'thin-pool',
    '--config',
    'activation/error_when_full=1',
    '--extents',
    '100%FREE',
    '--addtag',
    madeTag,
    '--name',
    pool,
    group,
  ],
  makeThin: (group: string, pool: string, name: string, bytes: number, tags: readonly string[]) => [
    ...create(name, tags),
    '--virtualsize',
    `${bytes}b`,
    '--thin',
    `${group}/${pool}`,
  ],
  makeThick: (group: string, name: string, bytes: number, tags: readonly string[]) => [
    ...create(name, tags),
    '--wipesignatures',
    'y',
    '--size',
    `${bytes}b`,
    group,
  ],
  snapshot: (group: string, from: string, name: string, tags: readonly string[]) => [
    ...create(name, tags),
    '--setactivationskip',
    'n',
    '--snapshot',
    `${group}/${from}`,
  ],
  activate: (group: string, name: string) => [
    'lvchange',
    '--quiet',
    '--activate',
    'y',
    '--ignoreactivationskip',
    `${group}/${name}`,
  ],
  tag: (group: string, name: string, tag: string) => ['lvchange', '--quiet', '--addtag', tag, `${group}/${name}`],
  untag: (group: string, name: string, tag: string) => ['lvchange', '--quiet', '--deltag', tag, `${group}/${name}`],
  rename: (group: string, from: string, to: string) => ['lvrename', '--quiet', group, from, to],
  resize: (group: string, name: string, bytes: number) => [
    'lvresize',
    '--quiet',
    '--force',
    '--yes',
    '--size',
    `${bytes}b`,
    `${group}/${name}`,
  ],
  remove: (group: string, name: string) => ['lvremove', '--quiet', '--yes', `${group}/${name}`],
} as const;

function create(name: string, tags: readonly string[]): readonly string[] {
  return [
    'lvcreate',
    '--quiet',
    '--yes',
    '--activate',
    'y',
    '--name',
    name,
    ...tags.flatMap((tag) => ['--addtag', tag]),
  ];
}

export interface Group {
  readonly name: string;
  readonly bytes: number;
  readonly free: number;
  readonly tags: readonly string[];
  readonly volumes: number;
}

export interface Logical {
  readonly name: string;
  readonly bytes: number;
  readonly tags: readonly string[];
  readonly pool: string | undefined;
  readonly isThinPool: boolean;
  /** How much of a thin pool is used, from 0 to 100. */
  readonly dataPercent: number;
}

type Row = Readonly<Record<string, string>>;

/** The rows of a report; a missing name is an empty text. */
function rowsOf(json: string, kind: 'vg' | 'lv' | 'pv'): readonly Row[] {
  const { report: reports = [] } = JSON.parse(json) as { report?: readonly Readonly<Record<string, readonly Row[]>>[] };
  return reports.flatMap((each) => each[kind] ?? []);
}

const listed = (text = ''): readonly string[] => text.split(',').filter((each) => each !== '');

export const groupsIn = (json: string): readonly Group[] =>
  rowsOf(json, 'vg').map((row) => ({
    name: row['vg_name'] ?? '',
    bytes: Number(row['vg_size']),
    free: Number(row['vg_free']),
    tags: listed(row['vg_tags']),
    volumes: Number(row['lv_count']),
  }));

export const logicalsIn = (json: string): readonly Logical[] =>
  rowsOf(json, 'lv').map((row) => ({
    name: row['lv_name'] ?? '',
    bytes: Number(row['lv_size']),
    tags: listed(row['lv_tags']),
    pool: row['pool_lv'] === '' ? undefined : row['pool_lv'],
    isThinPool: row['lv_attr']?.startsWith('t') ?? false,
    dataPercent: Number(row['data_percent']),
  }));

/** Groups by the devices that they are on; a device without a group has an empty text. */
export const devicesIn = (json: string): ReadonlyMap<string, string> =>
  new Map(rowsOf(json, 'pv').map((row) => [row['pv_name'] ?? '', row['vg_name'] ?? '']));

export const saysFull = (stderr: string): boolean =>
  /insufficient (?:free|suitable)|not enough free|free space in (?:thin )?pool .* (?:above|below|reached) threshold|new thin volumes? not allowed|No space left/i.test(
    stderr,
  );
export const saysInUse = (stderr: string): boolean =>
  /in use|is used by another device|contains a filesystem/i.test(stderr);
