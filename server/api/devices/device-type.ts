// What the table of one device type holds; the types themselves are one file each, beside this one.
import type { Problem } from '../problem.ts';
import type { Check } from '../text/value-checks.ts';
import * as is from '../text/value-checks.ts';

export type DeviceConfig = Readonly<Record<string, string>>;
export type Devices = Readonly<Record<string, DeviceConfig>>;

/** What a change costs a running container. live covers unplugging the device and plugging it in again. */
export type DeviceEffect = 'live' | 'restart' | 'recreate';

export interface DeviceProperty {
  readonly doc: string;
  readonly check: Check;
  readonly effect: DeviceEffect;
  readonly required?: boolean;
  /** What holds while it is unset; absent: see doc. */
  readonly default?: string;
  /** Only for these kinds of the device (nictype); absent: for all. */
  readonly only?: readonly string[];
}

export interface DeviceType {
  readonly doc: string;
  readonly properties: Readonly<Record<string, DeviceProperty>>;
  /** Can be added to and removed from a running container. */
  readonly hotplug: boolean;
  /** The property that tells kinds apart, which `only` speaks of. */
  readonly kind?: string;
  /** The device with what follows from its properties written out. Asked before anything else. */
  readonly resolve?: (device: DeviceConfig) => DeviceConfig;
  /** Rules between properties; paths are property names. Asked only about properties that are fine one by one. */
  readonly rules?: (device: DeviceConfig) => Problem[];
}

export const isSet = (device: DeviceConfig, property: string): boolean => (device[property] ?? '') !== '';

export const problem = (path: string, message: string): Problem => ({ path, message });

type More = Partial<Pick<DeviceProperty, 'required' | 'default' | 'only'>>;

/** A property whose change is applied to a running container. */
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

/** Owner and mode of a device node in the container. */
export const nodeOwner = {
  uid: live(is.id, 'Owner in the container.', { default: '0' }),
  gid: live(is.id, 'Group in the container.', { default: '0' }),
  mode: live(is.fileMode, 'File mode in the container.', { default: '0660' }),
} as const;

/** Hardware ids as lsusb and lspci print them. */
export const hardwareId: Check = is.matches(/^(?:0x)?[0-9a-f]{4}$/i, 'must be a hardware id of 4 hexadecimal digits');
