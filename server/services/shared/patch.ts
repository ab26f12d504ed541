// Pure: how PUT and PATCH bodies change config and device maps (spec 4, real system 2.2 and 22).
import type { ConfigMap, DeviceMap } from '../../api/schema/common-schemas.ts';

/** Whole replacement; an empty value means the key is not wanted. */
export function replaceConfig(sent: ConfigMap | null | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(sent ?? {}).filter(([, value]) => value !== ''));
}

/** Key by key; an empty value removes the key. */
export function mergeConfig(current: ConfigMap, sent: ConfigMap | null | undefined): Record<string, string> {
  return replaceConfig({ ...current, ...sent });
}

/** Whole replacement; an empty value means the property is not wanted. */
export function replaceDevices(sent: DeviceMap | null | undefined): Record<string, ConfigMap> {
  return Object.fromEntries(Object.entries(sent ?? {}).map(([name, device]) => [name, replaceConfig(device)]));
}

/** Device by device; each named one is replaced whole. An empty property map removes the device. */
export function mergeDevices(current: DeviceMap, sent: DeviceMap | null | undefined): Record<string, ConfigMap> {
  const merged = { ...current, ...replaceDevices(sent) };
  return Object.fromEntries(Object.entries(merged).filter(([, device]) => Object.keys(device).length > 0));
}
