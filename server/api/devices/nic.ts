// Device type nic: network interfaces (properties and kinds). Drivers make them.
import * as is from '../text/value-checks.ts';
import type { Check } from '../text/value-checks.ts';
import { parseCidr, type IpFamily } from '../text/ip.ts';
import { splitList } from '../network/network-values.ts';
import type { Problem } from '../problem.ts';
import { layer3Properties, layer3Rules, layer3Types } from './layer3-nic.ts';
import {
  bootPriorityDoc,
  isSet,
  live,
  problem,
  type DeviceConfig,
  type DeviceReference,
  type DeviceSchema,
} from './device-schema.ts';

export const nicTypes = ['bridged', 'ipvlan', 'macvlan', 'p2p', 'physical', 'routed', 'sriov'] as const;
const needsParent = ['bridged', 'ipvlan', 'macvlan', 'physical', 'sriov'];
const shaped = { only: ['bridged', 'p2p', 'routed'] };
const bridged = { only: ['bridged'] };
const addressed = { only: ['bridged', ...layer3Types] };
const bootable = { only: nicTypes.filter((type) => !layer3Types.includes(type)) };
const inMaas = { only: ['bridged', 'macvlan', 'physical', 'sriov'] };

const orNone =
  (check: Check): Check =>
  (value) => {
    const rule = value === 'none' ? undefined : check(value);
    return rule === undefined ? undefined : `${rule}, or none`;
  };

/** How many of them, and whether with a prefix length, depends on the kind: `nicRules`. */
const addresses = (check: Check): Check => {
  const one: Check = (text) => check(text.split('/')[0] ?? '');
  const several = is.listOf(one);
  return orNone((value) => (value.includes(',') ? several(value) : one(value)));
};

const addressDoc = (family: IpFamily): string =>
  `bridged: address that DHCP hands out${family === 6 ? ', where the network has ipv6.dhcp.stateful' : ''}; with security.ipv${family}_filtering, none: it may send no IPv${family} at all. ipvlan, routed: addresses that it has inside, separated by commas.`;

/** A default route would replace the host's own. */
const routes = (family: IpFamily): Check =>
  is.listOf((value) => {
    const cidr = parseCidr(value);
    const example = family === 4 ? '10.4.0.0/16' : 'fd42:4::/32';
    return cidr?.ip.family === family && cidr.prefix > 0
      ? undefined
      : `must be an IPv${family} subnet with a prefix length of at least 1 (${example})`;
  });

export const isNic = ({ type }: DeviceConfig): boolean => type === 'nic';

/** Whether its addresses are those inside of it, which no DHCP server hands out. */
export const isLayer3 = ({ nictype = '' }: DeviceConfig): boolean => layer3Types.includes(nictype);

/** Other nics have the hardware address of an interface of the host. */
export const hasOwnHwaddr = ({ nictype = '' }: DeviceConfig): boolean => !['physical', 'ipvlan'].includes(nictype);

const named = (property: string, name: string, mayBeHosts: boolean): readonly DeviceReference[] =>
  name === '' ? [] : [{ kind: 'network', name, property, mayBeHosts }];

export const nic: DeviceSchema = {
  doc: 'A network interface.',
  hotplug: true,
  adjustable:
    /^(limits\.(ingress|egress|max)|security\.(mac_filtering|ipv[46]_filtering|port_isolation)|ipv[46]\.(address|routes)|maas\..*)$/,
  unique: ['name', 'host_name', 'hwaddr'],
  hostAccess: ({ nictype = '' }) =>
    ['physical', 'sriov'].includes(nictype) ? `an interface of the host (${nictype})` : undefined,
  home: ({ network = '', nictype = '' }) =>
    network !== '' ? 'any' : ['physical', 'sriov'].includes(nictype) ? 'host' : 'alike',
  references: ({ network = '', parent = '', nictype, ...more }) => [
    ...named('network', network, false),
    ...named('parent', parent, nictype !== 'bridged'),
    ...splitList(more['security.acls']).map((name): DeviceReference => ({
      kind: 'network_acl',
      name,
      property: 'security.acls',
      mayBeHosts: false,
    })),
  ],
  kind: 'nictype',
  properties: {
    network: live(is.interfaceName, 'Managed network to be bridged to: says nictype and parent.', bridged),
    nictype: live(is.oneOf(...nicTypes), 'How it reaches the network; left out with network.'),
    parent: live(is.interfaceName, 'Bridge or interface of the host; routed may be without.', {
      only: [...needsParent, 'routed'],
    }),
    name: live(is.interfaceName, 'Name in the container. Unset: the lowest free ethN.'),
    host_name: live(is.interfaceName, 'Name on the host. Unset: made up.', {
      only: ['bridged', 'macvlan', 'p2p', 'routed', 'sriov'],
    }),
    hwaddr: live(is.macAddress, 'MAC address. Unset: made up once and kept. ipvlan has that of its parent.', {
      only: nicTypes.filter((type) => type !== 'ipvlan'),
    }),
    mtu: live(is.integer(68, 65535), 'Largest packet. Unset: as the parent has it.'),
    vlan: live(is.integer(1, 4094), 'VLAN to attach to.', { only: ['ipvlan', 'macvlan', 'physical', 'routed'] }),
    ...layer3Properties,
    'ipv4.address': live(addresses(is.ipv4), addressDoc(4), addressed),
    'ipv6.address': live(addresses(is.ipv6), addressDoc(6), addressed),
    'ipv4.routes': live(
      routes(4),
      'Subnets, separated by commas, that the host routes to it while it is there.',
      shaped,
    ),
    'ipv6.routes': live(
      routes(6),
      'Subnets, separated by commas, that the host routes to it while it is there.',
      shaped,
    ),
    'ipv4.routes.external': live(routes(4), 'Taken as on LXD, which announces them by BGP; no effect here.', bridged),
    'ipv6.routes.external': live(routes(6), 'Taken as on LXD, which announces them by BGP; no effect here.', bridged),
    'boot.priority': live(is.uint32, bootPriorityDoc, bootable),
    'security.mac_filtering': live(is.bool, 'Drop frames with another MAC address.', { default: 'false', ...bridged }),
    'security.ipv4_filtering': live(
      is.bool,
      'Drop IPv4 and ARP with another address than its own (ipv4.address, or one that is reserved for it), and answers of DHCP servers. Includes security.mac_filtering.',
      { default: 'false', ...bridged },
    ),
    'security.ipv6_filtering': live(
      is.bool,
      'Drop IPv6 and neighbour discovery with another address than its own, router announcements and answers of DHCP servers. Includes security.mac_filtering.',
      { default: 'false', ...bridged },
    ),
    'security.port_isolation': live(is.bool, 'Keep it from nics on the same bridge that have this, too.', {
      default: 'false',
      ...bridged,
    }),
    'limits.ingress': live(is.bitRate, 'Most bits a second into the container.', shaped),
    'limits.egress': live(is.bitRate, 'Most bits a second out of the container.', shaped),
    'limits.max': live(is.bitRate, 'Both limits at once; the others then have no effect.', shaped),
    'maas.subnet.ipv4': live(is.any, 'MAAS subnet to register the interface in.', inMaas),
    'maas.subnet.ipv6': live(is.any, 'MAAS subnet to register the interface in.', inMaas),
  },
  resolve: resolveNic,
  rules: nicRules,
};

/** A nic with a managed network is a bridged nic on its bridge. */
function resolveNic(device: DeviceConfig): DeviceConfig {
  const network = device['network'] ?? '';
  return network === '' ? device : { ...device, nictype: 'bridged', parent: network };
}

function nicRules(device: DeviceConfig, written: DeviceConfig): Problem[] {
  const problems = (isSet(written, 'network') ? ['nictype', 'parent'] : [])
    .filter((property) => isSet(written, property))
    .map((property) => problem(property, 'cannot be combined with network, which says it: leave it out'));
  const kind = device['nictype'] ?? '';
  if (kind === '') {
    problems.push(problem('nictype', `is required: one of ${nicTypes.join(', ')}; or network, for a managed network`));
  }
  if (needsParent.includes(kind) && !isSet(device, 'parent')) {
    problems.push(problem('parent', `is required for nictype ${kind}: the bridge or interface of the host`));
  }
  return [...problems, ...(layer3Types.includes(kind) ? layer3Rules(kind, device) : leaseRules(device))];
}

/** DHCP hands out one address of a family. */
const leaseRules = (device: DeviceConfig): Problem[] =>
  (
    [
      ['ipv4.address', is.ipv4],
      ['ipv6.address', is.ipv6],
    ] as const
  ).flatMap(([key, check]) => {
    const rule = isSet(device, key) ? orNone(check)(device[key] ?? '') : undefined;
    return rule === undefined ? [] : [problem(key, rule)];
  });
