// Networks on the wire (spec 2.12; state and leases after the real system).
import { Type, type Static } from 'typebox';
import { Description, describedBody, interfaceState, MemberOverrides, UsedBy } from '../schema/common-schemas.ts';
import { facts } from '../schema/field.ts';

export const Network = Type.Object({
  name: Type.String(facts({ immutable: true })),
  description: Description,
  type: Type.String(facts({ immutable: true, doc: 'bridge for managed networks.' })),
  config: Type.Record(Type.String(), Type.String(), facts({ effect: 'live' })),
  managed: Type.Boolean(facts({ computed: true })),
  status: Type.String(facts({ computed: true, doc: 'Created, Pending or Errored; empty when unmanaged.' })),
  locations: Type.Array(Type.String(), facts({ computed: true })),
  used_by: UsedBy,
});
export type Network = Static<typeof Network>;

export const NetworkCreate = Type.Object({
  name: Type.String(),
  type: Type.Optional(Type.String()),
  managed: Type.Optional(Type.Boolean()),
  member_overrides: MemberOverrides,
  ...describedBody,
});
export const NetworkPut = Type.Object(describedBody);
export type NetworkCreate = Static<typeof NetworkCreate>;
export type NetworkPut = Static<typeof NetworkPut>;

export const NetworkState = Type.Object(interfaceState);

export const NetworkLease = Type.Object({
  hostname: Type.String(),
  hwaddr: Type.String(),
  address: Type.String(),
  type: Type.String(facts({ doc: 'static, dynamic or gateway.' })),
  location: Type.String(),
});
export type NetworkLease = Static<typeof NetworkLease>;
