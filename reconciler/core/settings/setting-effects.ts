// The effects of changes and the problems of config, from the tables of the API. The reconciler reads them here only.
import {
  containerConfigKey,
  effectOfContainerKey,
  validateContainerConfig,
} from '../../../server/api/container/container-config.ts';
import { effectOfDeviceChange, isRoot, validateDevices, type Devices } from '../../../server/api/devices/index.ts';
import type { Effect } from '../../../server/api/schema/field.ts';
import { validateNetworkConfig } from '../../../server/api/network/validate-network-config.ts';
import type { Problem } from '../../../server/api/problem.ts';
import { projectConfigProblems } from '../../../server/api/project/project-config.ts';
import { lxdServerDefault } from '../../../server/api/server/lxd-keys.ts';
import { serverConfigKeys } from '../../../server/api/server/server-config.ts';
import { validateServerConfig } from '../../../server/api/server/validate-server-config.ts';
import { poolConfigKeys, volumeConfigKeys, type StorageConfigKey } from '../../../server/api/storage/storage-config.ts';
import { validatePoolConfig } from '../../../server/api/storage/validate-storage-config.ts';
import { foreignKey, isForeignType, withoutForeign, withoutForeignDevices } from './lxd-settings.ts';

type Config = Readonly<Record<string, string>>;

const weight: Readonly<Record<Effect, number>> = { live: 0, restart: 1, recreate: 2 };

export const worseEffect = (a: Effect, b: Effect): Effect => (weight[a] >= weight[b] ? a : b);
export const worstEffect = (effects: Iterable<Effect>): Effect => {
  let worst: Effect = 'live';
  for (const effect of effects) worst = worseEffect(worst, effect);
  return worst;
};

export function configEffect(key: string): Effect {
  const foreign = foreignKey('container', key);
  if (foreign !== undefined) return foreign.effect;
  const effect = effectOfContainerKey(key);
  return effect === 'none' ? 'live' : effect;
}

export const isComputedConfig = (key: string): boolean => containerConfigKey(key)?.fact.computed === true;

export function deviceEffect(before: Config | undefined, after: Config | undefined): Effect {
  const effect = effectOfDeviceChange(before, after);
  return effect === 'none' ? 'live' : effect;
}

export const isRootDisk = (device: Config): boolean => isRoot(device);

/** A key that an existing pool refuses needs a new pool. */
export function poolEffect(driver: string, key: string): Effect {
  const row: StorageConfigKey | undefined = Object.hasOwn(poolConfigKeys, key)
    ? poolConfigKeys[key as keyof typeof poolConfigKeys]
    : undefined;
  const foreign = foreignKey('storage_pool', key, driver);
  if (foreign !== undefined) return foreign.effect;
  return row === undefined || row.changeable.some((name) => name === driver) ? 'live' : 'recreate';
}

/** For volumes of any pool: a key that no driver can change needs a new volume. */
export function volumeEffect(key: string): Effect {
  const row: StorageConfigKey | undefined = Object.hasOwn(volumeConfigKeys, key)
    ? volumeConfigKeys[key as keyof typeof volumeConfigKeys]
    : undefined;
  if (row === undefined) return foreignKey('storage_volume', key)?.effect ?? 'live';
  return row.changeable.length > 0 ? 'live' : 'recreate';
}

/** The driver of the pool is unknown here; the server checks the rules of the driver. */
export const volumeProblems = (config: Config): readonly Problem[] =>
  Object.entries(withoutForeign('storage_volume', config)).flatMap(([key, value]) => {
    if (/^user\..+/.test(key)) return [];
    const row: StorageConfigKey | undefined = Object.hasOwn(volumeConfigKeys, key)
      ? volumeConfigKeys[key as keyof typeof volumeConfigKeys]
      : undefined;
    const message = row === undefined ? 'is not a config key of a storage volume' : row.check(value);
    return message === undefined ? [] : [{ path: `config.${key}`, message }];
  });

export function serverDefault(key: string): string | undefined {
  const rows: Readonly<Record<string, { readonly default?: string }>> = serverConfigKeys;
  return (Object.hasOwn(rows, key) ? rows[key]?.default : undefined) ?? lxdServerDefault(key);
}

export const serverConfigProblems = (config: Config): readonly Problem[] => {
  const problems = validateServerConfig(withoutForeign('server_config', config));
  // A server only shows that it has a password, so it cannot be compared.
  const hidden = Object.keys(config).filter((key) => key === 'core.trust_password');
  const message =
    'is never shown by a server and so cannot be kept as declared: declare the certificates to trust instead';
  return [...problems, ...hidden.map((key) => ({ path: `config.${key}`, message }))];
};

export const configProblems = (config: Config, profile: boolean): readonly Problem[] => {
  const problems = validateContainerConfig(withoutForeign('container', config), { profile });
  // A server puts its own values of these back, so a plan would never be empty.
  const kept = profile ? [] : Object.keys(config).filter((key) => /^volatile\.(?!.+\.hwaddr$)/.test(key));
  const message = 'is kept by the server, which takes no change of it: leave it out';
  return [...problems, ...kept.map((key) => ({ path: `config.${key}`, message }))];
};
export const deviceProblems = (devices: Devices): readonly Problem[] => validateDevices(withoutForeignDevices(devices));
export const networkProblems = (name: string, type: string, config: Config): readonly Problem[] =>
  isForeignType(type)
    ? []
    : validateNetworkConfig(name, withoutForeign('network', config)).filter((problem) => problem.path !== 'name');
export const poolProblems = (driver: string, config: Config): readonly Problem[] =>
  validatePoolConfig(driver, withoutForeign('storage_pool', config, driver));
export const projectProblems = (config: Config): readonly Problem[] =>
  projectConfigProblems(withoutForeign('project', config));
