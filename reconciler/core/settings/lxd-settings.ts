// Config keys, devices and types that only LXD has. They are removed before the rules of gantryd check the rest of a document, and
// compared with the server's extensions at planning. Pure.
import { containerConfigKey } from '../../../server/api/container/container-config.ts';
import { lackOfExtension } from '../../../server/api/server/capability.ts';
import {
  deviceSchema,
  deviceSchemas,
  resolveDevice,
  type DeviceConfig,
  type Devices,
} from '../../../server/api/devices/index.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import {
  isServedHere,
  lxdDevice,
  lxdKey,
  lxdKeyNames,
  lxdNetworkTypes,
  lxdProperty,
  lxdPropertyNames,
  type LxdKey,
  type LxdPlace,
} from '../../../server/api/server/lxd-keys.ts';
import { nearestName } from '../../../server/api/text/nearest-word.ts';
import { findNetworkConfigKey, networkConfigKeys } from '../../../server/api/network/network-config.ts';
import { findProjectConfigKey, projectConfigKeys } from '../../../server/api/project/project-config.ts';
import { serverConfigKeys } from '../../../server/api/server/server-config.ts';
import { poolConfigKeys, volumeConfigKeys } from '../../../server/api/storage/storage-config.ts';
import { containerConfigKeys } from '../../../server/api/container/container-config-keys.ts';
import { incapable } from './capability-messages.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Document, JsonObject } from '../documents/document.ts';
import { presentDevices, presentTexts, textOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';

type Config = Readonly<Record<string, string>>;

export interface Foreign {
  /** `config.linux.sysctl.kernel.msgmax`, `devices.eth0.security.acls`, `type`. */
  readonly path: string;
  readonly since: string;
  /** False: only its prefix is known. */
  readonly isNamed: boolean;
}

const places: Readonly<Partial<Record<KindName, LxdPlace>>> = {
  container: 'container',
  profile: 'container',
  network: 'network',
  storage_pool: 'storage_pool',
  storage_volume: 'storage_volume',
  server_config: 'server_config',
  project: 'project',
};

/** Whether the contract has a row for the key, and so checks it. */
const ours: Readonly<Record<LxdPlace, (key: string, driver: string) => boolean>> = {
  container: (key) => containerConfigKey(key) !== undefined,
  network: (key) => findNetworkConfigKey(key) !== undefined,
  storage_pool: (key, driver) => {
    const row: { readonly drivers: readonly string[] } | undefined = Object.hasOwn(poolConfigKeys, key)
      ? poolConfigKeys[key as keyof typeof poolConfigKeys]
      : undefined;
    return row !== undefined && (row.drivers.includes(driver) || !key.startsWith('volume.'));
  },
  storage_volume: (key) => Object.hasOwn(volumeConfigKeys, key),
  server_config: (key) => Object.hasOwn(serverConfigKeys, key),
  project: (key) => findProjectConfigKey(key) !== undefined,
};

const names: Readonly<Record<LxdPlace, () => readonly string[]>> = {
  container: () => Object.keys(containerConfigKeys),
  network: () => networkConfigKeys.map(({ key }) => key),
  storage_pool: () => Object.keys(poolConfigKeys),
  storage_volume: () => Object.keys(volumeConfigKeys),
  server_config: () => Object.keys(serverConfigKeys),
  project: () => Object.keys(projectConfigKeys),
};

/** Undefined if the contract has the key, or no server has it. A name close to a known key counts as a typo. */
export function foreignKey(kind: KindName, key: string, driver = ''): LxdKey | undefined {
  const place = places[kind];
  if (place === undefined || key.startsWith('user.') || ours[place](key, driver)) return undefined;
  const found = lxdKey(place, key);
  return found === undefined || found.isNamed || nearestKey(place, key) === undefined ? found : undefined;
}

/** The known key, of either server, that the user most likely meant. */
const nearestKey = (place: LxdPlace, key: string): string | undefined =>
  nearestName(
    key,
    [...names[place](), ...lxdKeyNames(place)].filter((name) => !name.includes('*')),
  );

/** Names that only LXD has, for hints. */
export const foreignNames = (kind: KindName): readonly string[] => {
  const place = places[kind];
  return place === undefined ? [] : lxdKeyNames(place);
};

function foreignProperty(device: DeviceConfig, property: string): Omit<LxdKey, 'effect'> | undefined {
  const resolved = resolveDevice(device);
  const type = deviceSchema(resolved['type']);
  if (type === undefined || property === 'type') return undefined;
  const row = Object.hasOwn(type.properties, property) ? type.properties[property] : undefined;
  const kind = type.kind === undefined ? undefined : resolved[type.kind];
  if (row !== undefined && (row.only === undefined || kind === undefined || row.only.includes(kind))) return undefined;
  const found = lxdProperty(resolved['type'] ?? '', property);
  if (row !== undefined && found !== undefined && isServedHere(found.since)) return undefined;
  if (found === undefined || found.isNamed) return found;
  const known = [...Object.keys(type.properties), ...lxdPropertyNames(resolved['type'] ?? '')];
  return row === undefined && nearestName(property, known) === undefined ? found : undefined;
}

/** Leaves out the keys that only LXD has. */
export function withoutForeign(kind: KindName, config: Config, driver = ''): Config {
  const isForeign = (key: string): boolean => foreignKey(kind, key, driver) !== undefined;
  if (!Object.keys(config).some(isForeign)) return config;
  return Object.fromEntries(Object.entries(config).filter(([key]) => !isForeign(key)));
}

export function withoutForeignDevices(devices: Devices): Devices {
  if (Object.keys(devices).length === 0) return devices;
  return Object.fromEntries(
    Object.entries(devices).flatMap(([name, device]) =>
      lxdDevice(device) === undefined
        ? [
            [
              name,
              Object.fromEntries(Object.entries(device).filter(([key]) => foreignProperty(device, key) === undefined)),
            ],
          ]
        : [],
    ),
  );
}

export const isForeignType = (type: string): boolean => Object.hasOwn(lxdNetworkTypes, type);

function foreignType(kind: KindName, values: JsonObject): readonly Foreign[] {
  const type = textOf(values['type']) ?? '';
  return kind === 'network' && isForeignType(type)
    ? [{ path: 'type', since: lxdNetworkTypes[type] ?? '', isNamed: true }]
    : [];
}

/** All LXD-only parts of a document, in document order. */
export function foreignParts({ kind, values }: Pick<Document, 'kind' | 'values'>): readonly Foreign[] {
  const type = foreignType(kind, values);
  // The contract has no rules for such a network.
  if (type.length > 0) return type;
  const driver = textOf(values['driver']) ?? '';
  const keys = Object.keys(presentTexts(values['config'])).flatMap((key): readonly Foreign[] => {
    const found = foreignKey(kind, key, driver);
    return found === undefined ? [] : [{ path: `config.${key}`, since: found.since, isNamed: found.isNamed }];
  });
  return [...keys, ...Object.entries(presentDevices(values['devices'])).flatMap(ofDevice)];
}

function ofDevice([name, device]: readonly [string, DeviceConfig]): readonly Foreign[] {
  const whole = lxdDevice(device);
  if (whole !== undefined) return [{ path: `devices.${name}.${whole.property}`, since: whole.since, isNamed: true }];
  return Object.keys(device).flatMap((property) => {
    const found = foreignProperty(device, property);
    return found === undefined ? [] : [{ path: `devices.${name}.${property}`, ...found }];
  });
}

/** Config keys of the contract that need an API extension. */
const newerKeys = new Map(
  Object.values(places).map((place) => [
    place,
    new Map(
      lxdKeyNames(place).flatMap((key) => (ours[place](key, '') ? [[key, lxdKey(place, key)?.since ?? '']] : [])),
    ),
  ]),
);

/** Device properties that need an API extension, by device type. */
const newerProperties = new Map(
  Object.entries(deviceSchemas).map(([type, { properties }]) => [
    type,
    lxdPropertyNames(type).flatMap((property) => {
      const since = Object.hasOwn(properties, property) ? lxdProperty(type, property)?.since : undefined;
      return since !== undefined && isServedHere(since) ? [{ property, since }] : [];
    }),
  ]),
);

function newerParts({ kind, values }: Pick<Document, 'kind' | 'values'>): readonly Foreign[] {
  const place = places[kind];
  const known = place === undefined ? undefined : newerKeys.get(place);
  const config = known === undefined || known.size === 0 ? {} : presentTexts(values['config']);
  return [
    ...Object.keys(config).flatMap((key): readonly Foreign[] => {
      const since = known?.get(key);
      return since === undefined ? [] : [{ path: `config.${key}`, since, isNamed: true }];
    }),
    ...Object.entries(presentDevices(values['devices'])).flatMap(([name, device]) =>
      (newerProperties.get(device['type'] ?? '') ?? []).flatMap(({ property, since }): readonly Foreign[] =>
        Object.hasOwn(device, property) && lxdDevice(device) === undefined
          ? [{ path: `devices.${name}.${property}`, since, isNamed: true }]
          : [],
      ),
    ),
  ];
}

/** A setting that the server lacks is an error; an unknown setting is a warning, and the server checks it. */
export function foreignProblems(documents: readonly Document[], observed: Observed): readonly Diagnostic[] {
  const problems: Diagnostic[] = [];
  for (const document of documents) {
    for (const { path, since, isNamed } of [...foreignParts(document), ...newerParts(document)]) {
      const lack = lackOfExtension(observed.server.extensions, since);
      if (lack !== undefined) problems.push(incapable(document, path, `take ${path}`, lack));
      else if (!isNamed) problems.push(unjudged(document, path));
    }
  }
  return problems;
}

const unjudged = (document: Document, path: string): Diagnostic => ({
  severity: 'warning',
  code: 'unjudged-key',
  address: document.address,
  path,
  message: `${document.address}: ${path} is unknown to gantry: the server decides whether the key exists and which values it takes`,
  remedy: 'do nothing if the server has the key; otherwise take it out',
  ...document.location,
});

/** Warns offline about settings that only some servers have. */
export function foreignWarnings(documents: readonly Document[]): readonly Diagnostic[] {
  return documents.flatMap((document) =>
    foreignParts(document).map(({ path, since, isNamed }): Diagnostic => {
      const who = isNamed ? `servers with the API extension ${since}` : 'some servers, if any';
      return {
        severity: 'warning',
        code: 'foreign-key',
        address: document.address,
        path,
        message: `${document.address}: ${path} is only for ${who}; gantryd does not have it`,
        remedy: 'a plan shows whether the server has it',
        ...document.location,
      };
    }),
  );
}
