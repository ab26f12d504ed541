// The config keys of managed networks: one table of facts (key, type, default, doc, effect). Rules across several keys are in
// validate-network-config.ts.
import type { Effect } from '../schema/field.ts';
import type { IpFamily } from '../text/ip.ts';
import type { NetworkKeyType } from './network-values.ts';

export interface NetworkConfigKey {
  /** The key, or a pattern: `NAME` matches one dotless part, a final `*` for any rest. */
  readonly key: string;
  readonly type: NetworkKeyType;
  /** The value when the key is absent; undefined when it depends (the doc says on what). */
  readonly default?: string;
  readonly doc: string;
  readonly effect: Effect;
}

const bool = { kind: 'bool' } as const;
const live = 'live' as const;
const order = { kind: 'enum', values: ['before', 'after'] } as const;

function familyKeys(family: IpFamily): NetworkConfigKey[] {
  const v = `ipv${family}`;
  const nat = `Masquerade traffic that leaves the network. Becomes true when ${v}.address was picked by auto and this is unset.`;
  return [
    {
      key: `${v}.address`,
      type: { kind: 'cidr', family, words: ['none', 'auto'], host: true },
      doc:
        `Address of the bridge with prefix length; none = no IPv${family}; auto = a free subnet is picked and stored. ` +
        `Absent at creation: auto${family === 6 ? ' when the host has IPv6' : ''}.`,
      effect: live,
    },
    {
      key: `${v}.dhcp`,
      type: bool,
      default: 'true',
      doc: `Give addresses${family === 6 ? ' and options by DHCPv6' : ' by DHCP'}.`,
      effect: live,
    },
    {
      key: `${v}.dhcp.expiry`,
      type: { kind: 'lease-time' },
      default: '1h',
      doc: 'How long a lease lasts.',
      effect: live,
    },
    {
      key: `${v}.dhcp.ranges`,
      type: { kind: 'range-list', family },
      doc: `Ranges to lease from, FIRST-LAST separated by commas; absent: the whole subnet${family === 6 ? ' (stateful only)' : ''}.`,
      effect: live,
    },
    { key: `${v}.firewall`, type: bool, default: 'true', doc: 'Make filter rules for the network.', effect: live },
    { key: `${v}.nat`, type: bool, default: 'false', doc: nat, effect: live },
    {
      key: `${v}.nat.address`,
      type: { kind: 'address', family },
      doc: `Address of the host that traffic leaving the network comes from (with ${v}.nat). Absent: that of the interface it leaves by.`,
      effect: live,
    },
    {
      key: `${v}.nat.order`,
      type: order,
      default: 'before',
      doc: 'Whether the masquerade rule comes before or after those of others on the host.',
      effect: live,
    },
    {
      key: `${v}.routes`,
      type: { kind: 'cidr-list', family },
      doc: 'More subnets, separated by commas, to route to the bridge.',
      effect: live,
    },
    {
      key: `${v}.routing`,
      type: bool,
      default: 'true',
      doc: 'Forward traffic in and out of the network; false rejects it.',
      effect: live,
    },
  ];
}

/** Every key a managed network may have; more specific patterns come before `user.*`. */
export const networkConfigKeys: readonly NetworkConfigKey[] = [
  {
    key: 'bridge.driver',
    type: { kind: 'enum', values: ['native', 'openvswitch'] },
    default: 'native',
    doc: 'What switches the frames: the bridge of the kernel, or Open vSwitch. It cannot change while the bridge is there.',
    effect: 'recreate',
  },
  {
    key: 'bridge.external_interfaces',
    type: { kind: 'interface-list' },
    doc: 'Host interfaces, separated by commas, that join the bridge; they must have no global address.',
    effect: live,
  },
  {
    key: 'bridge.hwaddr',
    type: { kind: 'hwaddr' },
    doc: 'Hardware address of the bridge. Absent: 00:16:3e with a stable rest.',
    effect: live,
  },
  {
    key: 'bridge.mode',
    type: { kind: 'enum', values: ['standard', 'fan'] },
    default: 'standard',
    doc: 'Plain bridge, or one member of a fan overlay.',
    effect: live,
  },
  {
    key: 'bridge.mtu',
    type: { kind: 'integer', min: 68, max: 65535 },
    doc: 'MTU of the bridge. Absent: 1500, 1400 with tunnels.',
    effect: live,
  },
  {
    key: 'dns.domain',
    type: { kind: 'domain' },
    default: 'gantry',
    doc: 'Domain of the names served here.',
    effect: live,
  },
  {
    key: 'dns.mode',
    type: { kind: 'enum', values: ['managed', 'dynamic', 'none'] },
    default: 'managed',
    doc: 'managed: container names; dynamic: the names that clients ask for; none: no names.',
    effect: live,
  },
  {
    key: 'dns.search',
    type: { kind: 'domain-list' },
    doc: 'Domains, separated by commas, in which clients look for short names. Absent: dns.domain alone.',
    effect: live,
  },
  {
    key: 'fan.overlay_subnet',
    type: { kind: 'cidr', family: 4, words: [] },
    default: '240.0.0.0/8',
    doc: 'Overlay subnet (fan mode).',
    effect: live,
  },
  {
    key: 'fan.type',
    type: { kind: 'enum', values: ['vxlan', 'ipip'] },
    default: 'vxlan',
    doc: 'Kind of fan tunnels.',
    effect: live,
  },
  {
    key: 'fan.underlay_subnet',
    type: { kind: 'cidr', family: 4, words: ['auto'] },
    default: 'auto',
    doc: 'Underlay subnet (fan mode); auto = that of the default gateway.',
    effect: live,
  },
  ...familyKeys(4),
  {
    key: 'ipv4.dhcp.gateway',
    type: { kind: 'address', family: 4 },
    doc: 'Gateway announced to clients. Absent: the address of the bridge.',
    effect: live,
  },
  ...familyKeys(6),
  {
    key: 'ipv6.dhcp.stateful',
    type: bool,
    default: 'false',
    doc: 'Give addresses by DHCPv6; false: clients make their own from the announced prefix.',
    effect: live,
  },
  {
    key: 'raw.dnsmasq',
    type: { kind: 'text', multiline: true },
    doc: 'More dnsmasq configuration, one option a line. Trusted input: it may run programs.',
    effect: live,
  },
  {
    key: 'tunnel.NAME.group',
    type: { kind: 'multicast' },
    default: '239.0.0.1',
    doc: 'Multicast group (vxlan).',
    effect: live,
  },
  {
    key: 'tunnel.NAME.id',
    type: { kind: 'integer', min: 0, max: 16_777_215 },
    default: '1',
    doc: 'Tunnel id (vxlan).',
    effect: live,
  },
  {
    key: 'tunnel.NAME.interface',
    type: { kind: 'interface' },
    doc: 'Host interface of a multicast tunnel. Absent: that of the default route.',
    effect: live,
  },
  { key: 'tunnel.NAME.local', type: { kind: 'address' }, doc: 'Local address; needed with remote.', effect: live },
  {
    key: 'tunnel.NAME.port',
    type: { kind: 'integer', min: 0, max: 65535 },
    default: '0',
    doc: 'UDP port (vxlan); 0 = the default of the kernel.',
    effect: live,
  },
  {
    key: 'tunnel.NAME.protocol',
    type: { kind: 'enum', values: ['gre', 'vxlan'] },
    doc: 'Tunnel protocol.',
    effect: live,
  },
  { key: 'tunnel.NAME.remote', type: { kind: 'address' }, doc: 'Remote address; needed with local.', effect: live },
  {
    key: 'tunnel.NAME.ttl',
    type: { kind: 'integer', min: 0, max: 255 },
    default: '1',
    doc: 'Time to live of multicast tunnel packets.',
    effect: live,
  },
  { key: 'user.*', type: { kind: 'text', multiline: true }, doc: 'Free for users.', effect: live },
];

const exactKeys = new Map(networkConfigKeys.map((entry) => [entry.key, entry]));

/** The table entry of a key in a config; undefined for an unknown one. */
export function findNetworkConfigKey(key: string): NetworkConfigKey | undefined {
  if (key.includes('NAME') || key.endsWith('*')) return undefined;
  const exact = exactKeys.get(key);
  if (exact !== undefined) return exact;
  if (/^user\../.test(key)) return exactKeys.get('user.*');
  const tunnel = /^tunnel\.([^.]+)\.([^.]+)$/.exec(key);
  return tunnel === null ? undefined : exactKeys.get(`tunnel.NAME.${tunnel[2]}`);
}
