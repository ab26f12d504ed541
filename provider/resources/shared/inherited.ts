// Undeclared parts that a copy got from its source, or a container from its instance type: a config key on the container lists their names, so that its resource neither
// shows nor removes them. Pure.
import type { Container } from '../../../server/api/container/container.ts';
import type { TextMap, TextMaps } from '../../framework/attribute.ts';

/** The config key. It concerns one container on one server: documents cannot declare it, copies and exports by gantryd leave it out. */
export const inheritedKey = 'user.gantry.terraform.inherited';

export interface Inherited {
  readonly config: readonly string[];
  readonly devices: readonly string[];
}
export interface Declared {
  readonly config: TextMap | null;
  readonly devices: TextMaps | null;
}
type Live = Pick<Container, 'config' | 'devices'>;

export function inheritedBy(config: TextMap): Inherited {
  try {
    const noted: unknown = JSON.parse(config[inheritedKey] ?? '{}');
    return { config: namesIn(noted, 'config'), devices: namesIn(noted, 'devices') };
  } catch {
    return { config: [], devices: [] };
  }
}

function namesIn(noted: unknown, part: keyof Inherited): readonly string[] {
  const names: unknown = typeof noted === 'object' && noted !== null ? (noted as Partial<Inherited>)[part] : [];
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
}

/** Drops names that the configuration declares: removing them from it later removes them from the container. */
export const stillInherited = ({ config, devices }: Inherited, declared: Declared): Inherited => ({
  config: config.filter((key) => !Object.hasOwn(declared.config ?? {}, key)),
  devices: devices.filter((name) => !Object.hasOwn(declared.devices ?? {}, name)),
});

/** The config with exactly these names in the key; without the key when there are none. */
export function withInherited(config: TextMap, { config: keys, devices }: Inherited): Record<string, string> {
  const { [inheritedKey]: _before, ...others } = config;
  if (keys.length + devices.length === 0) return others;
  return { ...others, [inheritedKey]: JSON.stringify({ config: keys.toSorted(), devices: devices.toSorted() }) };
}

/** The container as the resource manages it. */
export function withoutInherited<L extends Live>(live: L): L {
  const { config, devices } = inheritedBy(live.config);
  if (config.length + devices.length === 0) return live;
  return { ...live, config: without(live.config, config), devices: without(live.devices ?? {}, devices) };
}

const without = <T>(map: Readonly<Record<string, T>>, names: readonly string[]): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(map).filter(([name]) => !names.includes(name)));

/** The devices that the resource of the container sends back unchanged. */
export const inheritedDevices = ({ devices }: Live, inherited: Inherited): TextMaps =>
  Object.fromEntries(Object.entries(devices ?? {}).filter(([name]) => inherited.devices.includes(name)));
