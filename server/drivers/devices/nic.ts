// Nics: bridged and p2p (a veth pair), macvlan (a second address of a host interface), physical and sriov (host interfaces moved into the
// container). Nics with addresses of the host's network are in routed-nic.ts and ipvlan-nic.ts.
import { createHash } from 'node:crypto';
import { parseBits } from '../../api/text/bit-rate.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import { formatCidr, parseCidr, subnetOf } from '../../api/text/ip.ts';
import { splitList } from '../../api/network/network-values.ts';
import { isTrue } from '../../api/text/value-checks.ts';
import { driverErrors } from '../driver-error.ts';
import type { NicRun } from '../device-parts.ts';
import { nothing, type DeviceContext, type DeviceRun, type DeviceHandler } from './device.ts';
import { ipvlanParts } from './ipvlan-nic.ts';
import { needAddress, needParent, set, vlanOf } from './nic-properties.ts';
import { routedParts } from './routed-nic.ts';
import { chooseVirtualFunction } from './sriov.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export const nicDevice: DeviceHandler = {
  needsHost: ({ nictype = '', parent = '' }) =>
    !['bridged', 'p2p'].includes(nictype) && (nictype !== 'routed' || parent !== ''),
  start: async (context: DeviceContext): Promise<DeviceRun> => {
    const { nictype } = context.properties;
    const name = set(context.properties, 'name') ?? set(context.volatile, 'name') ?? freeName(context.takenNames);
    const nic = nicOf(context, nictype ?? '', name);
    return {
      ...nothing,
      nics: [nic],
      volatile: {
        ...(['physical', 'ipvlan'].includes(nictype ?? '') ? {} : { host_name: nic.hostName }),
        ...(set(context.properties, 'name') === undefined ? { name } : {}),
      },
    };
  },
  // Addresses of a bridged nic are those of DHCP and of filters; these are inside.
  change: (before, after) =>
    JSON.stringify(before.nics.map(fixedParts)) === JSON.stringify(after.nics.map(fixedParts)) ? after : 'replug',
};

const fixedParts = ({ inside, routing }: NicRun): object => ({ inside, routing });

function nicOf(context: DeviceContext, nictype: string, name: string): NicRun {
  const { device, properties } = context;
  const mtu = set(properties, 'mtu');
  const common = { device, name, ...(mtu === undefined ? {} : { mtu: Number(mtu) }) };
  const hostName = set(properties, 'host_name') ?? hostNameOf(context.containerUuid, device);
  switch (nictype) {
    case 'bridged':
    case 'p2p': {
      const link = nictype === 'bridged' ? { link: needParent(context) } : {};
      return { ...common, kind: 'veth', hostName, hwaddr: needAddress(context), ...link, ...shapeOf(properties) };
    }
    case 'macvlan': {
      const { name: link, vlan } = vlanOf(context);
      return { ...common, kind: 'macvlan', hostName, hwaddr: needAddress(context), link, ...vlan };
    }
    case 'physical': {
      const { name: lent, vlan } = vlanOf(context);
      const hwaddr = set(properties, 'hwaddr');
      return { ...common, kind: 'physical', hostName: lent, ...withoutUndefined({ hwaddr }), ...vlan };
    }
    case 'sriov': {
      const parent = needParent(context);
      const found = chooseVirtualFunction(context.host, parent, `nic ${device}`, set(context.volatile, 'host_name'));
      const virtualFunction = { parent, index: found.index };
      return { ...common, kind: 'physical', hostName: found.name, hwaddr: needAddress(context), virtualFunction };
    }
    case 'routed':
      return {
        ...common,
        kind: 'veth',
        hostName,
        hwaddr: needAddress(context),
        ...routedParts(context),
        ...shapeOf(properties),
      };
    case 'ipvlan':
      return { ...common, kind: 'ipvlan', hostName, ...ipvlanParts(context) };
    default:
      throw driverErrors.invalid(`nic ${device}: there is no nictype ${nictype === '' ? '(none)' : nictype}`);
  }
}

/** Distinct routes without the host part of each address, which the kernel refuses. */
function routesOf(properties: ConfigMap): readonly string[] {
  const texts = [properties['ipv4.routes'], properties['ipv6.routes']].flatMap(splitList);
  return [...new Set(texts.flatMap((text) => parseCidr(text) ?? []).map((cidr) => formatCidr(subnetOf(cidr))))];
}

function shapeOf(properties: ConfigMap): Pick<NicRun, 'rates' | 'macFilter' | 'ipFilter' | 'isolated' | 'routes'> {
  const routes = routesOf(properties);
  const rate = (name: string): number | undefined => {
    const text = set(properties, 'limits.max') ?? set(properties, name);
    const bits = text === undefined ? undefined : parseBits(text);
    return bits === 0 ? undefined : bits;
  };
  const [ingress, egress] = [rate('limits.ingress'), rate('limits.egress')];
  return {
    ...(ingress === undefined && egress === undefined ? {} : { rates: { ...withoutUndefined({ ingress, egress }) } }),
    ...(routes.length === 0 ? {} : { routes }),
    ...filterOf(properties),
  };
}

function filterOf(properties: ConfigMap): Pick<NicRun, 'macFilter' | 'ipFilter' | 'isolated'> {
  const address = (family: 4 | 6): readonly string[] | undefined => {
    if (!isTrue(properties[`security.ipv${family}_filtering`])) return undefined;
    const text = set(properties, `ipv${family}.address`);
    return text === undefined || text === 'none' ? [] : [text];
  };
  const ipv4 = address(4);
  const ipv6 = properties['ipv6.address'] === 'none' && address(6) !== undefined ? 'none' : address(6);
  const hasIpFilter = ipv4 !== undefined || ipv6 !== undefined;
  return {
    ...(hasIpFilter || isTrue(properties['security.mac_filtering']) ? { macFilter: true } : {}),
    ...(hasIpFilter ? { ipFilter: { ...withoutUndefined({ ipv4, ipv6 }) } } : {}),
    ...(isTrue(properties['security.port_isolation']) ? { isolated: true } : {}),
  };
}

/** Equal at every start, so that the interface can be found after a crash without a record. */
export function hostNameOf(containerUuid: string, device: string): string {
  return `veth${createHash('sha256').update(`${containerUuid}/${device}`).digest('hex').slice(0, 8)}`;
}

function freeName(taken: ReadonlySet<string>): string {
  for (let index = 0; ; index += 1) if (!taken.has(`eth${index}`)) return `eth${index}`;
}
