// The names of storage drivers, in a file without schemas: programs that start often read them.

export const poolDrivers = ['dir', 'btrfs', 'lvm', 'zfs', 'ceph'] as const;
