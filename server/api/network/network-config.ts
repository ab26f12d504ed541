// The config keys of managed networks: one table of facts (key, type, default, doc, effect) and the pure check of a value
// against its type. Rules across several keys are in validate-network-config.ts.
import type { Effect } from '../schema/field.ts';
import { containsIp, isHostAddress, isHwaddr, parseCidr, parseIp, parseIpRange } from '../text/ip.ts';
import type { Cidr, IpFamily } from '../text/ip.ts';
import { networkName } from '../names.ts';

export type NetworkKeyType =
  | { readonly kind: 'text'; readonly multiline?: boolean }
  | { readonly kind: 'bool' }
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'enum'; readonly values: readonly string[] }
  | { readonly kind: 'address'; readonly family?: IpFamily }
  | { readonly kind: 'multicast' }
  | { readonly kind: 'cidr'; readonly family: IpFamily; readonly words: readonly string[]; readonly host?: boolean }
  | { readonly kind: 'cidr-list'; readonly family: IpFamily }
  | { readonly kind: 'range-list'; readonly family: IpFamily }
  | { readonly kind: 'hwaddr' }
  | { readonly kind: 'domain' }
  | { readonly kind: 'domain-list' }
  | { readonly kind: 'lease-time' }
  | { readonly kind: 'interface' }
  | { readonly kind: 'interface-list' };

export interface NetworkConfigKey {
  /** The key, or a pattern: `NAME` stands for one dotless part, a final `*` for any rest. */
  readonly key: string;
  readonly type: NetworkKeyType;
  /** What holds when the key is absent; undefined when that depends (the doc says on what). */
  readonly default?: string;
  readonly doc: string;
  readonly effect: Effect;
  /** Differs from member to member of a cluster. */
  readonly memberSpecific?: boolean;
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
    doc: 'What makes the bridge.',
    effect: live,
  },
  {
    key: 'bridge.external_interfaces',
    type: { kind: 'interface-list' },
    doc: 'Host interfaces, separated by commas, that join the bridge; they must have no global address.',
    effect: live,
    memberSpecific: true,
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
    doc: 'Gateway told to clients. Absent: the address of the bridge.',
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

/** The table entry of a key as it stands in a config; undefined for an unknown one. */
export function findNetworkConfigKey(key: string): NetworkConfigKey | undefined {
  if (key.includes('NAME') || key.endsWith('*')) return undefined;
  const exact = exactKeys.get(key);
  if (exact !== undefined) return exact;
  if (/^user\../.test(key)) return exactKeys.get('user.*');
  const tunnel = /^tunnel\.([^.]+)\.([^.]+)$/.exec(key);
  return tunnel === null ? undefined : exactKeys.get(`tunnel.NAME.${tunnel[2]}`);
}

const trues = new Set(['true', '1', 'yes', 'on']);
const falses = new Set(['false', '0', 'no', 'off']);

/** The truth of a boolean value, `otherwise` for an absent or empty one. */
export function networkBool(value: string | undefined, otherwise: boolean): boolean {
  if (value === undefined || value === '') return otherwise;
  return trues.has(value.toLowerCase());
}

export function splitList(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** undefined = fine, else the rule that the value breaks. An empty value means "absent" and is always fine. */
export function networkValueRule(type: NetworkKeyType, value: string): string | undefined {
  if (value === '') return undefined;
  if (value.includes('\0')) return 'must not contain a NUL character';
  switch (type.kind) {
    case 'text':
      return type.multiline !== true && /[\r\n]/.test(value) ? 'must be one line' : undefined;
    case 'bool':
      return trues.has(value.toLowerCase()) || falses.has(value.toLowerCase()) ? undefined : 'must be true or false';
    case 'integer':
      return integerRule(value, type.min, type.max);
    case 'enum':
      return type.values.includes(value) ? undefined : `must be one of ${type.values.join(', ')}`;
    case 'address':
      return addressRule(value, type.family);
    case 'multicast':
      return multicastRule(value);
    case 'cidr':
      return type.words.includes(value) ? undefined : cidrRule(value, type.family, type.words, type.host === true);
    case 'cidr-list':
      return firstBroken(value, (part) => cidrRule(part, type.family, [], false));
    case 'range-list':
      return firstBroken(value, (part) => rangeRule(part, type.family));
    case 'hwaddr':
      return hwaddrRule(value);
    case 'domain':
      return domainRule(value);
    case 'domain-list':
      return firstBroken(value, domainRule) ?? searchLength(value);
    case 'lease-time':
      return /^([1-9][0-9]{0,8}[smhdw]?|infinite)$/.test(value)
        ? undefined
        : 'must be a number with s, m, h, d or w (12h), or infinite';
    case 'interface':
      return interfaceRule(value);
    case 'interface-list':
      return firstBroken(value, interfaceRule);
    default:
      return type satisfies never;
  }
}

function firstBroken(value: string, rule: (part: string) => string | undefined): string | undefined {
  for (const part of value.split(',')) {
    const broken = part.trim() === '' ? 'must not have empty parts between commas' : rule(part.trim());
    if (broken !== undefined) return part.trim() === '' ? broken : `${broken} (in ${JSON.stringify(part.trim())})`;
  }
  return undefined;
}

function integerRule(value: string, min: number, max: number): string | undefined {
  const ok = /^[0-9]{1,10}$/.test(value) && Number(value) >= min && Number(value) <= max;
  return ok ? undefined : `must be a whole number from ${min} to ${max}`;
}

function addressRule(value: string, family: IpFamily | undefined): string | undefined {
  const ip = parseIp(value);
  const ok = ip !== undefined && (family === undefined || ip.family === family);
  return ok ? undefined : `must be an ${family === undefined ? 'IP' : `IPv${family}`} address`;
}

const ipv4Multicast = parseCidr('224.0.0.0/4') as Cidr;
const ipv6Multicast = parseCidr('ff00::/8') as Cidr;

function multicastRule(value: string): string | undefined {
  const ip = parseIp(value);
  const ok = ip !== undefined && containsIp(ip.family === 4 ? ipv4Multicast : ipv6Multicast, ip);
  return ok ? undefined : 'must be a multicast address';
}

function cidrRule(value: string, family: IpFamily, words: readonly string[], host: boolean): string | undefined {
  const cidr = parseCidr(value);
  if (cidr === undefined || cidr.ip.family !== family) {
    const example = family === 4 ? '10.1.2.1/24' : 'fd42:1:2:3::1/64';
    return `must be ${[...words, `an IPv${family} address with prefix length (${example})`].join(' or ')}`;
  }
  if (host && cidr.prefix === 0) return 'must have a prefix length of at least 1';
  if (!host || isHostAddress(cidr)) return undefined;
  const base = family === 4 ? 'the base or broadcast address of its subnet' : 'the base address of its subnet';
  return `must be the address of the bridge, not ${base}`;
}

function rangeRule(value: string, family: IpFamily): string | undefined {
  const range = parseIpRange(value);
  if (range?.first.family === family) return undefined;
  return `must be FIRST-LAST of two IPv${family} addresses in order`;
}

function hwaddrRule(value: string): string | undefined {
  if (!isHwaddr(value)) return 'must be six hex octets (00:16:3e:01:02:03)';
  if ((Number.parseInt(value.slice(0, 2), 16) & 1) === 1) return 'must not be a multicast address (odd first octet)';
  return value === '00:00:00:00:00:00' ? 'must not be all zeros' : undefined;
}

function domainRule(value: string): string | undefined {
  const labels = value.split('.');
  const ok =
    value.length <= 253 && labels.every((label) => /^[a-zA-Z0-9_]([-_a-zA-Z0-9]{0,61}[a-zA-Z0-9])?$/.test(label));
  return ok ? undefined : 'must be a domain name of letters, digits and dashes';
}

/** A DHCP option holds 255 bytes; each name costs its letters and two more. */
function searchLength(value: string): string | undefined {
  const bytes = splitList(value).reduce((sum, name) => sum + name.length + 2, 0);
  return bytes <= 255 ? undefined : `must fit into one DHCP option of 255 bytes, and takes ${bytes}`;
}

function interfaceRule(value: string): string | undefined {
  const ok = /^[^\s/:,]{1,15}$/.test(value) && value !== '.' && value !== '..' && !value.startsWith('-');
  return ok ? undefined : 'must be an interface name of at most 15 characters';
}

/** undefined = fine, else the rule that the name of a managed network breaks. */
export const networkNameRule = networkName;
