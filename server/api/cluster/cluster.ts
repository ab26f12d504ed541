// Cluster membership on the wire (spec 2.16, 4.13; shapes after the real system).
import { Type, type Static } from 'typebox';
import { ConfigMap } from '../schema/common-schemas.ts';
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

/** The joining host's value of a member-specific key. */
export const MemberConfig = Type.Object({
  entity: Type.String(facts({ doc: 'storage-pool or network.' })),
  name: Type.String(),
  key: Type.String(),
  value: Type.String(),
});
export type MemberConfig = Static<typeof MemberConfig>;

export const ClusterPut = Type.Object({
  server_name: Type.Optional(Type.String()),
  enabled: Type.Boolean(),
  cluster_address: Type.Optional(Type.String()),
  cluster_certificate: Type.Optional(Type.String()),
  cluster_password: Type.Optional(Type.String(facts({ secret: true }))),
  /** The token from `POST /1.0/cluster/members` for this host: replaces address, certificate and password. */
  cluster_token: Type.Optional(Type.String(facts({ secret: true }))),
  server_address: Type.Optional(Type.String()),
  member_config: Type.Optional(Type.Array(Type.Record(Type.String(), Type.String()))),
});
export type ClusterPut = Static<typeof ClusterPut>;

/** The new certificate of all members, and its key, in PEM form. */
export const ClusterCertificatePut = Type.Object({
  cluster_certificate: Type.String(facts({ doc: 'Others of a chain may follow it.' })),
  cluster_certificate_key: Type.String(facts({ secret: true, doc: 'Its key, without a passphrase.' })),
});
export type ClusterCertificatePut = Static<typeof ClusterCertificatePut>;

export const ClusterMember = Type.Object({
  server_name: Type.String(),
  url: Type.String(),
  database: Type.Boolean(),
  status: Type.String(),
  message: Type.String(),
  roles: Type.Array(Type.String()),
  failure_domain: Type.String(),
  description: Type.String(),
  config: Type.Record(Type.String(), Type.String()),
  groups: Type.Array(Type.String()),
  architecture: Type.String(),
});
export type ClusterMember = Static<typeof ClusterMember>;
export const ClusterMemberPut = Type.Object({
  roles: Type.Optional(Type.Array(Type.String())),
  failure_domain: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  config: Type.Optional(Type.Union([ConfigMap, Type.Null()])),
  groups: Type.Optional(Type.Array(Type.String())),
});
export type ClusterMemberPut = Static<typeof ClusterMemberPut>;
export const ClusterMemberPost = Type.Object({ server_name: Type.String() });

/** What to do with the containers of a member, and whether it takes new ones. */
export const ClusterMemberStatePost = Type.Object({
  action: Type.String(facts({ doc: 'evacuate or restore.' })),
  mode: Type.Optional(
    Type.String(facts({ doc: 'evacuate: auto, migrate, live-migrate or stop, in place of what each container says.' })),
  ),
  force: Type.Optional(Type.Boolean(facts({ doc: 'Containers are stopped by force.' }))),
});
export type ClusterMemberStatePost = Static<typeof ClusterMemberStatePost>;

/** A restored member requests a container that it had. The name is that of the record. */
export const ClusterReturn = Type.Object({ name: Type.String(), force: Type.Boolean() });
export type ClusterReturn = Static<typeof ClusterReturn>;

/** A member asks another one to take a container. Names are those of records. */
export const ClusterArrival = Type.Object({
  name: Type.String(),
  uuid: Type.String(),
  to: Type.String(),
  pool: Type.String(),
  container_only: Type.Boolean(),
  operation: Type.String(),
  secrets: Type.Object({ control: Type.String(facts({ secret: true })), fs: Type.String(facts({ secret: true })) }),
});
export type ClusterArrival = Static<typeof ClusterArrival>;

/** A member asks another one to send a custom volume to the member `target`, and to delete its own then. The name is that of the record. */
export const ClusterDeparture = Type.Object({ pool: Type.String(), name: Type.String(), target: Type.String() });
export type ClusterDeparture = Static<typeof ClusterDeparture>;

export const ClusterAccept = Type.Object({
  server_name: Type.String(),
  address: Type.String(),
  /** PEM of the certificate that the host serves now: the member checks that it is reached at its address. */
  certificate: Type.String(),
  /** PEM of the certificate that identifies it to the other members. */
  member_certificate: Type.String(),
  version: Type.String(),
  architecture: Type.String(),
  secret: Type.String(facts({ secret: true })),
  member_config: Type.Optional(Type.Array(MemberConfig)),
});
export type ClusterAccept = Static<typeof ClusterAccept>;

/** The keys of the cluster, each share sealed for the certificate of one member. */
export const ClusterKeys = Type.Object({
  v: Type.Literal(1),
  generation: Type.Integer(),
  phase: Type.Union([Type.Literal('trust'), Type.Literal('show'), Type.Literal('drop'), Type.Literal('done')]),
  trusted: Type.Array(Type.Integer()),
  shown: Type.Integer(),
  keyring: Type.String(),
  shares: Type.Record(Type.String(), Type.String()),
  rewritten: Type.Optional(Type.Boolean()),
});
export type ClusterKeys = Static<typeof ClusterKeys>;

export const ClusterAccepted = Type.Object({
  number: Type.Integer(),
  cluster_uuid: Type.String(),
  certificate: Type.String(),
  key: Type.String(facts({ secret: true })),
  store: Type.Object({
    address: Type.String(),
    own: Type.Optional(Type.Boolean()),
    ca: Type.Optional(Type.String()),
    cert: Type.Optional(Type.String()),
    key: Type.Optional(Type.String(facts({ secret: true }))),
    login: Type.Optional(Type.String(facts({ secret: true }))),
  }),
  keys: ClusterKeys,
});
export type ClusterAccepted = Static<typeof ClusterAccepted>;
