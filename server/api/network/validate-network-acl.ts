// Checks a network ACL, all problems at once; pure.
import { countProblems, maxProblems, type Problem } from '../problem.ts';
import { parseCidr, parseIp, parseIpRange, firstOf, lastOf, type IpFamily, type IpRange } from '../text/ip.ts';
import { shown } from '../text/value-checks.ts';
import {
  freeKey,
  aclActions,
  aclDirections,
  aclProtocols,
  aclStates,
  plainRule,
  type NetworkAcl,
  type NetworkAclRule,
} from './network-acl.ts';

/** Max rules per direction: the rules of a network are sent to the kernel as a whole at each change. */
const maxRules = 1000;
const longestValue = 8192;

/** Empty = valid. */
export function validateNetworkAcl(acl: Pick<NetworkAcl, 'config' | 'egress' | 'ingress'>): readonly Problem[] {
  const problems: Problem[] = [...countProblems('config', acl.config)];
  for (const key of Object.keys(acl.config)) {
    if (freeKey(key) === undefined)
      problems.push({ path: `config.${key}`, message: `${key}: unknown key; free keys start with user.` });
  }
  for (const direction of aclDirections) {
    const rules = acl[direction];
    if (rules.length > maxRules)
      problems.push({ path: direction, message: `has ${rules.length} rules, at most ${maxRules} are possible` });
    else problems.push(...checkRules(direction, rules));
  }
  return problems.slice(0, maxProblems);
}

function checkRules(direction: string, rules: readonly NetworkAclRule[]): readonly Problem[] {
  const seen = new Map<string, number>();
  return rules.flatMap((sent, index) => {
    const rule = plainRule(sent);
    const at = `${direction}.${index}`;
    const text = JSON.stringify(Object.entries(rule).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    const twin = seen.get(text);
    if (twin !== undefined)
      return [{ path: at, message: `is the same as ${direction}.${twin}: leave one of them out` }];
    seen.set(text, index);
    return checkRule(rule).map(([member, message]) => ({ path: `${at}.${member}`, message }));
  });
}

type Broken = readonly [member: keyof NetworkAclRule, message: string];

function checkRule(rule: NetworkAclRule): readonly Broken[] {
  const long = Object.entries(rule).filter(([, value]) => value.length > longestValue || value.includes('\0'));
  if (long.length > 0)
    return long.map(([member]): Broken => [
      member as keyof NetworkAclRule,
      `must have at most ${longestValue} characters and no NUL`,
    ]);
  return [
    ...oneOf('action', rule.action, aclActions),
    ...oneOf('state', rule.state, aclStates),
    ...(rule.protocol === undefined ? [] : oneOf('protocol', rule.protocol, aclProtocols)),
    ...checkSubjects('source', rule.source),
    ...checkSubjects('destination', rule.destination),
    ...checkFamilies(rule),
    ...checkPorts(rule),
    ...checkIcmp(rule),
  ];
}

const oneOf = (member: keyof NetworkAclRule, value: string, words: readonly string[]): readonly Broken[] =>
  words.includes(value) ? [] : [[member, `must be one of ${words.join(', ')}, is ${shown(value)}`]];

export const partsOf = (list: string | undefined): readonly string[] =>
  list === undefined ? [] : list.split(',').map((part) => part.trim());

/** One address, subnet or range, as a range; undefined: none of them. */
export function subjectRange(text: string): IpRange | undefined {
  const ip = parseIp(text);
  if (ip !== undefined) return { first: ip, last: ip };
  const cidr = parseCidr(text);
  return cidr === undefined ? parseIpRange(text) : { first: firstOf(cidr), last: lastOf(cidr) };
}

export const subjectRanges = (list: string | undefined): readonly IpRange[] =>
  partsOf(list).flatMap((part) => subjectRange(part) ?? []);

function checkSubjects(member: 'source' | 'destination', list: string | undefined): readonly Broken[] {
  return partsOf(list).flatMap((part): readonly Broken[] => {
    if (subjectRange(part) !== undefined) return [];
    const isName = /^[@#]?[a-zA-Z][-a-zA-Z0-9]*$/.test(part);
    const why = isName
      ? 'is a name, which only OVN networks know and this server has none: write addresses'
      : 'must be an address, a subnet with prefix length, or a range FIRST-LAST of one family';
    return [[member, `${shown(part)} ${why}`]];
  });
}

const familiesOf = (list: string | undefined): ReadonlySet<IpFamily> =>
  new Set(subjectRanges(list).map(({ first }) => first.family));

/** The only family with the protocol; undefined: both have it. */
export const familyOfProtocol = (protocol: string | undefined): IpFamily | undefined =>
  protocol === 'icmp4' ? 4 : protocol === 'icmp6' ? 6 : undefined;

function checkFamilies({ source, destination, protocol }: NetworkAclRule): readonly Broken[] {
  const [from, to] = [familiesOf(source), familiesOf(destination)];
  const broken: Broken[] = [];
  if (from.size > 0 && to.size > 0 && (from.size !== to.size || [...from].some((family) => !to.has(family))))
    broken.push(['destination', 'must have addresses of the same families (IPv4, IPv6) as source']);
  const only = familyOfProtocol(protocol);
  if (only === undefined) return broken;
  for (const [member, families] of [['source', from] as const, ['destination', to] as const]) {
    if ([...families].some((family) => family !== only))
      broken.push([member, `must have IPv${only} addresses only, since protocol is ${protocol}`]);
  }
  return broken;
}

/** `80` or `8000-8010`; undefined: neither. */
export function portRange(text: string): readonly [first: number, last: number] | undefined {
  if (!/^[0-9]{1,5}(-[0-9]{1,5})?$/.test(text)) return undefined;
  const [first = 0, last = first] = text.split('-').map(Number);
  return first <= last && last <= 65_535 ? [first, last] : undefined;
}

function checkPorts(rule: NetworkAclRule): readonly Broken[] {
  return (['source_port', 'destination_port'] as const).flatMap((member): readonly Broken[] => {
    const list = rule[member];
    if (list === undefined) return [];
    if (rule.protocol !== 'tcp' && rule.protocol !== 'udp') return [[member, 'needs protocol to be tcp or udp']];
    return partsOf(list)
      .filter((part) => portRange(part) === undefined)
      .map((part) => [member, `${shown(part)} must be a port from 0 to 65535 or a range FIRST-LAST`]);
  });
}

function checkIcmp(rule: NetworkAclRule): readonly Broken[] {
  return (['icmp_type', 'icmp_code'] as const).flatMap((member): readonly Broken[] => {
    const value = rule[member];
    if (value === undefined) return [];
    if (familyOfProtocol(rule.protocol) === undefined) return [[member, 'needs protocol to be icmp4 or icmp6']];
    return /^[0-9]{1,3}$/.test(value) && Number(value) <= 255 ? [] : [[member, 'must be a number from 0 to 255']];
  });
}
