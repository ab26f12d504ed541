// Devices of a container that are separate resources: a config key on the container lists them, so that the resource of the container
// leaves them alone. Pure.
import type { Container } from '../../../server/api/container/container.ts';
import type { TextMap, TextMaps } from '../../framework/attribute.ts';
import { DiagnosticError, failure, type Diagnostic } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';

/** The config key. It concerns one container on one server: documents cannot declare it, copies and exports by gantryd leave it out. */
export const separateDevicesKey = 'user.gantry.terraform.devices';

type Live = Pick<Container, 'config' | 'devices'>;

/** Names of the devices that gantry_container_device manages, including those that no longer exist. */
export function separateDeviceNames(config: TextMap): readonly string[] {
  try {
    const names: unknown = JSON.parse(config[separateDevicesKey] ?? '[]');
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  } catch {
    return [];
  }
}

/** The config with exactly these names in the key; without the key when the list is empty. */
export function withNamesApart(config: TextMap, names: readonly string[]): Record<string, string> {
  const { [separateDevicesKey]: _before, ...others } = config;
  return names.length === 0
    ? others
    : { ...others, [separateDevicesKey]: JSON.stringify([...new Set(names)].toSorted()) };
}

/** The devices that the resource of the container manages: all others. */
export function devicesOfItsOwn(config: TextMap, devices: TextMaps): TextMaps {
  const separate = separateDeviceNames(config);
  return Object.fromEntries(Object.entries(devices).filter(([name]) => !separate.includes(name)));
}

/** The devices that the resource of the container sends back unchanged. */
export function devicesApart({ config, devices }: Live): TextMaps {
  const separate = separateDeviceNames(config);
  return Object.fromEntries(Object.entries(devices ?? {}).filter(([name]) => separate.includes(name)));
}

/** The copy without the separate devices of its source, which no resource manages here. `atSource`: their names. */
export const withoutApart = <C extends Live>(live: C, atSource: readonly string[]): C => {
  const separate = [...separateDeviceNames(live.config), ...atSource];
  const own = Object.entries(live.devices ?? {}).filter(([name]) => !separate.includes(name));
  return { ...live, config: withNamesApart(live.config, []), devices: Object.fromEntries(own) };
};

/** Names that the resource of the container declares as well. */
export const declaredTwice = (live: Live, declared: TextMaps | null): readonly string[] =>
  Object.keys(devicesApart(live)).filter((name) => Object.hasOwn(declared ?? {}, name));

export const twiceProblem = (container: string, name: string): Diagnostic =>
  failure(
    `The device ${name} of the container ${container} is declared twice`,
    `A gantry_container_device manages it. Remove it from devices here; or, to declare it here, first remove the gantry_container_device from the configuration in a separate apply.`,
    at('devices', { key: name }),
  );

/** Throws DiagnosticError when a device would have two resources. */
export function checkDeclaredOnce(live: Container, declared: TextMaps | null): void {
  const twice = declaredTwice(live, declared);
  if (twice.length > 0) throw new DiagnosticError(twice.map((name) => twiceProblem(live.name, name)));
}
