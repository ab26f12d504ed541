// Renders the nftables chains of a network's ACLs; pure. They filter what passes between the network and the host or other networks,
// never what containers of the network send each other.
import { formatIp, type IpFamily, type IpRange } from '../../api/text/ip.ts';
import { aclActions, aclDirections } from '../../api/network/network-acl.ts';
import type { AclAction, AclDirection, NetworkAclRule } from '../../api/network/network-acl.ts';
import { familyOfProtocol, partsOf, subjectRanges } from '../../api/network/validate-network-acl.ts';

export interface NamedAcl {
  readonly name: string;
  readonly ingress: readonly NetworkAclRule[];
  readonly egress: readonly NetworkAclRule[];
}

/** The fate of packets that no rule matches. */
export interface AclDefault {
  readonly action: AclAction;
  readonly logged: boolean;
}

export interface AclPlan {
  readonly acls: readonly NamedAcl[];
  readonly defaults: Readonly<Record<AclDirection, AclDefault>>;
}

/** The chains, without the table around them. */
export function aclChains(network: string, plan: AclPlan): readonly string[] {
  const [from, to] = [`iifname "${network}"`, `oifname "${network}"`];
  return [
    ...rulesChain(network, plan),
    ...block('acl_in', [hook('input'), ...serviceRules(from, 'in'), `${from} jump acl`]),
    ...block('acl_out', [hook('output'), ...serviceRules(to, 'out'), `${to} jump acl`]),
    // Under br_netfilter, frames between two ports of the bridge pass here too.
    ...block('acl_fwd', [hook('forward'), `${from} ${to} accept`, `${from} jump acl`, `${to} jump acl`]),
  ];
}

/** The one chain that depends on rules and defaults. */
export const rulesChain = (network: string, plan: AclPlan): readonly string[] =>
  block(rulesChainName, [
    'ct state established,related accept',
    ...aclActions.flatMap((action) => rulesOf(network, plan, action)),
    ...aclDirections.map((direction) => defaultRule(network, direction, plan.defaults[direction])),
  ]);

export const rulesChainName = 'acl';

const hook = (name: string): string => `type filter hook ${name} priority 0; policy accept;`;
const block = (name: string, rules: readonly string[]): readonly string[] => [
  `chain ${name} {`,
  ...rules.map((rule) => `  ${rule}`),
  '}',
];

/** Traffic that a network always needs, whatever its ACLs: DHCP, DNS, neighbour discovery, ICMP errors. */
function serviceRules(at: string, way: 'in' | 'out'): readonly string[] {
  const port = way === 'in' ? 'dport' : 'sport';
  const neighbours = way === 'in' ? 'nd-router-solicit' : 'echo-request, nd-router-advert';
  return [
    ...(way === 'in' ? [`${at} tcp dport 53 accept`, `${at} udp dport 53 accept`] : []),
    `${at} udp ${port} { 67, 547 } accept`,
    `${at} icmp type { destination-unreachable, time-exceeded, parameter-problem } accept`,
    `${at} icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem, ${neighbours}, nd-neighbor-solicit, nd-neighbor-advert, mld2-listener-report } accept`,
  ];
}

const families: readonly (IpFamily | undefined)[] = [4, 6, undefined];

function rulesOf(network: string, { acls }: AclPlan, action: AclAction): readonly string[] {
  return acls.flatMap((acl) =>
    aclDirections.flatMap((direction) =>
      acl[direction].flatMap((rule, index) => {
        if (rule.action !== action || rule.state === 'disabled') return [];
        const log = rule.state === 'logged' ? logTo(`${network}-${acl.name}-${direction}-${index}`) : '';
        return families.flatMap((family) => {
          const match = matchOf(rule, family);
          return match === undefined ? [] : [`${interfaceOf(network, direction)} ${match}${log}${verdictOf(action)}`];
        });
      }),
    ),
  );
}

/** Egress is traffic from containers: it enters through the bridge. */
const interfaceOf = (network: string, direction: AclDirection): string =>
  `${direction === 'egress' ? 'iifname' : 'oifname'} "${network}"`;

const logTo = (prefix: string): string => `log prefix "${prefix} " `;
const verdictOf = (action: AclAction): string => (action === 'allow' ? 'accept' : action);

const defaultRule = (network: string, direction: AclDirection, { action, logged }: AclDefault): string =>
  `${interfaceOf(network, direction)} ${logged ? logTo(`${network}-default-${direction}`) : ''}${verdictOf(action)}`;

/** The rule for packets of that family, with a trailing space; undefined if it has none. A rule without addresses applies to both. */
function matchOf(rule: NetworkAclRule, family: IpFamily | undefined): string | undefined {
  const [from, to] = [subjectRanges(rule.source), subjectRanges(rule.destination)];
  const isOfOne = from.length + to.length > 0;
  if (isOfOne !== (family !== undefined)) return undefined;
  const sides = [
    ['saddr', from],
    ['daddr', to],
  ] as const;
  const parts: string[] = [];
  for (const [side, ranges] of sides) {
    if (ranges.length === 0) continue;
    const own = ranges.filter(({ first }) => first.family === family);
    if (own.length === 0) return undefined;
    parts.push(`${family === 4 ? 'ip' : 'ip6'} ${side} { ${own.map(rangeText).join(', ')} }`);
  }
  return [...parts, ...protocolMatch(rule)].map((part) => `${part} `).join('');
}

const rangeText = ({ first, last }: IpRange): string =>
  first.value === last.value ? formatIp(first) : `${formatIp(first)}-${formatIp(last)}`;

function protocolMatch(rule: NetworkAclRule): readonly string[] {
  const { protocol } = rule;
  if (protocol === undefined) return [];
  if (familyOfProtocol(protocol) !== undefined) {
    const icmp = protocol === 'icmp4' ? 'icmp' : 'icmpv6';
    const is = protocol === 'icmp4' ? 'ip protocol icmp' : 'meta nfproto ipv6 meta l4proto ipv6-icmp';
    const type = rule.icmp_type === undefined ? [] : [`${icmp} type ${Number(rule.icmp_type)}`];
    const code = rule.icmp_code === undefined ? [] : [`${icmp} code ${Number(rule.icmp_code)}`];
    return [is, ...type, ...code];
  }
  return [
    `meta l4proto ${protocol}`,
    ...portMatch(protocol, 'sport', rule.source_port),
    ...portMatch(protocol, 'dport', rule.destination_port),
  ];
}

const portMatch = (protocol: string, side: 'sport' | 'dport', list: string | undefined): readonly string[] =>
  list === undefined ? [] : [`${protocol} ${side} { ${partsOf(list).map(portText).join(', ')} }`];

/** nft reads a number with a leading zero as octal. */
const portText = (range: string): string => range.split('-').map(Number).join('-');
