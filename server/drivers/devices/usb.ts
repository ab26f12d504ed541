// USB devices of the host in containers, selected by hardware ids and followed as they appear and vanish.
import { join } from 'node:path';
import { isTrue } from '../../api/text/value-checks.ts';
import { driverErrors } from '../driver-error.ts';
import { nothing, type DeviceContext, type DeviceRun, type DeviceHandler } from './device.ts';
import { type HostPaths, list, readText } from './host-paths.ts';
import { nodeRun, sameId, set } from './nodes.ts';

export interface UsbDevice {
  readonly vendorId: string;
  readonly productId: string;
  readonly bus: number;
  readonly number: number;
  readonly major: number;
  readonly minor: number;
}

export const usbDevice: DeviceHandler = {
  followsHardware: () => true,
  start: async ({ device, properties, host }: DeviceContext): Promise<DeviceRun> => {
    const found = usbDevices(host).filter(
      (one) => sameId(properties['vendorid'], one.vendorId) && sameId(properties['productid'], one.productId),
    );
    if (found.length === 0 && isTrue(properties['required'])) {
      const wanted = `${set(properties['vendorid']) ?? 'any'}:${set(properties['productid']) ?? 'any'}`;
      throw driverErrors.notFound(`usb ${device}: no device ${wanted} is plugged into the host`);
    }
    const root = join(host.dev, 'bus/usb');
    // Each bus has a directory of its own, in which its devices appear.
    const watch = [root, ...list(root).map((bus) => join(root, bus))];
    return {
      ...nothing,
      nodes: found.map((one) =>
        nodeRun(device, properties, `/dev/bus/usb/${padded(one.bus)}/${padded(one.number)}`, {
          kind: 'char',
          ...numbersOf(one),
        }),
      ),
      watch,
    };
  },
};

const numbersOf = ({ major, minor }: UsbDevice): { major: number; minor: number } => ({ major, minor });
const padded = (number: number): string => number.toString().padStart(3, '0');

/** Interfaces of devices are in sysfs too, but have no ids. */
export function usbDevices(host: HostPaths): readonly UsbDevice[] {
  const dir = join(host.sys, 'bus/usb/devices');
  return list(dir).flatMap((entry) => {
    const read = (file: string): string => readText(join(dir, entry, file));
    const [major, minor] = read('dev').split(':').map(Number);
    const [vendorId, productId] = [read('idVendor'), read('idProduct')];
    if (vendorId === '' || major === undefined || minor === undefined) return [];
    return [{ vendorId, productId, bus: Number(read('busnum')), number: Number(read('devnum')), major, minor }];
  });
}
