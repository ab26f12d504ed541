// Device type none: hides a device of that name that a profile brings.
import type { DeviceSchema } from './device-schema.ts';

export const none: DeviceSchema = {
  doc: 'No device; hides the one of that name from profiles.',
  hotplug: true,
  properties: {},
};
