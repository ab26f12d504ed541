// Warns in plans for gantryd about config keys and devices that only LXD has: validation accepts them, gantryd refuses them. Pure.
import { containerConfigKey } from '../../server/api/container/container-config.ts';
import { findNetworkConfigKey } from '../../server/api/network/network-config.ts';
import { lxdDevice, lxdKey } from '../../server/api/server/lxd-keys.ts';
import { serverConfigKey } from '../../server/api/server/server-config.ts';
import { poolConfigKeys } from '../../server/api/storage/storage-config.ts';
import { warning, type Diagnostic } from '../framework/diagnostic.ts';
import { at, renderPath, type Path } from '../framework/path.ts';
import { isMap, type ValueMap } from '../framework/value.ts';

const isContainerKeyOfLxd = (key: string): boolean =>
  containerConfigKey(key) === undefined && lxdKey('container', key) !== undefined;
const isNetworkKeyOfLxd = (key: string): boolean =>
  findNetworkConfigKey(key) === undefined && lxdKey('network', key) !== undefined;

const isPoolKeyOfLxd = (key: string): boolean =>
  !Object.hasOwn(poolConfigKeys, key) && lxdKey('storage_pool', key) !== undefined;
const isServerKeyOfLxd = (key: string): boolean =>
  serverConfigKey(key) === undefined && lxdKey('server_config', key) !== undefined;

const keyRules: Readonly<Record<string, (key: string) => boolean>> = {
  gantry_container: isContainerKeyOfLxd,
  gantry_profile: isContainerKeyOfLxd,
  gantry_network: isNetworkKeyOfLxd,
  gantry_storage_pool: isPoolKeyOfLxd,
  gantry_server_config: isServerKeyOfLxd,
};

/** For a planned object of this type on a gantryd server. */
export function lxdOnlyWarnings(typeName: string, { config, devices }: ValueMap): readonly Diagnostic[] {
  const isOfLxd = keyRules[typeName];
  if (isOfLxd === undefined) return [];
  const keys = Object.keys(isMap(config) ? config : {}).filter(isOfLxd);
  const foreign = Object.entries(isMap(devices) ? devices : {}).filter(
    ([, device]) => isMap(device) && lxdDevice(textsOf(device)) !== undefined,
  );
  return [
    ...keys.map((key): Path => [...at('config'), { key }]),
    ...foreign.map(([name]): Path => [...at('devices'), { key: name }]),
  ].map((path) =>
    warning(
      `gantryd does not support ${renderPath(path)}`,
      'Only LXD supports it, so the apply will fail on this server. Leave it out, or use a server that runs LXD.',
      path,
    ),
  );
}

const textsOf = (map: ValueMap): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(map).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
