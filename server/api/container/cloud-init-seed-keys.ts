// Config keys that cloud-init reads at a first boot.

/** The value begins with `#cloud-config` when it is a map. */
export const seedKeys = [
  'user.user-data',
  'user.vendor-data',
  'cloud-init.user-data',
  'cloud-init.vendor-data',
] as const;

/** The value is a map without such a first line. */
export const plainSeedKeys = ['user.network-config', 'user.meta-data', 'cloud-init.network-config'] as const;

export const isSeedKey = (key: string): boolean =>
  (seedKeys as readonly string[]).includes(key) || (plainSeedKeys as readonly string[]).includes(key);

const newer = ['network-config', 'user-data', 'vendor-data'];

/** The key that overrides this one if both are set: `cloud-init.user-data` over `user.user-data`. */
export const newerSeedKey = (key: string): string | undefined =>
  newer.map((name) => (key === `user.${name}` ? `cloud-init.${name}` : undefined)).find((name) => name !== undefined);

/** A key of servers with the API extension `cloud_init`. */
export const isNewerSeed = (key: string): boolean => newer.some((name) => key === `cloud-init.${name}`);
