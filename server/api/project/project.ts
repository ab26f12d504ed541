// Projects on the wire (spec 4.14; shapes after the real system).
import { Type, type Static } from 'typebox';
import { ConfigMap, Description, UsedBy } from '../schema/common-schemas.ts';

export const Project = Type.Object({
  name: Type.String(),
  description: Description,
  config: ConfigMap,
  used_by: UsedBy,
});
export const ProjectPut = Type.Object({ description: Type.Optional(Type.String()), config: Type.Optional(ConfigMap) });
export const ProjectCreate = Type.Object({
  name: Type.String(),
  description: Type.Optional(Type.String()),
  config: Type.Optional(ConfigMap),
});
/** Limit -1: none. LXD's names of members. */
export const ProjectState = Type.Object({
  resources: Type.Record(Type.String(), Type.Object({ Limit: Type.Integer(), Usage: Type.Integer() })),
});
export type Project = Static<typeof Project>;
export type ProjectPut = Static<typeof ProjectPut>;
export type ProjectCreate = Static<typeof ProjectCreate>;
export type ProjectState = Static<typeof ProjectState>;
