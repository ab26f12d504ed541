// The device that is not there: masks a device of a profile. Also the template for a new device type.
import { nothing, type DeviceType } from './device.ts';

export const noneDevice: DeviceType = {
  start: () => Promise.resolve(nothing),
};
