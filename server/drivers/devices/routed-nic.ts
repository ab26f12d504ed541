// Nics of type routed: a cable to a host that routes to their addresses, and answers for them in the network of a parent.
import { defaultHostAddress } from '../../api/devices/layer3-nic.ts';
import { splitList } from '../../api/network/network-values.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import { bitsOf, formatIp, parseIp, type IpFamily } from '../../api/text/ip.ts';
import { isTrue } from '../../api/text/value-checks.ts';
import type { AddressesInside, HostRouting, NicRun } from '../device-parts.ts';
import type { DeviceContext } from './device.ts';
import { set, vlanOf } from './nic-properties.ts';

const families = [4, 6] as const;

export function routedParts(context: DeviceContext): Pick<NicRun, 'inside' | 'routing' | 'vlan'> {
  const { properties } = context;
  const parent = set(properties, 'parent') === undefined ? undefined : vlanOf(context);
  const used = families.filter((family) => addressesOf(properties, family).length > 0);
  const probed = used.filter((family) => isTrue(properties[`ipv${family}.neighbor_probe`] || 'true'));
  return {
    inside: insideOf(properties, (family) => hostAddressOf(properties, family)),
    routing: {
      ...routingOf(properties),
      hostAddresses: used.map((family) => hostAddressOf(properties, family)),
      ...(parent === undefined ? {} : { parent: parent.name }),
      probed: parent === undefined ? [] : probed.flatMap((family) => addressesOf(properties, family)),
    },
    ...parent?.vlan,
  };
}

const hostAddressOf = (properties: ConfigMap, family: IpFamily): string =>
  set(properties, `ipv${family}.host_address`) ?? defaultHostAddress[family];

/** Addresses in canonical form. */
function addressesOf(properties: ConfigMap, family: IpFamily): readonly string[] {
  return splitList(properties[`ipv${family}.address`]).flatMap((text) => {
    const ip = parseIp(text);
    return ip === undefined ? [] : [formatIp(ip)];
  });
}

/** Each address as a single host, and the default routes of the families that have one. */
export function insideOf(properties: ConfigMap, nextHop: (family: IpFamily) => string): AddressesInside {
  const wanted = families.filter(
    (family) => addressesOf(properties, family).length > 0 && properties[`ipv${family}.gateway`] !== 'none',
  );
  return {
    addresses: families.flatMap((family) => addressesOf(properties, family).map((text) => `${text}/${bitsOf(family)}`)),
    gateways: Object.fromEntries(wanted.map((family) => [`ipv${family}`, nextHop(family)])),
  };
}

export function routingOf(properties: ConfigMap): Pick<HostRouting, 'addresses' | 'tables'> {
  const tables = families.flatMap((family) => {
    const table = set(properties, `ipv${family}.host_table`);
    return table === undefined ? [] : [[`ipv${family}`, Number(table)] as const];
  });
  return {
    addresses: families.flatMap((family) => addressesOf(properties, family)),
    tables: Object.fromEntries(tables),
  };
}
