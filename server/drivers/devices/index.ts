// The handler of each device type.
import type { DeviceTypeName } from '../../api/devices/index.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import { diskDevice } from './disk.ts';
import type { DeviceHandler } from './device.ts';
import { gpuDevice } from './gpu.ts';
import { infinibandDevice } from './infiniband.ts';
import { nicDevice } from './nic.ts';
import { noneDevice } from './none.ts';
import { proxyDevice } from './proxy/proxy.ts';
import { unixDevice } from './unix.ts';
import { usbDevice } from './usb.ts';

const deviceHandlers = {
  none: noneDevice,
  disk: diskDevice,
  nic: nicDevice,
  'unix-char': unixDevice('char'),
  'unix-block': unixDevice('block'),
  usb: usbDevice,
  gpu: gpuDevice,
  infiniband: infinibandDevice,
  proxy: proxyDevice,
} as const satisfies Record<DeviceTypeName, DeviceHandler>;

/** Undefined for a recorded device whose type this release does not know. */
export const deviceHandler = ({ type = '' }: ConfigMap): DeviceHandler | undefined =>
  Object.hasOwn(deviceHandlers, type) ? deviceHandlers[type as DeviceTypeName] : undefined;
