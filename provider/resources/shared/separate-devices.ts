// Devices of a container that are resources of their own: the key on the container that lists them, so that its own resource leaves
// them alone. Pure.
import type { Container } from '../../../server/api/container/container.ts';
import type { TextMap, TextMaps } from '../../framework/attribute.ts';
import { DiagnosticError, failure, type Diagnostic } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';

/** A key of ours about one container on one server: documents cannot declare it, copies and exports by gantryd leave it out. */
export const apartKey = 'user.gantry.terraform.devices';

type Live = Pick<Container, 'config' | 'devices'>;

/** Names of the devices that gantry_container_device manages; those that are not there any more among them. */
export function namesApart(config: TextMap): readonly string[] {
  try {
    const names: unknown = JSON.parse(config[apartKey] ?? '[]');
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  } catch {
    return [];
  }
}

/** The config with exactly these names in the key; without the key when there are none. */
export function withNamesApart(config: TextMap, names: readonly string[]): Record<string, string> {
  const { [apartKey]: _before, ...others } = config;
  return names.length === 0 ? others : { ...others, [apartKey]: JSON.stringify([...new Set(names)].toSorted()) };
}

/** What the container's own resource is about: all devices but those. */
export function devicesOfItsOwn(config: TextMap, devices: TextMaps): TextMaps {
  const apart = namesApart(config);
  return Object.fromEntries(Object.entries(devices).filter(([name]) => !apart.includes(name)));
}

/** What the container's own resource sends back as it is. */
export function devicesApart({ config, devices }: Live): TextMaps {
  const apart = namesApart(config);
  return Object.fromEntries(Object.entries(devices ?? {}).filter(([name]) => apart.includes(name)));
}

/** A copy has none: no resource manages devices there. */
export const withoutApart = <C extends Live>(live: C): C => ({
  ...live,
  config: withNamesApart(live.config, []),
  devices: devicesOfItsOwn(live.config, live.devices ?? {}),
});

/** Names that the container's own resource declares, too. */
export const declaredTwice = (live: Live, declared: TextMaps | null): readonly string[] =>
  Object.keys(devicesApart(live)).filter((name) => Object.hasOwn(declared ?? {}, name));

export const twiceProblem = (container: string, name: string): Diagnostic =>
  failure(
    `The device ${name} of the container ${container} is declared twice`,
    `A gantry_container_device manages it. Take it out of devices here; or, to have it here, take the gantry_container_device out of the configuration with an apply of its own first.`,
    at('devices', { key: name }),
  );

/** Throws DiagnosticError when a device would have two resources. */
export function checkDeclaredOnce(live: Container, declared: TextMaps | null): void {
  const twice = declaredTwice(live, declared);
  if (twice.length > 0) throw new DiagnosticError(twice.map((name) => twiceProblem(live.name, name)));
}
