// Checks values of network config keys, by the type of the key.
import {
  containsIp,
  isHostAddress,
  isHwaddr,
  parseCidr,
  parseIp,
  parseIpRange,
  type Cidr,
  type IpFamily,
} from '../text/ip.ts';
import { networkAclName } from '../names.ts';
import { manyLines } from '../text/value-checks.ts';

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
  | { readonly kind: 'acl-list' }
  | { readonly kind: 'hwaddr' }
  | { readonly kind: 'domain' }
  | { readonly kind: 'domain-list' }
  | { readonly kind: 'lease-time' }
  | { readonly kind: 'interface' }
  | { readonly kind: 'interface-list' };

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

/** undefined if valid, else the rule that the value breaks. An empty value means "absent" and is always valid. */
export function networkValueRule(type: NetworkKeyType, value: string): string | undefined {
  if (value === '') return undefined;
  const broken = manyLines(value);
  if (broken !== undefined) return broken;
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
    case 'acl-list':
      return firstBroken(value, networkAclName) ?? twiceRule(value);
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

function twiceRule(value: string): string | undefined {
  const twin = splitList(value).find((name, index, all) => all.indexOf(name) < index);
  return twin === undefined ? undefined : `must name each once, and names ${twin} twice`;
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

/** A DHCP option holds 255 bytes; each name takes its letters and two more. */
function searchLength(value: string): string | undefined {
  const bytes = splitList(value).reduce((sum, name) => sum + name.length + 2, 0);
  return bytes <= 255 ? undefined : `must fit into one DHCP option of 255 bytes, and takes ${bytes}`;
}

function interfaceRule(value: string): string | undefined {
  const ok = /^[^\s/:,]{1,15}$/.test(value) && value !== '.' && value !== '..' && !value.startsWith('-');
  return ok ? undefined : 'must be an interface name of at most 15 characters';
}
