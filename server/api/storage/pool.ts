// Storage pools on the wire (spec 2.13).
import { Type, type Static } from 'typebox';
import { Description, describedBody, MemberOverrides, UsedBy } from '../schema/common-schemas.ts';
import { facts } from '../schema/field.ts';
import { poolDrivers } from './pool-drivers.ts';

export { poolDrivers };

export const StoragePool = Type.Object({
  name: Type.String(facts({ immutable: true })),
  description: Description,
  driver: Type.String(facts({ immutable: true, doc: poolDrivers.join(', ') })),
  config: Type.Record(Type.String(), Type.String(), facts({ effect: 'live' })),
  status: Type.String(facts({ computed: true })),
  locations: Type.Array(Type.String(), facts({ computed: true })),
  used_by: UsedBy,
});
export type StoragePool = Static<typeof StoragePool>;

export const StoragePoolCreate = Type.Object({
  name: Type.String(),
  driver: Type.String(),
  member_overrides: MemberOverrides,
  ...describedBody,
});
export const StoragePoolPut = Type.Object(describedBody);
export type StoragePoolCreate = Static<typeof StoragePoolCreate>;
export type StoragePoolPut = Static<typeof StoragePoolPut>;

export const PoolResources = Type.Object({
  space: Type.Object({ used: Type.Integer(), total: Type.Integer() }),
  inodes: Type.Object({ used: Type.Integer(), total: Type.Integer() }),
});
