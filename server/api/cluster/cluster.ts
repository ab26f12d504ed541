// Cluster membership on the wire (spec 2.16, 4.13; shapes after the real system).
import { Type, type Static } from 'typebox';
import { facts } from '../schema/field.ts';

export const Cluster = Type.Object({
  server_name: Type.String(),
  enabled: Type.Boolean(),
  member_config: Type.Array(
    Type.Object({
      entity: Type.String(),
      name: Type.String(),
      key: Type.String(),
      value: Type.String(),
      description: Type.String(),
    }),
  ),
});
export type Cluster = Static<typeof Cluster>;

export const ClusterPut = Type.Object({
  server_name: Type.Optional(Type.String()),
  enabled: Type.Boolean(),
  cluster_address: Type.Optional(Type.String()),
  cluster_certificate: Type.Optional(Type.String()),
  cluster_password: Type.Optional(Type.String(facts({ secret: true }))),
  server_address: Type.Optional(Type.String()),
  member_config: Type.Optional(Type.Array(Type.Record(Type.String(), Type.String()))),
});
export type ClusterPut = Static<typeof ClusterPut>;

export const ClusterMember = Type.Object({
  server_name: Type.String(),
  url: Type.String(),
  database: Type.Boolean(),
  status: Type.String(),
  message: Type.String(),
});
export const ClusterMemberPost = Type.Object({ server_name: Type.String() });
