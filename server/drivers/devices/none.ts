// The absent device: masks a device of a profile. Also the template for a new device type.
import { nothing, type DeviceHandler } from './device.ts';

export const noneDevice: DeviceHandler = { needsHost: () => false, start: () => Promise.resolve(nothing) };
