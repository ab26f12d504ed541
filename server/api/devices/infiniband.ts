// Device type infiniband: InfiniBand interfaces of the host.
import * as is from '../text/value-checks.ts';
import { atRestart, typeAccess, type DeviceSchema } from './device-schema.ts';

const hwaddr = is.matches(
  /^[0-9a-f]{2}(?:(?::[0-9a-f]{2}){7}|(?::[0-9a-f]{2}){19})$/i,
  'must be an InfiniBand address of 8 or 20 bytes',
);

export const infiniband: DeviceSchema = {
  doc: 'An InfiniBand interface.',
  hotplug: false,
  hostAccess: typeAccess,
  properties: {
    nictype: atRestart(is.oneOf('physical', 'sriov'), 'The whole interface, or a virtual function of it.', {
      required: true,
    }),
    parent: atRestart(is.interfaceName, 'Interface of the host.', { required: true }),
    name: atRestart(is.interfaceName, 'Name in the container. Unset: as on the host.'),
    hwaddr: atRestart(hwaddr, 'Address. Unset: as it has.'),
    mtu: atRestart(is.integer(68, 65535), 'Largest packet. Unset: as the parent has it.'),
  },
};
