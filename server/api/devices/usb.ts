// Device type usb: USB devices of the host, picked by hardware ids.
import * as is from '../text/value-checks.ts';
import { hardwareId, live, nodeOwner } from './device-type.ts';
import type { DeviceType } from './device-type.ts';

export const usb: DeviceType = {
  doc: 'USB devices of the host; without ids all of them.',
  hotplug: true,
  properties: {
    vendorid: live(hardwareId, 'Vendor id. Unset: any.'),
    productid: live(hardwareId, 'Product id. Unset: any.'),
    ...nodeOwner,
    required: live(is.bool, 'Refuse to start without it.', { default: 'false' }),
  },
};
