// Config keys that hold what cloud-init reads at a first boot.

/** Begin with `#cloud-config` when they are maps. */
export const seedKeys = [
  'user.user-data',
  'user.vendor-data',
  'cloud-init.user-data',
  'cloud-init.vendor-data',
] as const;

/** Maps without such a first line. */
export const plainSeedKeys = ['user.network-config', 'user.meta-data', 'cloud-init.network-config'] as const;

export const isSeedKey = (key: string): boolean =>
  (seedKeys as readonly string[]).includes(key) || (plainSeedKeys as readonly string[]).includes(key);
