// Checks the whole config of a storage pool or volume against the tables of their keys. Pure.
import { countProblems, maxProblems, type Problem } from '../problem.ts';
import * as is from '../text/value-checks.ts';
import { poolDrivers } from './pool-drivers.ts';
import {
  exclusive,
  poolConfigKeys,
  volumeConfigKeys,
  type PoolDriver,
  type StorageConfig,
  type StorageConfigKey,
} from './storage-config.ts';

/** All problems of a pool's config. `old` is the stored config at an update: unchanged keys are not checked again. */
export function validatePoolConfig(driver: string, config: StorageConfig, old?: StorageConfig): Problem[] {
  const known = poolDrivers.find((name) => name === driver);
  if (known === undefined)
    return [
      {
        path: 'driver',
        message: `there is no storage driver ${is.shown(driver)}; known are ${poolDrivers.join(', ')}`,
      },
    ];
  const problems = validateConfig(poolConfigKeys, `a ${known} pool`, known, config, old);
  if (config['lvm.use_thinpool'] && !is.isTrue(config['lvm.use_thinpool']) && config['lvm.thinpool_name'])
    problems.push({
      path: 'config.lvm.thinpool_name',
      message: 'must be unset while lvm.use_thinpool is false: there is no thin pool then',
    });
  return [...problems, ...bothOwners(config, old, 'volume.')];
}

/** All problems of a volume's config; `driver` is that of its pool. */
export function validateVolumeConfig(driver: PoolDriver, config: StorageConfig, old?: StorageConfig): Problem[] {
  const problems = validateConfig(volumeConfigKeys, `a volume of a ${driver} pool`, driver, config, old);
  return [...problems, ...bothOwners(config, old, '')];
}

function bothOwners(config: StorageConfig, old: StorageConfig | undefined, prefix: '' | 'volume.'): Problem[] {
  const isBoth = (one: StorageConfig): boolean => exclusive.every((key) => is.isTrue(one[`${prefix}${key}`]));
  if (!isBoth(config) || (old !== undefined && isBoth(old))) return [];
  const message = `excludes ${prefix}security.unmapped: unset one of the two`;
  return [{ path: `config.${prefix}security.shifted`, message }];
}

function validateConfig(
  table: Readonly<Record<string, StorageConfigKey>>,
  owner: string,
  driver: PoolDriver,
  config: StorageConfig,
  old: StorageConfig | undefined,
): Problem[] {
  const problems: Problem[] = [...countProblems('config', config)];
  const names = new Set([...Object.keys(config), ...Object.keys(old ?? {})]);
  for (const name of names) {
    if (problems.length >= maxProblems) break;
    const value = config[name] ?? '';
    const before = old?.[name] ?? '';
    const fact = Object.hasOwn(table, name) ? table[name] : undefined;
    if (old !== undefined && value === before && (fact !== undefined || Object.hasOwn(old, name))) continue;
    const message = brokenRule(fact, name, owner, driver, value, old);
    if (message !== undefined) problems.push({ path: `config.${name}`, message });
  }
  return problems;
}

function brokenRule(
  fact: StorageConfigKey | undefined,
  name: string,
  owner: string,
  driver: PoolDriver,
  value: string,
  old: StorageConfig | undefined,
): string | undefined {
  if (/^user\..+/.test(name)) return undefined;
  // Only a stored key can be removed.
  if (fact === undefined)
    return value === '' && Object.hasOwn(old ?? {}, name) ? undefined : `is not a config key of ${owner}`;
  if (!fact.drivers.includes(driver)) {
    if (value === '') return undefined;
    const others = `it is one of ${fact.drivers.join(', ')}`;
    return `is not a config key of ${owner}; ${others}`;
  }
  if (old !== undefined && !fact.changeable.includes(driver) && fact.computed !== true) {
    const stored = old[name] === undefined || old[name] === '' ? 'unset' : JSON.stringify(old[name]);
    return `cannot be changed once the pool or volume exists (it is ${stored}); send it as it is`;
  }
  const broken = value === '' ? undefined : is.judge(fact.check, value, 'word');
  return broken === undefined ? undefined : `${broken}, not ${is.shown(value)}`;
}
