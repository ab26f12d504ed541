// Device type gpu: graphics cards of the host.
import type { Problem } from '../problem.ts';
import * as is from '../text/value-checks.ts';
import type { Check } from '../text/value-checks.ts';
import { hardwareId, isSet, live, nodeOwner, problem, typeAccess } from './device-schema.ts';
import type { DeviceConfig, DeviceSchema } from './device-schema.ts';

const pciAddress = is.matches(
  /^(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/i,
  'must be a PCI address such as 0000:03:00.0',
);

const physical: Check = (value) =>
  value === 'physical' ? undefined : 'must be physical: containers here get whole cards, neither mdev, mig nor sriov';

export const isGpu = ({ type }: DeviceConfig): boolean => type === 'gpu';

export const gpu: DeviceSchema = {
  doc: 'Graphics cards of the host; without any choice all of them.',
  hotplug: true,
  adjustable: /^(vendorid|productid|id|pci|uid|gid|mode)$/,
  hostAccess: typeAccess,
  properties: {
    gputype: live(physical, 'Kind of device that it passes in: whole cards only.', { default: 'physical' }),
    vendorid: live(hardwareId, 'Vendor id. Unset: any.'),
    productid: live(hardwareId, 'Product id. Unset: any.'),
    id: live(is.integer(0), 'Card number on the host.'),
    pci: live(pciAddress, 'PCI address on the host.'),
    ...nodeOwner,
  },
  rules: gpuRules,
};

/** An address or a card number identifies one card: further selectors are refused. */
function gpuRules(device: DeviceConfig): Problem[] {
  const chosen = ['pci', 'id'].find((property) => isSet(device, property));
  if (chosen === undefined) return [];
  const others = ['id', 'vendorid', 'productid'].filter((property) => property !== chosen && isSet(device, property));
  return others.length === 0 ? [] : [problem(chosen, `cannot be set together with ${others.join(', ')}`)];
}
