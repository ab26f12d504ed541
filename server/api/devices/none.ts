// Device type none: hides a device of that name that a profile brings.
import type { DeviceType } from './device-type.ts';

export const none: DeviceType = {
  doc: 'No device; hides the one of that name from profiles.',
  hotplug: true,
  properties: {},
};
