// The config keys of storage pools and of their volumes: one table of facts each. Pure.
import { expiry, scheduleByClock, snapshotPattern } from '../container/snapshot-checks.ts';
import { parseBytes } from '../text/byte-size.ts';
import { poolDrivers } from './pool-drivers.ts';
import * as is from '../text/value-checks.ts';
import type { Check } from '../text/value-checks.ts';

export type PoolDriver = (typeof poolDrivers)[number];
export type StorageKeyType = 'bool' | 'size' | 'text';
export type StorageConfig = Readonly<Record<string, string>>;

export interface StorageConfigKey {
  readonly type: StorageKeyType;
  readonly drivers: readonly PoolDriver[];
  readonly doc: string;
  /** The broken rule, undefined if the value is valid. Never called with empty text, which means unset. */
  readonly check: Check;
  /** The value while it is unset; absent: none, or see doc. */
  readonly default?: string;
  /** Drivers with which an existing pool or volume accepts a new value. */
  readonly changeable: readonly PoolDriver[];
  /** Set by the server; a request may repeat it but has no reason to set it. */
  readonly computed?: boolean;
}

const every: readonly PoolDriver[] = poolDrivers;
const never: readonly PoolDriver[] = [];
/** Zero is valid, too: for most keys it means no limit. */
const size: Check = (value) =>
  parseBytes(value) === undefined ? 'must be a size in bytes such as 512MB or 2GiB' : undefined;
const cephName = is.matches(
  /^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/,
  'must be letters, digits and _.-, and must not begin with -',
);
/** Drivers whose volumes can be block devices with a file system on each. */
const onBlocks: readonly PoolDriver[] = ['lvm', 'ceph', 'zfs'];
const inBlockMode = ' (on zfs: in block mode)';
const fileSystem = is.oneOf('btrfs', 'ext4', 'xfs');

function key(
  type: StorageKeyType,
  drivers: readonly PoolDriver[],
  doc: string,
  more: Partial<Pick<StorageConfigKey, 'check' | 'default' | 'changeable' | 'computed'>> = {},
): StorageConfigKey {
  const check = type === 'bool' ? is.bool : type === 'size' ? size : is.oneLine;
  return { type, drivers, doc, check, changeable: never, ...more };
}

/** Keys of custom volumes. */
const snapshotKeys = {
  'snapshots.expiry': key('text', every, 'Lifetime of its snapshots: 2w 1d. Unset: forever.', {
    check: expiry,
    changeable: every,
  }),
  'snapshots.pattern': key('text', every, 'Name of snapshots made without one.', {
    check: snapshotPattern,
    default: 'snap%d',
    changeable: every,
  }),
  'snapshots.schedule': key(
    'text',
    every,
    'When snapshots are made: five fields as in cron, in the time of the host, or @hourly, @daily ...',
    { check: scheduleByClock, changeable: every },
  ),
};
const { 'snapshots.expiry': lifetime, 'snapshots.pattern': names, 'snapshots.schedule': times } = snapshotKeys;

/** Keys of custom volumes, too. */
const ownerKeys = {
  'security.shifted': key(
    'bool',
    every,
    'Containers with different id maps may use the volume at once. Where the kernel has id-mapped mounts they always may.',
    { default: 'false', changeable: every },
  ),
  'security.unmapped': key('bool', every, 'Owners are not shifted when a container uses the volume.', {
    default: 'false',
    changeable: every,
  }),
};
const { 'security.shifted': shifted, 'security.unmapped': unmapped } = ownerKeys;

const removeSnapshots = key(
  'bool',
  ['zfs'],
  'A restore may remove the snapshots that are newer; here it never has to.',
  {
    default: 'false',
    changeable: ['zfs'],
  },
);
const cephCluster = (driver: 'ceph' | 'cephfs', what: string): StorageConfigKey =>
  key('text', [driver], `${what}: /etc/ceph/NAME.conf says where it is.`, { check: cephName, default: 'ceph' });
const cephUser = (driver: 'ceph' | 'cephfs'): StorageConfigKey =>
  key('text', [driver], 'User of the cluster, whose keyring is in /etc/ceph.', { check: cephName, default: 'admin' });

/** In addition, `user.*` is free on every pool. */
export const poolConfigKeys = {
  size: key(
    'size',
    ['btrfs', 'lvm', 'zfs'],
    'Size of the file that holds the pool; on btrfs and zfs it can grow. Unset: 20% of the disk, 15GB to 100GB.',
    { changeable: ['btrfs', 'zfs'] },
  ),
  source: key(
    'text',
    every,
    'Directory, block device, volume group, dataset, OSD pool, CephFS or file of the pool. Unset: made by the daemon; a CephFS has to be named.',
  ),
  'source.shared': key(
    'bool',
    ['dir'],
    'Every member of the cluster mounts the same file system (NFS, CephFS ...) at source: containers in the pool can go on at another member when theirs is lost.',
    { default: 'false' },
  ),
  'source.shared.id': key('text', ['dir'], 'Id by which the members recognize the shared pool.', {
    check: is.matches(/^[0-9a-f-]{36}$/, 'must be as the server has made it'),
    computed: true,
  }),
  'btrfs.mount_options': key('text', ['btrfs'], 'Mount options of the pool.', {
    default: 'user_subvol_rm_allowed',
    changeable: ['btrfs'],
  }),
  'ceph.cluster_name': cephCluster('ceph', 'Cluster that holds the pool'),
  'ceph.user.name': cephUser('ceph'),
  'ceph.osd.pool_name': key('text', ['ceph'], 'OSD pool. Unset: the name of the pool.', { check: cephName }),
  'ceph.osd.data_pool_name': key('text', ['ceph'], 'OSD pool, such as an erasure coded one, for the data of images.', {
    check: cephName,
  }),
  'ceph.osd.pg_num': key('size', ['ceph'], 'Placement groups of an OSD pool that is made.', {
    check: is.integer(1, 65_536),
    default: '32',
  }),
  'ceph.osd.force_reuse': key('bool', ['ceph'], 'Share an OSD pool that has something in it.', { default: 'false' }),
  'ceph.rbd.features': key('text', ['ceph'], 'Features of new images, layering among them.', {
    check: is.matches(/^(?:[a-z-]+, ?)*layering(?:, ?[a-z-]+)*$/, 'must be words of RBD with layering among them'),
    default: 'layering',
  }),
  'ceph.rbd.clone_copy': key('bool', ['ceph'], 'Copies share the blocks of their origin.', { default: 'true' }),
  'cephfs.cluster_name': cephCluster('cephfs', 'Cluster of the CephFS'),
  'cephfs.user.name': cephUser('cephfs'),
  'cephfs.path': key('text', ['cephfs'], 'The same as source: NAME of a CephFS, or NAME/DIRECTORY.'),
  'cephfs.fscache': key('bool', ['cephfs'], 'The host keeps what it has read in its cache of files (cachefilesd).', {
    default: 'false',
  }),
  'lvm.vg_name': key('text', ['lvm'], 'Volume group. Unset: the name of the pool.', { changeable: ['lvm'] }),
  'lvm.thinpool_name': key('text', ['lvm'], 'Thin pool. Unset: GantryThinPool.', { changeable: ['lvm'] }),
  'lvm.vg.force_reuse': key('bool', ['lvm'], 'Share a volume group that has logical volumes of others.', {
    default: 'false',
  }),
  'lvm.use_thinpool': key('bool', ['lvm'], 'Volumes are thin, so that copies share blocks.', { default: 'true' }),
  'rsync.bwlimit': key(
    'size',
    every,
    'Bytes a second when containers and volumes are sent to another server; 0: no limit.',
    { default: '0', changeable: every },
  ),
  'rsync.compression': key('bool', every, 'rsync packs files on their way to or from a real LXD.', {
    default: 'true',
    changeable: every,
  }),
  'sync.volumes': key(
    'bool',
    every,
    'Writes of the server into volumes (create, copy, snapshot, restore, pushed files) are on the disk before they are acknowledged.',
    { default: 'false', changeable: ['btrfs', 'dir'] },
  ),
  'volume.size': key(
    'size',
    every,
    'Size of a new volume: on lvm, ceph and zfs in block mode 10GB if unset; on dir, btrfs and cephfs of custom volumes, where the pool can limit them.',
    { changeable: every },
  ),
  'volume.security.shifted': { ...shifted, doc: 'security.shifted of a new custom volume.' },
  'volume.security.unmapped': { ...unmapped, doc: 'security.unmapped of a new custom volume.' },
  'volume.block.filesystem': key('text', onBlocks, `File system of a new volume${inBlockMode}.`, {
    check: fileSystem,
    default: 'ext4',
    changeable: onBlocks,
  }),
  'volume.block.mount_options': key('text', onBlocks, `Mount options of a new volume${inBlockMode}.`, {
    default: 'discard',
    changeable: onBlocks,
  }),
  'volume.snapshots.expiry': { ...lifetime, doc: 'Lifetime of the snapshots of a new custom volume.' },
  'volume.snapshots.pattern': { ...names, doc: 'Names of the snapshots of a new custom volume.' },
  'volume.snapshots.schedule': { ...times, doc: 'When snapshots of a new custom volume are made.' },
  'volume.zfs.block_mode': key(
    'bool',
    ['zfs'],
    'A new volume is a block volume of ZFS with a file system of its own. Images are unpacked as it says, too.',
    { default: 'false', changeable: ['zfs'] },
  ),
  'volume.zfs.remove_snapshots': removeSnapshots,
  'volume.zfs.use_refquota': key(
    'bool',
    ['zfs'],
    'Limits count what is in a volume, shared blocks too, and not its snapshots.',
    { default: 'false', changeable: ['zfs'] },
  ),
  'zfs.clone_copy': key(
    'bool',
    ['zfs'],
    'Copies of containers and volumes share the blocks of their origin. rebase: on LXD those of the image only; here they are whole.',
    {
      check: (value) =>
        value === 'rebase' || is.bool(value) === undefined ? undefined : 'must be true, false or rebase',
      default: 'true',
      changeable: ['zfs'],
    },
  ),
  'zfs.pool_name': key('text', ['zfs'], 'Pool of ZFS, or dataset in one. Unset: the name of the pool.'),
  'volatile.initial_source': key('text', every, 'The source as first given.', { computed: true }),
  'volatile.pool.pristine': key('text', every, 'The pool was empty when it was taken over.', { computed: true }),
} as const satisfies Readonly<Record<string, StorageConfigKey>>;

/** Pool keys that the server fills in when a request leaves them out. */
export const filledPoolKeys: ReadonlySet<string> = new Set([
  'source',
  'source.shared.id',
  'size',
  'zfs.pool_name',
  'lvm.vg_name',
  'lvm.thinpool_name',
]);

/** In addition, `user.*` is free on every volume. */
export const volumeConfigKeys = {
  size: key('size', every, 'Limit of the volume; on dir where its file system has project quotas.', {
    changeable: every,
  }),
  'block.filesystem': key('text', onBlocks, `File system of the volume${inBlockMode}.`, {
    check: fileSystem,
    default: 'ext4',
  }),
  'block.mount_options': key('text', onBlocks, `Mount options of the volume${inBlockMode}.`, {
    default: 'discard',
    changeable: onBlocks,
  }),
  ...ownerKeys,
  ...snapshotKeys,
  'zfs.block_mode': key(
    'bool',
    ['zfs'],
    'The volume is a block volume of ZFS with a file system of its own. Unset: as the pool says.',
  ),
  'zfs.remove_snapshots': removeSnapshots,
  'zfs.use_refquota': key(
    'bool',
    ['zfs'],
    'Its limit counts what is in it, shared blocks too, and not its snapshots. Unset: as the pool says.',
    { changeable: ['zfs'] },
  ),
  'volatile.idmap.last': key('text', every, 'Id map that the files have now.', { computed: true, changeable: every }),
  'volatile.idmap.next': key('text', every, 'Id map at the next start.', { computed: true, changeable: every }),
} as const satisfies Readonly<Record<string, StorageConfigKey>>;

/** Undefined for an unknown key; `user.*` is free. */
const finderIn =
  (table: object) =>
  (name: string): true | undefined =>
    /^user\../.test(name) || Object.hasOwn(table, name) || undefined;
export const findPoolConfigKey = finderIn(poolConfigKeys);
export const findVolumeConfigKey = finderIn(volumeConfigKeys);

/** The config without volume keys that only other drivers have. */
export function keysOf(driver: PoolDriver, config: StorageConfig): Record<string, string> {
  const table: Readonly<Record<string, StorageConfigKey>> = volumeConfigKeys;
  return Object.fromEntries(
    Object.entries(config).filter(([name]) => !Object.hasOwn(table, name) || table[name]?.drivers.includes(driver)),
  );
}

/** A new custom volume's config from its pool: snapshots.* and security.* that the request leaves open. */
export function withPoolDefaults(pool: StorageConfig, config: Record<string, string>): Record<string, string> {
  const defaults = Object.keys({ ...snapshotKeys, ...ownerKeys }).flatMap((name) => {
    const value = pool[`volume.${name}`] ?? '';
    return value === '' ? [] : [[name, value] as const];
  });
  const given = { ...Object.fromEntries(defaults), ...config };
  const excluded = exclusive.find((key, at) => is.isTrue(config[key]) && !is.isTrue(config[exclusive[1 - at] ?? '']));
  if (excluded === undefined) return given;
  // The request decides between the two.
  return Object.fromEntries(
    Object.entries(given).filter(([key]) => key === excluded || !exclusive.includes(key) || Object.hasOwn(config, key)),
  );
}

/** The size that the config of a new custom volume gets; empty: none. Drivers of block devices read volume.size themselves. */
export const defaultSize = (driver: PoolDriver, pool: StorageConfig): string =>
  onBlocks.includes(driver) ? '' : (pool['volume.size'] ?? '');

/** Keys of a volume of which one excludes the other. */
export const exclusive: readonly string[] = ['security.shifted', 'security.unmapped'];
