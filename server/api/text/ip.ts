// Parses and formats IP addresses and subnets; pure and exact (RFC 4291, RFC 5952), knows no host and no sockets.

export type IpFamily = 4 | 6;

export interface Ip {
  readonly family: IpFamily;
  readonly value: bigint;
}

/** An address with its prefix length; `ip` keeps its host bits (10.0.0.1/24). */
export interface Cidr {
  readonly ip: Ip;
  readonly prefix: number;
}

export function bitsOf(family: IpFamily): 32 | 128 {
  return family === 4 ? 32 : 128;
}

/** undefined unless the text is one whole address; no leading zeros, no zone. */
export function parseIp(text: string): Ip | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

function parseIpv4(text: string): Ip | undefined {
  const parts = text.split('.');
  if (parts.length !== 4) return undefined;
  let value = 0n;
  for (const part of parts) {
    if (!/^(0|[1-9][0-9]{0,2})$/.test(part) || Number(part) > 255) return undefined;
    value = (value << 8n) | BigInt(part);
  }
  return { family: 4, value };
}

function parseIpv6(text: string): Ip | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0] ?? '', halves.length === 1);
  const tail = halves[1] === undefined ? [] : parseGroups(halves[1], true);
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...Array.from({ length: missing }, () => 0), ...tail];
  return { family: 6, value: groups.reduce((value, group) => (value << 16n) | BigInt(group), 0n) };
}

/** The 16-bit groups of one side of `::`; a dotted quad is allowed at the very end of the address. */
function parseGroups(text: string, isEnd: boolean): number[] | undefined {
  if (text === '') return [];
  const groups: number[] = [];
  const parts = text.split(':');
  for (const [index, part] of parts.entries()) {
    if (part.includes('.')) {
      const quad = isEnd && index === parts.length - 1 ? parseIpv4(part) : undefined;
      if (quad === undefined) return undefined;
      groups.push(Number(quad.value >> 16n), Number(quad.value & 0xffffn));
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined;
      groups.push(Number.parseInt(part, 16));
    }
  }
  return groups.length > 8 ? undefined : groups;
}

export function formatIp(ip: Ip): string {
  if (ip.family === 4) return [24n, 16n, 8n, 0n].map((shift) => (ip.value >> shift) & 0xffn).join('.');
  const groups = Array.from({ length: 8 }, (_, i) => Number((ip.value >> BigInt(112 - 16 * i)) & 0xffffn));
  const zeros = longestZeros(groups);
  const hex = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(':');
  if (zeros.length < 2) return hex(groups);
  return `${hex(groups.slice(0, zeros.start))}::${hex(groups.slice(zeros.start + zeros.length))}`;
}

/** First of the longest runs of zero groups (RFC 5952 section 4.2.3). */
function longestZeros(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  for (const [index, group] of groups.entries()) {
    if (group !== 0) start = index + 1;
    else if (index + 1 - start > best.length) best = { start, length: index + 1 - start };
  }
  return best;
}

/** `address/prefix`; undefined without a prefix or with one too long for the family. */
export function parseCidr(text: string): Cidr | undefined {
  const [address = '', prefixText = '', ...rest] = text.split('/');
  const ip = parseIp(address);
  if (ip === undefined || rest.length > 0 || !/^(0|[1-9][0-9]{0,2})$/.test(prefixText)) return undefined;
  const prefix = Number(prefixText);
  return prefix > bitsOf(ip.family) ? undefined : { ip, prefix };
}

export function formatCidr(cidr: Cidr): string {
  return `${formatIp(cidr.ip)}/${cidr.prefix}`;
}

function hostMask(cidr: Cidr): bigint {
  return (1n << BigInt(bitsOf(cidr.ip.family) - cidr.prefix)) - 1n;
}

/** The subnet itself, host bits cleared. */
export function subnetOf(cidr: Cidr): Cidr {
  return { ip: firstOf(cidr), prefix: cidr.prefix };
}

/** Lowest address of the subnet (its base). */
export function firstOf(cidr: Cidr): Ip {
  return { family: cidr.ip.family, value: cidr.ip.value & ~hostMask(cidr) };
}

/** Highest address of the subnet (IPv4: the broadcast address). */
export function lastOf(cidr: Cidr): Ip {
  return { family: cidr.ip.family, value: cidr.ip.value | hostMask(cidr) };
}

export function plus(ip: Ip, count: number | bigint): Ip {
  return { family: ip.family, value: ip.value + BigInt(count) };
}

export function containsIp(cidr: Cidr, ip: Ip): boolean {
  return ip.family === cidr.ip.family && ip.value >= firstOf(cidr).value && ip.value <= lastOf(cidr).value;
}

export function cidrsOverlap(a: Cidr, b: Cidr): boolean {
  return containsIp(a, firstOf(b)) || containsIp(b, firstOf(a));
}

/** True when the address can be assigned to a machine: neither the subnet's base nor (IPv4) its broadcast address. */
export function isHostAddress(cidr: Cidr): boolean {
  const bits = bitsOf(cidr.ip.family);
  if (cidr.prefix >= bits - 1) return true;
  if (cidr.ip.value === firstOf(cidr).value) return false;
  return cidr.ip.family === 6 || cidr.ip.value !== lastOf(cidr).value;
}

export interface IpRange {
  readonly first: Ip;
  readonly last: Ip;
}

/** `A-B` with A <= B of one family. */
export function parseIpRange(text: string): IpRange | undefined {
  const [a = '', b = '', ...rest] = text.split('-');
  const first = parseIp(a.trim());
  const last = parseIp(b.trim());
  if (first === undefined || last === undefined || rest.length > 0) return undefined;
  return first.family === last.family && first.value <= last.value ? { first, last } : undefined;
}

/** Six octets in hex with colons. */
export function isHwaddr(text: string): boolean {
  return /^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$/.test(text);
}

/** The SLAAC address of a hardware address in a /64 (modified EUI-64, RFC 4291 appendix A). */
export function eui64Address(subnet: Cidr, hwaddr: string): Ip {
  const mac = BigInt(`0x${hwaddr.replaceAll(':', '')}`) ^ (2n << 40n);
  const id = ((mac >> 24n) << 40n) | (0xfffen << 24n) | (mac & 0xffffffn);
  return { family: 6, value: firstOf(subnet).value | id };
}
