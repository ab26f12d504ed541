// The names of storage drivers; apart from the schemas, since programs that start often read them without any schema.

export const poolDrivers = ['dir', 'btrfs', 'lvm', 'zfs', 'ceph'] as const;
