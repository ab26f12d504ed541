// The table of device schemas, validation of devices and the effect of their changes. Pure: never reads the host.
import { deviceName } from '../names.ts';
import { hint } from '../text/nearest-word.ts';
import { countProblems, maxProblems, unknownName, type Problem } from '../problem.ts';
import * as is from '../text/value-checks.ts';
import { judge, oneLine, shown } from '../text/value-checks.ts';
import { hardwareId, isSet, live, nodeOwner, problem, typeAccess } from './device-schema.ts';
import type { DeviceConfig, DeviceEffect, DeviceHome, Devices, DeviceSchema } from './device-schema.ts';
import { disk, isRoot, sharedPaths } from './disk.ts';
import { gpu } from './gpu.ts';
import { infiniband } from './infiniband.ts';
import { nic } from './nic.ts';
import { proxy } from './proxy.ts';
import { unixBlock, unixChar } from './unix.ts';

export type { DeviceConfig, DeviceEffect, DeviceHome, Devices, DeviceSchema } from './device-schema.ts';
export { disksOnOnePath, isDisk, isRequired, isRoot, mountOf, rootDisk, sharedPaths, type Mount } from './disk.ts';
export { fileSystemOptions, flagsOf, type MountFlag } from './mount-flags.ts';
export { hasOwnHwaddr, isLayer3, isNic } from './nic.ts';
export { listensInside, parseProxyAddress, type ProxyAddress } from './proxy.ts';
export { unixPaths } from './unix.ts';

// Short schemas are here, long ones in their own files.

/** Hides a profile's device of that name. */
const none: DeviceSchema = {
  doc: 'No device; hides the one of that name from profiles.',
  hotplug: true,
  home: () => 'any',
  properties: {},
};

const usb: DeviceSchema = {
  doc: 'USB devices of the host; without ids all of them.',
  hotplug: true,
  adjustable: /^(vendorid|productid|uid|gid|mode|required)$/,
  hostAccess: typeAccess,
  properties: {
    vendorid: live(hardwareId, 'Vendor id. Unset: any.'),
    productid: live(hardwareId, 'Product id. Unset: any.'),
    ...nodeOwner,
    required: live(is.bool, 'Refuse to start without it.', { default: 'false' }),
  },
};

export const deviceSchemas = {
  none,
  nic,
  disk,
  'unix-char': unixChar,
  'unix-block': unixBlock,
  usb,
  gpu,
  infiniband,
  proxy,
} as const satisfies Record<string, DeviceSchema>;

export type DeviceTypeName = keyof typeof deviceSchemas;

export const deviceSchema = (name: string | undefined): DeviceSchema | undefined =>
  name !== undefined && Object.hasOwn(deviceSchemas, name) ? deviceSchemas[name as DeviceTypeName] : undefined;

/** Every problem, with paths `devices.<name>.<property>`. Empty properties mean unset. */
export function validateDevices(devices: Devices): Problem[] {
  const counted = countProblems('devices', devices);
  if (counted.length > 0) return [...counted];
  const problems: Problem[] = [];
  for (const [name, device] of Object.entries(devices)) {
    if (problems.length >= maxProblems) break;
    const broken = deviceName(name);
    if (broken !== undefined) problems.push(problem(`devices.${name}`, `the name of a device ${broken}`));
    for (const found of deviceProblems(device)) {
      problems.push({ ...found, path: `devices.${name}${found.path === '' ? '' : `.${found.path}`}` });
    }
  }
  return [...problems, ...sharedPaths(devices), ...clashes(devices)];
}

export const resolveDevice = (device: DeviceConfig): DeviceConfig =>
  deviceSchema(device['type'])?.resolve?.(device) ?? device;

function deviceProblems(unresolved: DeviceConfig): Problem[] {
  const device = resolveDevice(unresolved);
  const typeName = device['type'] ?? '';
  const type = deviceSchema(typeName);
  if (type === undefined) {
    const known = Object.keys(deviceSchemas);
    if (typeName === '') return [problem('type', `is required: one of ${known.join(', ')}`)];
    return [problem('type', `is ${shown(typeName)}, must be one of ${known.join(', ')}${hint(typeName, known)}`)];
  }
  const single = [...unknownProperties(type, typeName, device), ...propertyProblems(type, device)];
  const wrong = new Set(single.map((found) => found.path));
  return [...single, ...(type.rules?.(device, unresolved) ?? []).filter((found) => !wrong.has(found.path))];
}

function unknownProperties(type: DeviceSchema, typeName: string, device: DeviceConfig): Problem[] {
  const known = Object.keys(type.properties);
  return Object.keys(device)
    .filter((property) => property !== 'type' && !isFree(property) && !Object.hasOwn(type.properties, property))
    .slice(0, maxProblems)
    .map((property) =>
      unknownName(
        'unknownProperty',
        property,
        property,
        known,
        (hint) => `is not a property of ${typeName} devices${hint}`,
      ),
    );
}

function propertyProblems(type: DeviceSchema, device: DeviceConfig): Problem[] {
  const problems: Problem[] = [];
  const kind = type.kind === undefined ? undefined : device[type.kind];
  for (const [name, property] of Object.entries(type.properties)) {
    const value = device[name] ?? '';
    if (value === '') {
      if (property.required === true) problems.push(problem(name, `is required: ${property.doc.replace(/\.$/, '')}`));
      continue;
    }
    if (property.only !== undefined && kind !== undefined && !property.only.includes(kind)) {
      const message = `is not for ${type.kind ?? 'kind'} ${kind}, only for ${property.only.join(', ')}`;
      problems.push({ path: name, message, code: 'foreignProperty' });
      continue;
    }
    const broken = oneLine(value) ?? judge(property.check, value, 'word');
    if (broken !== undefined) problems.push(problem(name, `cannot be ${shown(value)}: it ${broken}`));
  }
  return problems;
}

function clashes(devices: Devices): Problem[] {
  const problems: Problem[] = [];
  const owners = new Map<string, string>();
  for (const name of Object.keys(devices).toSorted()) {
    const device = devices[name] ?? {};
    for (const property of deviceSchema(device['type'])?.unique ?? []) {
      if (!isSet(device, property)) continue;
      const place = `${device['type']} ${property} ${device[property]}`;
      const owner = owners.get(place);
      if (owner === undefined) owners.set(place, name);
      else problems.push(problem(`devices.${name}.${property}`, `is ${device[property]} like that of ${owner}`));
    }
  }
  return problems;
}

/** The effect of turning one device into the other on a running container; undefined stands for "absent". */
export function effectOfDeviceChange(
  before: DeviceConfig | undefined,
  after: DeviceConfig | undefined,
): DeviceEffect | 'none' {
  const [old, next] = [normal(before), normal(after)];
  const changed = changedProperties(old, next);
  if (changed.length === 0) return 'none';
  if (isRoot(old) || isRoot(next)) return rootEffect(old, next, changed);
  if (old['type'] !== next['type']) return hotplugs(old) && hotplugs(next) ? 'live' : 'restart';
  const properties = deviceSchema(next['type'])?.properties ?? {};
  const effects = changed.map((name) => properties[name]?.effect ?? 'live');
  return effects.includes('restart') || !hotplugs(next) ? 'restart' : 'live';
}

/** The file system is in its pool and cannot be swapped; its mount is made at start; limits and size apply at once. */
function rootEffect(before: DeviceConfig, after: DeviceConfig, changed: readonly string[]): DeviceEffect {
  if (isRoot(before) !== isRoot(after) || changed.includes('pool')) return 'recreate';
  return changed.every((name) => name === 'size' || name.startsWith('limits.')) ? 'live' : 'restart';
}

/** Whether the change of a running device can be applied without unplugging it. */
export function isAdjustable(before: DeviceConfig, after: DeviceConfig): boolean {
  const adjustable = deviceSchema(after['type'])?.adjustable;
  const changed = changedProperties(normal(before), normal(after));
  return adjustable !== undefined && changed.every((name) => adjustable.test(name));
}

export const changedProperties = (before: DeviceConfig, after: DeviceConfig): readonly string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => (before[name] ?? '') !== (after[name] ?? ''),
  );

/** A device of an unknown type stays on its host. */
export const deviceHome = (device: DeviceConfig): DeviceHome => deviceSchema(device['type'])?.home?.(device) ?? 'host';

/** Whether there is such a device: `none` only hides a profile's. */
export const isPresent = (device: DeviceConfig | undefined): device is DeviceConfig =>
  device !== undefined && device['type'] !== 'none';

/** The access to the host that a device of a backup grants, as text. An unknown type counts as access. */
export function hostAccess(device: DeviceConfig): string | undefined {
  const { type = '' } = device;
  if (type === '') return undefined;
  const schema = deviceSchema(type);
  return schema === undefined ? typeAccess(device) : schema.hostAccess?.(device);
}

const hotplugs = (device: DeviceConfig): boolean => deviceSchema(device['type'])?.hotplug ?? true;

/** Notes of users have any name, value and no effect, as in LXD. */
const isFree = (property: string): boolean => property.startsWith('user.');

/** Omits unset properties, default values and what has no effect. */
function normal(device: DeviceConfig | undefined): DeviceConfig {
  const properties = deviceSchema(device?.['type'])?.properties ?? {};
  return Object.fromEntries(
    Object.entries(device ?? {}).filter(
      ([name, value]) => value !== '' && !isFree(name) && properties[name]?.default !== value,
    ),
  );
}
