// The table of device types that a container can be started with; types missing here are validated but not startable.
import { diskDevice } from './disk.ts';
import type { DeviceType } from './device.ts';
import { nicDevice } from './nic.ts';
import { noneDevice } from './none.ts';

export const deviceTypes: Readonly<Record<string, DeviceType>> = {
  none: noneDevice,
  disk: diskDevice,
  nic: nicDevice,
};
