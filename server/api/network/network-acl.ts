// Network ACLs on the wire: named rules that networks apply to traffic with the host or other networks.
import { Type, type Static } from 'typebox';
import { ConfigMap, Description, UsedBy } from '../schema/common-schemas.ts';
import { facts } from '../schema/field.ts';

export const aclActions = ['drop', 'reject', 'allow'] as const;
export type AclAction = (typeof aclActions)[number];
export const aclStates = ['enabled', 'disabled', 'logged'] as const;
export const aclProtocols = ['icmp4', 'icmp6', 'tcp', 'udp'] as const;
export const aclDirections = ['ingress', 'egress'] as const;
export type AclDirection = (typeof aclDirections)[number];

const optionalText = (doc: string) => Type.Optional(Type.String(facts({ doc })));

export const NetworkAclRule = Type.Object({
  action: Type.String(facts({ doc: 'allow, reject or drop.' })),
  state: Type.String(facts({ doc: 'enabled, logged (also written to the log of the kernel) or disabled.' })),
  description: optionalText('Free text for people.'),
  source: optionalText('Addresses, subnets and ranges (FIRST-LAST), separated by commas. Absent: any.'),
  destination: optionalText('Addresses, subnets and ranges (FIRST-LAST), separated by commas. Absent: any.'),
  protocol: optionalText('icmp4, icmp6, tcp or udp. Absent: any.'),
  source_port: optionalText('Ports and ranges (FIRST-LAST), separated by commas; for tcp and udp.'),
  destination_port: optionalText('Ports and ranges (FIRST-LAST), separated by commas; for tcp and udp.'),
  icmp_type: optionalText('Type of the ICMP message, a number; for icmp4 and icmp6.'),
  icmp_code: optionalText('Code of the ICMP message, a number; for icmp4 and icmp6.'),
});
export type NetworkAclRule = Readonly<Static<typeof NetworkAclRule>>;
export const ruleMembers = Object.keys(NetworkAclRule.properties) as readonly (keyof NetworkAclRule)[];

export const NetworkAcl = Type.Object({
  name: Type.String(facts({ immutable: true })),
  description: Description,
  ingress: Type.Array(NetworkAclRule, facts({ effect: 'live', doc: 'Rules for what comes to the containers.' })),
  egress: Type.Array(NetworkAclRule, facts({ effect: 'live', doc: 'Rules for what the containers send.' })),
  config: Type.Record(Type.String(), Type.String(), facts({ effect: 'live', doc: 'Keys that start with user.' })),
  used_by: UsedBy,
});
export type NetworkAcl = Static<typeof NetworkAcl>;

const writable = {
  description: Type.Optional(Type.String()),
  ingress: Type.Optional(Type.Union([Type.Array(NetworkAclRule), Type.Null()])),
  egress: Type.Optional(Type.Union([Type.Array(NetworkAclRule), Type.Null()])),
  config: Type.Optional(Type.Union([ConfigMap, Type.Null()])),
};
export const NetworkAclCreate = Type.Object({ name: Type.String(), ...writable });
export const NetworkAclPut = Type.Object(writable);
export type NetworkAclCreate = Static<typeof NetworkAclCreate>;
export type NetworkAclPut = Static<typeof NetworkAclPut>;

/** The stored form of a member: without spaces around it and, except in a description, around the parts of a list. */
export const plainMember = (member: string, value: string): string =>
  member === 'description'
    ? value.trim()
    : value
        .split(',')
        .map((part) => part.trim())
        .join(',');

/** The free part of a key, the only kind of key; undefined if it is none. */
export const freeKey = (key: string): string | undefined => /^user\.(.*)/s.exec(key)?.[1];

/** The stored form: plain members, without empty ones. */
export const plainRule = (rule: NetworkAclRule): NetworkAclRule =>
  Object.fromEntries(
    Object.entries(rule).flatMap(([member, value]) => {
      const text = plainMember(member, value);
      return text === '' && member !== 'action' && member !== 'state' ? [] : [[member, text]];
    }),
  ) as NetworkAclRule;
