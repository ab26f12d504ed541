// The table of device types that a container can be started with; types missing here are validated but not startable.
import { diskDevice } from './disk.ts';
import type { DeviceType } from './device.ts';
import { gpuDevice } from './gpu.ts';
import { infinibandDevice } from './infiniband.ts';
import { nicDevice } from './nic.ts';
import { noneDevice } from './none.ts';
import { proxyDevice } from './proxy/proxy.ts';
import { unixDevice } from './unix.ts';
import { usbDevice } from './usb.ts';

export const deviceTypes: Readonly<Record<string, DeviceType>> = {
  none: noneDevice,
  disk: diskDevice,
  nic: nicDevice,
  'unix-char': unixDevice('char'),
  'unix-block': unixDevice('block'),
  usb: usbDevice,
  gpu: gpuDevice,
  infiniband: infinibandDevice,
  proxy: proxyDevice,
};
