// The rules of a network ACL as attributes: converts them, and keeps the spelling of the state.
import { plainRule, type NetworkAclRule } from '../../server/api/network/network-acl.ts';
import { shownRule } from '../../server/client/facts/network-acl.ts';
import { objects, text, type StateOf } from '../framework/attribute.ts';

const ruleAttributes = {
  action: text({ doc: '`allow`, `reject` or `drop`.', required: true }),
  state: text({
    doc: '`enabled`, `logged` (also written to the log of the kernel) or `disabled`.',
    default: 'enabled',
  }),
  description: text({ doc: 'Free text.' }),
  source: text({ doc: 'Addresses, subnets and ranges (FIRST-LAST), separated by commas. Default: any.' }),
  destination: text({ doc: 'Addresses, subnets and ranges (FIRST-LAST), separated by commas. Default: any.' }),
  protocol: text({ doc: '`icmp4`, `icmp6`, `tcp` or `udp`. Default: any.' }),
  source_port: text({ doc: 'Ports and ranges (FIRST-LAST), separated by commas; for tcp and udp.' }),
  destination_port: text({ doc: 'Ports and ranges (FIRST-LAST), separated by commas; for tcp and udp.' }),
  icmp_type: text({ doc: 'Type of the ICMP message, a number; for icmp4 and icmp6.' }),
  icmp_code: text({ doc: 'Code of the ICMP message, a number; for icmp4 and icmp6.' }),
};
export type RuleState = StateOf<typeof ruleAttributes>;

/** A rule in the server's form. */
export const sentRule = (rule: RuleState): NetworkAclRule =>
  plainRule(
    Object.fromEntries(
      Object.entries({ ...rule, state: rule.state ?? 'enabled' }).filter(([, value]) => value !== null),
    ) as NetworkAclRule,
  );

const isSameRule = (a: RuleState, b: RuleState): boolean =>
  JSON.stringify(shownRule(sentRule(a))) === JSON.stringify(shownRule(sentRule(b)));

const areSameRules = (before: readonly RuleState[], after: readonly RuleState[]): boolean =>
  before.length === after.length && before.every((rule, at) => after[at] !== undefined && isSameRule(rule, after[at]));

/** The rules of the server; a rule that is equivalent to the state's keeps the state's spelling. */
export const readRules = (live: readonly NetworkAclRule[], stored: readonly RuleState[] | null): readonly RuleState[] =>
  live.map((rule, at) => {
    const [shown, before] = [shownRule(rule) as RuleState, stored?.[at]];
    return before !== undefined && isSameRule(before, shown) ? before : shown;
  });

export const rulesAttribute = (doc: string) =>
  objects(ruleAttributes, {
    doc: `${doc} Their order has no meaning for what passes.`,
    default: [],
    same: areSameRules,
  });

const shownText = (doc: string) => text({ doc, computed: true });

/** The same as a computed attribute. */
export const shownRulesAttribute = (doc: string) =>
  objects(
    Object.fromEntries(
      Object.entries(ruleAttributes).map(([name, attribute]) => [name, shownText(attribute.doc)]),
    ) as Readonly<Record<keyof typeof ruleAttributes, ReturnType<typeof shownText>>>,
    { doc, computed: true },
  );
