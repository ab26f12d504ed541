// Nics of type ipvlan: a second interface with the MAC address of their parent. In mode l3s the host routes; in mode l2 the container is in
// the network of the parent.
import { splitList } from '../../api/network/network-values.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import type { AddressesInside, NicRun } from '../device-parts.ts';
import type { DeviceContext } from './device.ts';
import { set, vlanOf } from './nic-properties.ts';
import { insideOf, routingOf } from './routed-nic.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export function ipvlanParts(context: DeviceContext): Pick<NicRun, 'inside' | 'link' | 'mode' | 'routing' | 'vlan'> {
  const { properties } = context;
  const { name: link, vlan } = vlanOf(context);
  if (properties['mode'] === 'l2') return { link, mode: 'l2', inside: insideNetwork(properties), ...vlan };
  return {
    link,
    mode: 'l3s',
    inside: insideOf(properties, () => 'dev'),
    // The kernel of the host has the addresses itself, so a duplicate is found only on use.
    routing: { ...routingOf(properties), hostAddresses: [], parent: link, probed: [] },
    ...vlan,
  };
}

/** Prefix length of an address without one, as in LXD. */
const usual = { 4: 24, 6: 64 } as const;

function insideNetwork(properties: ConfigMap): AddressesInside {
  const listed = ([4, 6] as const).flatMap((family) =>
    splitList(properties[`ipv${family}.address`]).map((text) =>
      text.includes('/') ? text : `${text}/${usual[family]}`,
    ),
  );
  const [ipv4, ipv6] = [set(properties, 'ipv4.gateway'), set(properties, 'ipv6.gateway')];
  return {
    addresses: listed,
    gateways: { ...withoutUndefined({ ipv4, ipv6 }) },
  };
}
