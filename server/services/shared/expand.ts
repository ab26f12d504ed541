// Expands a container's config and devices by its profiles, and finds what they use by name. Pure.
import type { ConfigMap, DeviceMap } from '../../api/schema/common-schemas.ts';
import { isDisk, isNic, isRoot, resolveDevice } from '../../api/devices/index.ts';
import type { ContainerDocument, ProfileDocument } from '../../records/documents.ts';

export interface ExpandedSettings {
  readonly config: ConfigMap;
  readonly devices: DeviceMap;
}

/** Profiles in order, local last; per config key and per whole device the later one wins (spec 2.5, 2.11). */
export function expand(
  container: Pick<ContainerDocument, 'profiles' | 'config' | 'devices'>,
  profileOf: (name: string) => ProfileDocument | undefined,
): ExpandedSettings {
  const config: Record<string, string> = {};
  const devices: Record<string, ConfigMap> = {};
  for (const name of container.profiles) {
    const profile = profileOf(name);
    if (profile === undefined) continue;
    Object.assign(config, profile.config);
    Object.assign(devices, profile.devices);
  }
  Object.assign(config, container.config);
  Object.assign(devices, container.devices);
  return { config, devices };
}

export function nicNetwork(device: ConfigMap): string | undefined {
  if (!isNic(device)) return undefined;
  const { parent } = resolveDevice(device);
  if (parent === undefined) return undefined;
  return device['vlan'] === undefined ? parent : `${parent}.${device['vlan']}`;
}

export function nicNetworks(devices: DeviceMap): readonly string[] {
  return [...new Set(Object.values(devices).flatMap((device) => nicNetwork(device) ?? []))];
}

export function devicePools(devices: DeviceMap): readonly string[] {
  const pools = Object.values(devices)
    .filter(isDisk)
    .map((device) => device['pool']);
  return pools.filter((pool): pool is string => pool !== undefined && pool !== '');
}

export function attachedVolumes(devices: DeviceMap): readonly { readonly pool: string; readonly name: string }[] {
  return Object.values(devices).flatMap((device) => {
    const { pool = '', source = '' } = device;
    return isDisk(device) && !isRoot(device) && pool !== '' && source !== '' ? [{ pool, name: source }] : [];
  });
}

/** Keys that only the server writes: kept by PUT and PATCH, not part of the ETag. */
export function isServerKey(key: string): boolean {
  return key.startsWith('volatile.') || key.startsWith('image.');
}

export function withoutServerKeys(config: ConfigMap): Record<string, string> {
  return Object.fromEntries(Object.entries(config).filter(([key]) => !isServerKey(key)));
}
