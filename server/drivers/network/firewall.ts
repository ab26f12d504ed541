// Renders the nftables rules of one network; pure. One table per network, replaced as a whole in one transaction.
import { formatCidr, subnetOf } from '../../api/text/ip.ts';
import { removal, type Table } from '../nft-tables.ts';
import { aclChains, rulesChain, rulesChainName } from './acl-rules.ts';
import type { FamilyPlan, NetworkPlan } from './config.ts';

export const firewallTable = (name: string): Table => `inet gantry_${name}`;

/** Text for `nft -f -` that puts exactly these rules in place of any earlier ones of this network, atomically.
 *  An accept here cannot undo a drop in another table of the host: nftables asks every chain of a hook. */
export function renderFirewall(plan: NetworkPlan): string {
  const filtered = plan.families.filter((family) => family.firewall);
  const chains = [
    ...chain(
      'net_in',
      'filter',
      'input',
      0,
      filtered.flatMap((family) => inputRules(plan.name, family)),
    ),
    ...chain('net_fwd', 'filter', 'forward', 0, forwardRules(plan.name, filtered)),
    ...(['before', 'after'] as const).flatMap((order) => natChain(plan, order)),
    ...(plan.acls === undefined ? [] : aclChains(plan.name, plan.acls)),
  ];
  return `${removal([firewallTable(plan.name)])}${tableWith(plan.name, chains)}`;
}

/** Text for `nft -f -` that changes the rules of the ACLs alone, in a table that is there with chains for them. The kernel is asked for less
 *  than by a new table: hooks stay. Undefined: the network has no ACLs. */
export const renderRulesChange = ({ name, acls }: NetworkPlan): string | undefined =>
  acls === undefined
    ? undefined
    : `flush chain ${firewallTable(name)} ${rulesChainName}\n${tableWith(name, rulesChain(name, acls))}`;

const tableWith = (name: string, chains: readonly string[]): string =>
  `table ${firewallTable(name)} {\n${chains.map((line) => `  ${line}\n`).join('')}}\n`;

function chain(name: string, type: string, hook: string, priority: number, rules: readonly string[]): string[] {
  if (rules.length === 0) return [];
  const head = `type ${type} hook ${hook} priority ${priority}; policy accept;`;
  return [`chain ${name} {`, `  ${head}`, ...rules.map((rule) => `  ${rule}`), '}'];
}

function inputRules(name: string, family: FamilyPlan): string[] {
  const from = `iifname "${name}" meta nfproto ipv${family.family}`;
  const dhcpPort = family.family === 4 ? 67 : 547;
  const rules = [`${from} udp dport { 53, ${dhcpPort} } accept`, `${from} tcp dport 53 accept`];
  // Neighbour discovery and router solicitation: without them nobody on the bridge finds the router.
  if (family.family === 6) rules.push(`${from} icmpv6 type { 133, 135, 136 } accept`);
  return rules;
}

function forwardRules(name: string, families: readonly FamilyPlan[]): string[] {
  if (families.length === 0) return [];
  // Even frames between two ports of the bridge pass here under br_netfilter; they are not routed.
  const rules = [`iifname "${name}" oifname "${name}" accept`];
  for (const family of families) {
    const verdict = family.routing ? 'accept' : 'reject';
    rules.push(`iifname "${name}" meta nfproto ipv${family.family} ${verdict}`);
    rules.push(`oifname "${name}" meta nfproto ipv${family.family} ${verdict}`);
  }
  return rules;
}

/** The first matching rule wins, so priorities are near 100, where other programs have theirs. */
function natChain(plan: NetworkPlan, order: 'before' | 'after'): string[] {
  const rules = plan.families
    .filter((family) => family.nat && family.natOrder === order)
    .map((family) => {
      const ip = family.family === 4 ? 'ip' : 'ip6';
      const subnet = formatCidr(subnetOf(family.address));
      const leave = family.natAddress === undefined ? 'masquerade' : `snat ${ip} to ${family.natAddress}`;
      return `${ip} saddr ${subnet} ${ip} daddr != ${subnet} ${leave}`;
    });
  return chain(`net_nat_${order}`, 'nat', 'postrouting', order === 'before' ? 95 : 105, rules);
}
