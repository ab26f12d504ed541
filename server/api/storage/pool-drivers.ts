// The names of storage drivers, in a file without schemas: frequently started programs read them.

export const poolDrivers = ['dir', 'btrfs', 'lvm', 'zfs', 'ceph', 'cephfs'] as const;

/** Pools of these hold custom volumes only, as with LXD. */
export const customOnlyDrivers: readonly string[] = ['cephfs'];
