// The facts of a network ACL in data sources: rules without unset members.
import { ruleMembers, type NetworkAcl, type NetworkAclRule } from '../../api/network/network-acl.ts';
import { at, get, present, type Ask } from './ask.ts';

type ShownRule = Readonly<Record<keyof NetworkAclRule, string | null>>;

/** Every member of a rule, null if unset. */
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
