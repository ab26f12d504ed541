// Profiles on the wire (spec 2.11).
import { Type, type Static } from 'typebox';
import { ConfigMap, Description, UsedBy } from '../schema/common-schemas.ts';
import { facts } from '../schema/field.ts';

export const Profile = Type.Object({
  name: Type.String(facts({ immutable: true })),
  description: Description,
  config: Type.Record(Type.String(), Type.String(), facts({ effect: 'live' })),
  devices: Type.Record(Type.String(), ConfigMap, facts({ effect: 'live' })),
  used_by: UsedBy,
});
export type Profile = Static<typeof Profile>;

const writable = {
  description: Type.Optional(Type.String()),
  config: Type.Optional(Type.Union([ConfigMap, Type.Null()])),
  devices: Type.Optional(Type.Union([Type.Record(Type.String(), ConfigMap), Type.Null()])),
};
export const ProfileCreate = Type.Object({ name: Type.String(), ...writable });
export const ProfilePut = Type.Object(writable);
export const RenamePost = Type.Object({ name: Type.String() });
export type ProfileCreate = Static<typeof ProfileCreate>;
export type ProfilePut = Static<typeof ProfilePut>;
