// The config keys of managed networks: one table of facts (key, type, default, doc, effect). Rules across several keys are in
// validate-network-config.ts.
import type { Effect } from '../schema/field.ts';
import type { IpFamily } from '../text/ip.ts';
import type { NetworkKeyType } from './network-values.ts';

export interface NetworkConfigKey {
  /** The key, or a pattern: `NAME` matches one dotless part, a final `*` for any rest. */
  readonly key: string;
  readonly type: NetworkKeyType;
  /** The value if the key is absent; undefined if it depends on something (see doc). */
  readonly default?: string;
  readonly doc: string;
  readonly effect: Effect;
}

const bool = { kind: 'bool' } as const;
const key = (
  key: string,
  type: NetworkKeyType,
  doc: string,
  standard?: string,
  effect: Effect = 'live',
): NetworkConfigKey => ({ key, type, ...(standard === undefined ? {} : { default: standard }), doc, effect });
const order = { kind: 'enum', values: ['before', 'after'] } as const;

function familyKeys(family: IpFamily): NetworkConfigKey[] {
  const v = `ipv${family}`;
  const nat = `Masquerade traffic that leaves the network. Becomes true when ${v}.address was picked by auto and this is unset.`;
  return [
    key(
      `${v}.address`,
      { kind: 'cidr', family, words: ['none', 'auto'], host: true },
      `Address of the bridge with prefix length; none = no IPv${family}; auto = a free subnet is picked and stored. ` +
        `Absent at creation: auto${family === 6 ? ' when the host has IPv6' : ''}.`,
    ),
    key(`${v}.dhcp`, bool, `Give addresses${family === 6 ? ' and options by DHCPv6' : ' by DHCP'}.`, 'true'),
    key(`${v}.dhcp.expiry`, { kind: 'lease-time' }, 'How long a lease lasts.', '1h'),
    key(
      `${v}.dhcp.ranges`,
      { kind: 'range-list', family },
      `Ranges to lease from, FIRST-LAST separated by commas; absent: the whole subnet${family === 6 ? ' (stateful only)' : ''}.`,
    ),
    key(`${v}.firewall`, bool, 'Make filter rules for the network.', 'true'),
    key(`${v}.nat`, bool, nat, 'false'),
    key(
      `maas.subnet.${v}`,
      { kind: 'text' },
      `MAAS subnet in which nics that name the network reserve their IPv${family} addresses.`,
    ),
    key(
      `${v}.nat.address`,
      { kind: 'address', family },
      `Address of the host that traffic leaving the network comes from (with ${v}.nat). Absent: that of the interface it leaves by.`,
    ),
    key(
      `${v}.nat.order`,
      order,
      'Whether the masquerade rule comes before or after those of others on the host.',
      'before',
    ),
    key(`${v}.routes`, { kind: 'cidr-list', family }, 'More subnets, separated by commas, to route to the bridge.'),
    key(`${v}.routing`, bool, 'Forward traffic in and out of the network; false rejects it.', 'true'),
  ];
}

/** Every key a managed network may have; more specific patterns come before `user.*`. */
export const networkConfigKeys: readonly NetworkConfigKey[] = [
  key(
    'bridge.driver',
    { kind: 'enum', values: ['native', 'openvswitch'] },
    'What switches the frames: the bridge of the kernel, or Open vSwitch. It cannot change while the bridge is there.',
    'native',
    'recreate',
  ),
  key(
    'bridge.external_interfaces',
    { kind: 'interface-list' },
    'Host interfaces, separated by commas, that join the bridge; they must have no global address.',
  ),
  key('bridge.hwaddr', { kind: 'hwaddr' }, 'Hardware address of the bridge. Absent: 00:16:3e with a stable rest.'),
  key(
    'bridge.mode',
    { kind: 'enum', values: ['standard', 'fan'] },
    'Plain bridge, or one member of a fan overlay.',
    'standard',
  ),
  key('bridge.mtu', { kind: 'integer', min: 68, max: 65535 }, 'MTU of the bridge. Absent: 1500, 1400 with tunnels.'),
  key('dns.domain', { kind: 'domain' }, 'Domain of the names served here.', 'gantry'),
  key(
    'dns.mode',
    { kind: 'enum', values: ['managed', 'dynamic', 'none'] },
    'managed: container names; dynamic: the names that clients ask for; none: no names.',
    'managed',
  ),
  key(
    'dns.search',
    { kind: 'domain-list' },
    'Domains, separated by commas, in which clients look for short names. Absent: dns.domain alone.',
  ),
  key('fan.overlay_subnet', { kind: 'cidr', family: 4, words: [] }, 'Overlay subnet (fan mode).', '240.0.0.0/8'),
  key('fan.type', { kind: 'enum', values: ['vxlan', 'ipip'] }, 'Kind of fan tunnels.', 'vxlan'),
  key(
    'fan.underlay_subnet',
    { kind: 'cidr', family: 4, words: ['auto'] },
    'Underlay subnet (fan mode); auto = that of the default gateway.',
    'auto',
  ),
  ...familyKeys(4),
  key(
    'ipv4.dhcp.gateway',
    { kind: 'address', family: 4 },
    'Gateway announced to clients. Absent: the address of the bridge.',
  ),
  ...familyKeys(6),
  key(
    'ipv6.dhcp.stateful',
    bool,
    'Give addresses by DHCPv6; false: clients make their own from the announced prefix.',
    'false',
  ),
  key(
    'raw.dnsmasq',
    { kind: 'text', multiline: true },
    'More dnsmasq configuration, one option a line. Trusted input: it may run programs.',
  ),
  key(
    'security.acls',
    { kind: 'acl-list' },
    'Network ACLs, separated by commas, for what passes between the network and the host or other networks. Containers of the network reach each other whatever they say.',
  ),
  ...(['ingress', 'egress'] as const).flatMap((direction) => [
    key(
      `security.acls.default.${direction}.action`,
      { kind: 'enum', values: ['allow', 'reject', 'drop'] },
      `What becomes of ${direction} packets that no rule matches (with security.acls).`,
      'reject',
    ),
    key(
      `security.acls.default.${direction}.logged`,
      bool,
      `Write ${direction} packets that no rule matches to the log of the kernel (with security.acls).`,
      'false',
    ),
  ]),
  key('tunnel.NAME.group', { kind: 'multicast' }, 'Multicast group (vxlan).', '239.0.0.1'),
  key('tunnel.NAME.id', { kind: 'integer', min: 0, max: 16_777_215 }, 'Tunnel id (vxlan).', '1'),
  key(
    'tunnel.NAME.interface',
    { kind: 'interface' },
    'Host interface of a multicast tunnel. Absent: that of the default route.',
  ),
  key('tunnel.NAME.local', { kind: 'address' }, 'Local address; needed with remote.'),
  key(
    'tunnel.NAME.port',
    { kind: 'integer', min: 0, max: 65535 },
    'UDP port (vxlan); 0 = the default of the kernel.',
    '0',
  ),
  key('tunnel.NAME.protocol', { kind: 'enum', values: ['gre', 'vxlan'] }, 'Tunnel protocol.'),
  key('tunnel.NAME.remote', { kind: 'address' }, 'Remote address; needed with local.'),
  key('tunnel.NAME.ttl', { kind: 'integer', min: 0, max: 255 }, 'Time to live of multicast tunnel packets.', '1'),
  key('user.*', { kind: 'text', multiline: true }, 'Free for users.'),
];

const exactKeys = new Map(networkConfigKeys.map((entry) => [entry.key, entry]));

export function findNetworkConfigKey(key: string): NetworkConfigKey | undefined {
  if (key.includes('NAME') || key.endsWith('*')) return undefined;
  const exact = exactKeys.get(key);
  if (exact !== undefined) return exact;
  if (/^user\../.test(key)) return exactKeys.get('user.*');
  const tunnel = /^tunnel\.([^.]+)\.([^.]+)$/.exec(key);
  return tunnel === null ? undefined : exactKeys.get(`tunnel.NAME.${tunnel[2]}`);
}
