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

export const NetworkState = Type.Object({
  ...interfaceState,
  bridge: Type.Optional(
    Type.Object(
      {
        id: Type.String(),
        stp: Type.Boolean(),
        forward_delay: Type.Integer(),
        vlan_default: Type.Integer(),
        vlan_filtering: Type.Boolean(),
        upper_devices: Type.Array(Type.String()),
      },
      facts({ doc: 'Bridges only.' }),
    ),
  ),
  bond: Type.Optional(
    Type.Object(
      {
        mode: Type.String(),
        transmit_policy: Type.String(),
        up_delay: Type.Integer(),
        down_delay: Type.Integer(),
        mii_frequency: Type.Integer(),
        mii_state: Type.String(),
        lower_devices: Type.Array(Type.String()),
      },
      facts({ doc: 'Bonds only.' }),
    ),
  ),
  vlan: Type.Optional(
    Type.Object({ lower_device: Type.String(), vid: Type.Integer() }, facts({ doc: 'VLAN interfaces only.' })),
  ),
});
export type NetworkState = Static<typeof NetworkState>;

export const NetworkLease = Type.Object({
  hostname: Type.String(),
  hwaddr: Type.String(),
  address: Type.String(),
  type: Type.String(facts({ doc: 'static, dynamic or gateway.' })),
  location: Type.String(),
});
export type NetworkLease = Static<typeof NetworkLease>;
