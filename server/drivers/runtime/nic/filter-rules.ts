// Renders the nftables rules that restrict nics of containers to their own addresses. Pure: builds text, runs nothing. Per daemon one table
// for nics on bridges and one for routed nics: a map from the host interface to the chain of its nic, so that neither a packet nor a change
// costs more with many nics.
import { createHash } from 'node:crypto';
import { bitsOf, eui64Address, firstOf, formatCidr, formatIp, parseCidr, parseIp } from '../../../api/text/ip.ts';
import type { Cidr } from '../../../api/text/ip.ts';
import type { NicRun } from '../../device-parts.ts';
import { removal, type Table } from '../../nft-tables.ts';
import { checkNicNames } from './commands.ts';

/** `tag` distinguishes the daemons of one host. */
export const filterTable = (tag: string, family: FilterFamily): Table => `${family} gantrynic_${tag}`;

const chainOf = (hostName: string): string => `nic_${createHash('sha256').update(hostName).digest('hex').slice(0, 12)}`;

export const isFiltered = (nic: NicRun): boolean =>
  nic.kind === 'veth' &&
  (nic.macFilter === true || nic.ipFilter !== undefined || nic.isolated === true || nic.routing !== undefined);

export type FilterFamily = 'bridge' | 'inet';

/** Where the host sees the frames of a nic. */
export const filterFamily = (nic: NicRun): FilterFamily => (nic.routing === undefined ? 'bridge' : 'inet');

/** Rules that replace the filter of a nic in one transaction. The interface need not exist. */
export function setFilter(nic: NicRun, tag: string): string {
  checkNicNames(nic);
  const family = filterFamily(nic);
  const table = filterTable(tag, family);
  return lines([...frame(table, family), ...dropped(nic, table), ...added(nic, table)]);
}

export function removeFilter(nic: NicRun, tag: string): string {
  checkNicNames(nic);
  const family = filterFamily(nic);
  const table = filterTable(tag, family);
  return lines([...frame(table, family), ...dropped(nic, table)]);
}

/** The rules that replace all filters of one family with those of exactly these nics, in one transaction. */
export function allFilters(nics: readonly NicRun[], tag: string, family: FilterFamily): string {
  const table = filterTable(tag, family);
  nics.forEach(checkNicNames);
  if (nics.length === 0) return removal([table]);
  return removal([table]) + lines([...frame(table, family), ...nics.flatMap((nic) => added(nic, table))]);
}

const lines = (list: readonly string[]): string => list.map((line) => `${line}\n`).join('');

/** Common to all nics. Filters frames where they enter the bridge, before it learns their source address. Frames to link-local addresses
 *  (01:80:c2:00:00:0x) skip that hook, so they are filtered where the bridge receives them. */
function frame(table: Table, family: FilterFamily): string[] {
  const chain = (name: string, hook: string, rule: string): string[] => [
    `add chain ${table} ${name} { type filter hook ${hook}; policy accept; }`,
    `flush chain ${table} ${name}`,
    `add rule ${table} ${name} ${rule}`,
  ];
  return [
    `add table ${table}`,
    `add map ${table} ports { type ifname : verdict; }`,
    `add set ${table} isolated { type ifname; }`,
    ...chain('entering', 'prerouting priority -300', 'iifname vmap @ports'),
    ...(family === 'inet' ? [] : onBridges(chain)),
  ];
}

function onBridges(chain: (name: string, hook: string, rule: string) => string[]): string[] {
  return [
    ...chain(
      'received',
      'input priority -300',
      'ether daddr & ff:ff:ff:ff:ff:f0 == 01:80:c2:00:00:00 iifname vmap @ports',
    ),
    ...chain('between', 'forward priority -200', 'iifname @isolated oifname @isolated drop'),
  ];
}

/** Deleting a missing object fails, so each is added first. */
function dropped(nic: NicRun, table: Table): string[] {
  const chain = chainOf(nic.hostName);
  const port = `element ${table} ports { "${nic.hostName}" : jump ${chain} }`;
  const isolated = `element ${table} isolated { "${nic.hostName}" }`;
  return [
    `add chain ${table} ${chain}`,
    `add ${port}`,
    `delete ${port}`,
    `add ${isolated}`,
    `delete ${isolated}`,
    `flush chain ${table} ${chain}`,
    `delete chain ${table} ${chain}`,
  ];
}

function added(nic: NicRun, table: Table): string[] {
  const chain = chainOf(nic.hostName);
  return [
    `add chain ${table} ${chain}`,
    ...(nic.routing === undefined ? filterRules(nic) : routedRules(nic)).map(
      (rule) => `add rule ${table} ${chain} ${rule}`,
    ),
    `add element ${table} ports { "${nic.hostName}" : jump ${chain} }`,
    ...(nic.isolated === true ? [`add element ${table} isolated { "${nic.hostName}" }`] : []),
  ];
}

function filterRules(nic: NicRun): string[] {
  const { ipv4, ipv6 } = nic.ipFilter ?? {};
  const hasIpFilter = ipv4 !== undefined || ipv6 !== undefined;
  if (nic.hwaddr === undefined || (nic.macFilter !== true && !hasIpFilter)) return [];
  const subnets = (nic.routes ?? []).flatMap((text) => parseCidr(text) ?? []);
  return [
    `ether saddr != ${nic.hwaddr} drop`,
    `arp saddr ether != ${nic.hwaddr} drop`,
    // A VLAN tag would hide the addresses from the rules below, but not from every receiver.
    ...(hasIpFilter ? ['ether type != { arp, ip, ip6 } drop'] : []),
    ...(ipv4 === undefined
      ? []
      : ipv4Rules([...ipv4.flatMap(hostCidr), ...subnets.filter((one) => one.ip.family === 4)])),
    ...(ipv6 === undefined
      ? []
      : ipv6Rules(
          ipv6 === 'none' ? 'none' : ownIpv6(ipv6, nic.hwaddr),
          subnets.filter((one) => one.ip.family === 6),
        )),
  ];
}

/** What a cable to a router may send: its addresses, what is behind it, and what IPv6 needs on the link. */
function routedRules(nic: NicRun): string[] {
  const subnets = (nic.routes ?? []).flatMap((text) => parseCidr(text) ?? []);
  const own = [...(nic.routing?.addresses ?? []).flatMap(hostCidr), ...subnets];
  const allowed = (family: 4 | 6): readonly Cidr[] => own.filter(({ ip }) => ip.family === family);
  const link = ['fe80::/10', '::/128'].flatMap((text) => parseCidr(text) ?? []);
  return [
    allowed(4).length === 0 ? 'meta nfproto ipv4 drop' : `ip saddr != ${setOf(allowed(4))} drop`,
    `ip6 saddr != ${setOf([...allowed(6), ...link])} drop`,
  ];
}

function hostCidr(text: string): Cidr[] {
  const ip = parseIp(text);
  return ip === undefined ? [] : [{ ip, prefix: bitsOf(ip.family) }];
}

/** `own`: addresses of the nic and subnets that the host routes to it. */
function ipv4Rules(own: readonly Cidr[]): string[] {
  if (own.length === 0) return ['ether type { arp, ip } drop'];
  const set = setOf(own);
  return [
    // A probe whether the own address is in use.
    `arp saddr ip 0.0.0.0 arp daddr ip ${set} accept`,
    `arp saddr ip != ${set} drop`,
    'ip saddr 0.0.0.0 ip daddr 255.255.255.255 udp sport 68 udp dport 67 accept',
    // Only the host is a DHCP server.
    'ether type ip udp sport 67 drop',
    `ip saddr != ${set} drop`,
  ];
}

function ipv6Rules(own: readonly Cidr[] | 'none', subnets: readonly Cidr[]): string[] {
  if (own === 'none' && subnets.length === 0) return ['ether type ip6 drop'];
  const hosts = own === 'none' ? [] : own;
  const targets = [targetIn(hosts), ...subnets.map(targetPrefix)];
  return [
    // Neither a router nor a redirect.
    'icmpv6 type { 134, 137 } drop',
    'ether type ip6 udp sport 547 drop',
    // Before an address is assigned: duplicate address detection, and multicast reports.
    ...targets.map((target) => `ip6 saddr :: icmpv6 type 135 ${target} accept`),
    'ip6 saddr :: icmpv6 type { 131, 143 } accept',
    `ip6 saddr != ${setOf([...hosts, ...subnets])} drop`,
    ...targets.map((target) => `icmpv6 type 136 ${target} accept`),
    'icmpv6 type 136 drop',
  ];
}

/** The given addresses, and those that the container's kernel derives from the hardware address: link-local, and in the same /64 subnets. */
function ownIpv6(addresses: readonly string[], hwaddr: string): readonly Cidr[] {
  const assigned = addresses.flatMap(hostCidr);
  const link = parseCidr('fe80::/64');
  const subnets = [...(link === undefined ? [] : [link]), ...assigned.map(({ ip }) => ({ ip, prefix: 64 }))];
  const made = subnets.map((subnet) => ({ ip: eui64Address(subnet, hwaddr), prefix: 128 }));
  const all = [...assigned, ...made];
  return all.filter(({ ip }, index) => all.findIndex((other) => other.ip.value === ip.value) === index);
}

const setOf = (cidrs: readonly Cidr[]): string =>
  `{ ${cidrs.map((cidr) => (cidr.prefix === bitsOf(cidr.ip.family) ? formatIp(cidr.ip) : formatCidr({ ip: firstOf(cidr), prefix: cidr.prefix }))).join(', ')} }`;

const hex = (value: bigint, bits: number): string => `0x${value.toString(16).padStart(bits / 4, '0')}`;

/** The target address of neighbour discovery is at offset 8 of the message. */
const targetIn = (hosts: readonly Cidr[]): string =>
  `@th,64,128 { ${hosts.map(({ ip }) => hex(ip.value, 128)).join(', ')} }`;

function targetPrefix({ ip, prefix }: Cidr): string {
  return `@th,64,${prefix} ${hex(ip.value >> BigInt(128 - prefix), Math.ceil(prefix / 4) * 4)}`;
}
