// The devices of containers after the plan: declared devices merged over the live ones, with their profiles.
import { statusCodes } from '../../../server/api/status.ts';
import { resolveDevice, type DeviceConfig } from '../../../server/api/devices/index.ts';
import { addressOf, type Address, type Document, type Json, type JsonObject } from '../documents/document.ts';
import { isMap, mapOf, presentTexts, textOf, textsOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';
import { allows } from '../diff/policy.ts';
import { scopesOf, type Scopes } from '../live/project-scope.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

type Devices = Readonly<Record<string, DeviceConfig>>;

/** The devices that an object gives to a container. */
export interface DeviceLayer {
  /** The name of a profile; absent for the container. */
  readonly profile?: string;
  /** Those that it will have in any case. One that only the server has is empty: the plan may remove it. */
  readonly sure: Devices;
  /** The profile, where this set declares it. */
  readonly document?: Document;
}

export interface ExpectedContainer {
  readonly name: string;
  readonly address: Address;
  /** Absent: no document of this set declares it. */
  readonly document?: Document;
  /** True when it will run. */
  readonly runs: boolean;
  readonly devices: Devices;
  /** The later covers the earlier. Absent: no document has to do with it, or all devices are those of one profile. */
  readonly layers?: readonly DeviceLayer[];
  /** True when all of its profiles are declared or on the server. */
  readonly isKnown: boolean;
}

/** Containers that only the server has, then the declared ones in their order. */
export function expectedContainers(objects: readonly Document[], observed: Observed): readonly ExpectedContainer[] {
  const declared = objects.filter(({ kind }) => kind === 'container');
  const names = new Set(declared.map(({ name }) => name));
  const profiles = new ExpectedProfiles(objects, observed);
  const others = [...observed.containers].flatMap(([name, { object }]): ExpectedContainer[] => {
    if (names.has(name)) return [];
    const runs = object.status_code === statusCodes.running;
    const now = { name, address: addressOf('container', name), runs, isKnown: true };
    const after = afterProfiles(object, profiles);
    return [{ ...now, ...(after ?? { devices: object.expanded_devices ?? {} }) }];
  });
  return [...others, ...declaredContainers(objects, observed, profiles)];
}

/** Undefined: the documents change none of its profiles for certain. */
function afterProfiles(
  object: JsonObject,
  profiles: ExpectedProfiles,
): Pick<ExpectedContainer, 'devices' | 'layers'> | undefined {
  const project = textOf(object['project']);
  const names = textsOf(object['profiles']);
  const layers = names.map((name) => profiles.layerOf(name, project));
  const declared = layers.flatMap(({ document }) => document ?? []);
  if (declared.length === 0 || declared.some(mayStay)) return undefined;
  const own = devicesAfter(object, undefined);
  const devices = Object.assign({}, ...names.map((name) => profiles.devicesOf(name, project)), own) as Devices;
  return { devices, layers: [...layers, { sure: own }] };
}

/** From the documents alone. */
export function declaredContainers(
  objects: readonly Document[],
  observed: Observed,
  profiles = new ExpectedProfiles(objects, observed),
): readonly ExpectedContainer[] {
  return objects.flatMap((one) => (one.kind === 'container' ? expectedOf(one, observed, profiles) : []));
}

function expectedOf(document: Document, observed: Observed, profiles: ExpectedProfiles): ExpectedContainer {
  const live = observed.containers.get(document.name)?.object as JsonObject | undefined;
  const written = document.values['profiles'];
  const names =
    written === undefined ? (live === undefined ? ['default'] : textsOf(live['profiles'])) : textsOf(written);
  const layers = names.map((name) => profiles.devicesOf(name, document.project));
  const own = devicesAfter(live, document.values['devices']);
  const [only] = layers;
  // Most containers have one profile and no devices of their own.
  // An unknown profile may hide devices of those before it.
  const profileLayers = (): DeviceLayer[] =>
    names.slice(layers.lastIndexOf(undefined) + 1).map((profile) => profiles.layerOf(profile, document.project));
  const isOnly = layers.length === 1 && own === noDevices;
  return {
    name: document.name,
    address: document.address,
    document,
    runs: (document.state ?? 'running') === 'running',
    ...(isOnly ? {} : { layers: [...profileLayers(), { sure: sureDevices(live, document) }] }),
    devices: isOnly ? (only ?? noDevices) : (Object.assign({}, ...layers, own) as Devices),
    isKnown: layers.every((layer) => layer !== undefined),
  };
}

class ExpectedProfiles {
  readonly #declared: ReadonlyMap<string, Document>;
  readonly #observed: Observed;
  readonly #scopes: Scopes;
  readonly #devices = new Map<string, Devices | undefined>();

  constructor(objects: readonly Document[], observed: Observed) {
    this.#declared = new Map(objects.filter(({ kind }) => kind === 'profile').map((one) => [one.name, one]));
    this.#observed = observed;
    this.#scopes = scopesOf(observed, objects);
  }

  layerOf(name: string, project: string | undefined): DeviceLayer {
    const key = this.#scopes.keyOf('profile', name, project);
    const live = this.#observed.profiles.get(key)?.object as JsonObject | undefined;
    const document = this.#declared.get(key);
    return { profile: name, sure: sureDevices(live, document), ...withoutUndefined({ document }) };
  }

  /** Undefined when the profile is neither declared nor on the server. */
  devicesOf(name: string, project: string | undefined): Devices | undefined {
    const key = this.#scopes.keyOf('profile', name, project);
    if (this.#devices.has(key)) return this.#devices.get(key);
    const live = this.#observed.profiles.get(key)?.object as JsonObject | undefined;
    const document = this.#declared.get(key);
    const isKnown = live !== undefined || document !== undefined;
    const devices = isKnown ? devicesAfter(live, document?.values['devices']) : undefined;
    this.#devices.set(key, devices);
    return devices;
  }
}

const noDevices: Devices = {};

function sureDevices(live: JsonObject | undefined, document: Document | undefined): Devices {
  const written = document?.values['devices'];
  const mayDiffer = document !== undefined && live !== undefined && mayStay(document);
  const isSure = (name: string): boolean => document === undefined || (!mayDiffer && isMap(mapOf(written)[name]));
  const after = Object.entries(devicesAfter(live, written));
  return Object.fromEntries(after.map(([name, device]) => [name, isSure(name) ? device : {}]));
}

/** Whether differences of the object may stay. */
const mayStay = ({ manage }: Document): boolean => !allows(manage, 'update') || manage.ignore.length > 0;

/** Merges property by property; null removes. */
function devicesAfter(live: JsonObject | undefined, written: Json | undefined): Devices {
  const now = mapOf(live?.['devices']);
  if (written === undefined && Object.keys(now).length === 0) return noDevices;
  const out: Record<string, DeviceConfig> = {};
  for (const [name, device] of Object.entries(now)) out[name] = presentTexts(device);
  for (const [name, device] of Object.entries(mapOf(written))) {
    if (!isMap(device)) delete out[name];
    else if (textOf(device['type']) !== out[name]?.['type']) out[name] = presentTexts(device);
    else out[name] = presentTexts({ ...out[name], ...device });
  }
  return out;
}

export const resolved = (device: DeviceConfig): DeviceConfig => resolveDevice(device);
