// Device type usb: USB devices of the host, picked by hardware ids.
import * as is from '../text/value-checks.ts';
import { hardwareId, live, nodeOwner, typeAccess } from './device-schema.ts';
import type { DeviceSchema } from './device-schema.ts';

export const usb: DeviceSchema = {
  doc: 'USB devices of the host; without ids all of them.',
  hotplug: true,
  adjustable: /^(vendorid|productid|uid|gid|mode|required)$/,
  hostAccess: typeAccess,
  properties: {
    vendorid: live(hardwareId, 'Vendor id. Unset: any.'),
    productid: live(hardwareId, 'Product id. Unset: any.'),
    ...nodeOwner,
    required: live(is.bool, 'Refuse to start without it.', { default: 'false' }),
  },
};
