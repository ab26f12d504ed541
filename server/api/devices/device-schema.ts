// The schema of a device type: its properties and facts for other rooms. Each type has its own file in this folder.
import type { Problem } from '../problem.ts';
import type { Check } from '../text/value-checks.ts';
import * as is from '../text/value-checks.ts';

export type DeviceConfig = Readonly<Record<string, string>>;
export type Devices = Readonly<Record<string, DeviceConfig>>;

/** The effect of a change on a running container. live includes unplugging the device and plugging it in again. */
export type DeviceEffect = 'live' | 'restart' | 'recreate';

export interface DeviceProperty {
  readonly doc: string;
  readonly check: Check;
  readonly effect: DeviceEffect;
  readonly required?: boolean;
  /** The effective value while it is unset; absent: see doc. */
  readonly default?: string;
  /** Only for these kinds of the device (nictype); absent: for all. */
  readonly only?: readonly string[];
}

/** Where a moved container finds the device. any: on every member; alike: on members with a network, pool or address of that name; host:
 *  only on its current host. */
export type DeviceHome = 'any' | 'alike' | 'host';

export interface DeviceReference {
  readonly kind: 'network' | 'network_acl' | 'storage_pool' | 'storage_volume';
  readonly name: string;
  /** The property that names it. */
  readonly property: string;
  /** The property may name a host object instead, which servers list only in part. */
  readonly mayBeHosts: boolean;
}

export interface DeviceSchema {
  readonly doc: string;
  readonly properties: Readonly<Record<string, DeviceProperty>>;
  readonly hotplug: boolean;
  /** Properties that a running container's device can change without being unplugged. */
  readonly adjustable?: RegExp;
  /** Properties whose values no two devices of a container may share. */
  readonly unique?: readonly string[];
  /** The property that selects the kind of the device; `only` lists its values. */
  readonly kind?: string;
  /** The access to the host that the device grants, as text. A backup that brings it needs permission. */
  readonly hostAccess?: (device: DeviceConfig) => string | undefined;
  /** Called when a container leaves its member: at an evacuation, and when the member is lost. Absent: host. */
  readonly home?: (device: DeviceConfig) => DeviceHome;
  readonly references?: (device: DeviceConfig) => readonly DeviceReference[];
  /** Adds properties derived from others. Called before any check. */
  readonly resolve?: (device: DeviceConfig) => DeviceConfig;
  /** Rules between properties; paths are property names. `written`: without what `resolve` added. */
  readonly rules?: (device: DeviceConfig, written: DeviceConfig) => Problem[];
}

/** The text of `hostAccess` for a type that always grants access. */
export const typeAccess = ({ type }: DeviceConfig): string => `type ${type}`;

export const isSet = (device: DeviceConfig, property: string): boolean => (device[property] ?? '') !== '';

export const problem = (path: string, message: string): Problem => ({ path, message });

type More = Partial<Pick<DeviceProperty, 'required' | 'default' | 'only'>>;

export const live = (check: Check, doc: string, more: More = {}): DeviceProperty => ({
  check,
  doc,
  effect: 'live',
  ...more,
});

export const atRestart = (check: Check, doc: string, more: More = {}): DeviceProperty => ({
  check,
  doc,
  effect: 'restart',
  ...more,
});

export const bootPriorityDoc =
  'Taken as on LXD, where it orders the boot of virtual machines; no effect on containers.';

/** Owner and mode of a device node in the container. */
export const nodeOwner = {
  uid: live(is.id, 'Owner in the container.', { default: '0' }),
  gid: live(is.id, 'Group in the container.', { default: '0' }),
  mode: live(is.fileMode, 'File mode in the container.', { default: '0660' }),
} as const;

/** Hardware ids as lsusb and lspci print them. */
export const hardwareId: Check = is.matches(/^(?:0x)?[0-9a-f]{4}$/i, 'must be a hardware id of 4 hexadecimal digits');
