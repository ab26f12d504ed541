// The facts of a network ACL that data sources show: rules without members that are not set.
import { ruleMembers, type NetworkAcl, type NetworkAclRule } from '../../api/network/network-acl.ts';
import { at, get, present, type Ask } from './ask.ts';

type ShownRule = Readonly<Record<keyof NetworkAclRule, string | null>>;

/** Every member of a rule, null where it has no value. */
export const shownRule = (rule: NetworkAclRule): ShownRule =>
  Object.fromEntries(ruleMembers.map((member) => [member, rule[member] ?? null])) as ShownRule;

export async function networkAcl(ask: Ask, { name }: { readonly name: string }) {
  const { description, config, ingress, egress, used_by: users } = await get<NetworkAcl>(ask, at('network-acls', name));
  return {
    description,
    config: present(config),
    ingress: ingress.map(shownRule),
    egress: egress.map(shownRule),
    used_by: users ?? [],
  };
}
