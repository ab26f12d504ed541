// How PUT and PATCH bodies change config and device maps (spec 4, real system 2.2 and 22). Pure.
import { deviceSchema } from '../../api/devices/index.ts';
import type { ConfigMap, DeviceMap } from '../../api/schema/common-schemas.ts';

/** The fact of a key; undefined if no such key exists. */
type FindKey = (key: string) => unknown;

/** Replaces everything; an empty value omits the key. An unknown one stays, for the check to refuse as on LXD, unless it is stored. */
export function replaceConfig(
  sent: ConfigMap | null | undefined,
  find: FindKey = () => true,
  current: ConfigMap = {},
): Record<string, string> {
  const isUnknown = (key: string): boolean => !Object.hasOwn(current, key) && find(key) === undefined;
  return Object.fromEntries(Object.entries(sent ?? {}).filter(([key, value]) => value !== '' || isUnknown(key)));
}

/** Key by key; an empty value removes the key. */
export function mergeConfig(
  current: ConfigMap,
  sent: ConfigMap | null | undefined,
  find?: FindKey,
): Record<string, string> {
  return replaceConfig({ ...current, ...sent }, find, current);
}

/** Replaces everything; an empty value omits the property. An unknown one stays, for the check to refuse as on LXD. */
export function replaceDevices(sent: DeviceMap | null | undefined): Record<string, ConfigMap> {
  const kept = (device: ConfigMap): ConfigMap => {
    const known = deviceSchema(device['type'])?.properties;
    const isUnknown = (property: string): boolean => known !== undefined && !Object.hasOwn(known, property);
    return Object.fromEntries(
      Object.entries(device).filter(([property, value]) => value !== '' || isUnknown(property)),
    );
  };
  return Object.fromEntries(Object.entries(sent ?? {}).map(([name, device]) => [name, kept(device)]));
}

/** Replaces each named device as a whole. An empty property map removes the device. */
export function mergeDevices(current: DeviceMap, sent: DeviceMap | null | undefined): Record<string, ConfigMap> {
  const merged = { ...current, ...replaceDevices(sent) };
  return Object.fromEntries(Object.entries(merged).filter(([, device]) => Object.keys(device).length > 0));
}

interface Described {
  readonly config: ConfigMap;
  readonly description: string;
}
type DescribedBody = { readonly [K in keyof Described]?: Described[K] | null };

/** The document after a PUT of what most objects have. */
export const putDescribed = <D extends Described>(document: D, body: DescribedBody, find: FindKey): D => ({
  ...document,
  config: replaceConfig(body.config, find, document.config),
  description: body.description ?? '',
});

/** The document after a PATCH of what most objects have. */
export const patchDescribed = <D extends Described>(document: D, body: DescribedBody, find: FindKey): D => ({
  ...document,
  config: mergeConfig(document.config, body.config, find),
  description: body.description ?? document.description,
});
