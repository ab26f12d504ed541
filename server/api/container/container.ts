// Containers on the wire: the object, its creation source, its state (spec 2.5, 2.6).
import { Type, type Static } from 'typebox';
import { ConfigMap, containerCounters, Description, DeviceMap, interfaceState } from '../schema/common-schemas.ts';
import { facts } from '../schema/field.ts';
import { Snapshot } from './snapshot.ts';

export const Container = Type.Object({
  name: Type.String(
    facts({ doc: 'At most 64 printable ASCII characters, no slash, colon, comma or space.', immutable: true }),
  ),
  architecture: Type.String(facts({ doc: 'Kernel architecture name, such as x86_64.', effect: 'recreate' })),
  profiles: Type.Array(Type.String(), facts({ doc: 'Applied in order, later ones win.', effect: 'live' })),
  ephemeral: Type.Boolean(facts({ doc: 'Deleted when it stops.', effect: 'live' })),
  config: Type.Record(Type.String(), Type.String(), facts({ doc: 'Local config, over that of the profiles.' })),
  devices: Type.Record(
    Type.String(),
    ConfigMap,
    facts({ doc: 'Local devices, each replacing the one of that name in profiles.' }),
  ),
  expanded_config: Type.Record(
    Type.String(),
    Type.String(),
    facts({ computed: true, doc: 'Profiles and local config merged.' }),
  ),
  expanded_devices: Type.Record(
    Type.String(),
    ConfigMap,
    facts({ computed: true, doc: 'Profiles and local devices merged.' }),
  ),
  created_at: Type.String(facts({ computed: true })),
  last_used_at: Type.String(facts({ computed: true, since: 'container_last_used_at' })),
  stateful: Type.Boolean(facts({ computed: true, doc: 'A checkpoint can be restored at start.' })),
  status: Type.String(facts({ computed: true })),
  status_code: Type.Integer(facts({ computed: true })),
  description: Description,
  location: Type.String(facts({ computed: true, doc: 'Cluster member; none when not clustered.' })),
  project: Type.Optional(Type.String(facts({ computed: true, doc: 'The project that it belongs to.' }))),
});
export type Container = Static<typeof Container>;

const AllowInconsistent = Type.Optional(
  Type.Boolean(
    facts({
      doc: 'copy, migration: files of a running container may change or vanish meanwhile, as they always may here.',
      since: 'instance_allow_inconsistent_copy',
    }),
  ),
);

const migrationFields = {
  operation: Type.Optional(Type.String()),
  certificate: Type.Optional(Type.String(facts({ doc: 'The one certificate of that server to accept, PEM.' }))),
  'base-image': Type.Optional(Type.String()),
  container_only: Type.Optional(Type.Boolean(facts({ doc: 'copy: without the snapshots.' }))),
  instance_only: Type.Optional(Type.Boolean(facts({ doc: 'The same as container_only, under its newer name.' }))),
  live: Type.Optional(Type.Boolean()),
  refresh: Type.Optional(Type.Boolean()),
  allow_inconsistent: AllowInconsistent,
  secrets: Type.Optional(Type.Record(Type.String(), Type.String())),
};

/** Spec 2.5.1. One flat object, since clients send leftovers of one form with another; `type` decides which members apply. */
export const ContainerSource = Type.Object({
  type: Type.String(facts({ doc: 'image, migration, copy or none.' })),
  alias: Type.Optional(Type.String(facts({ doc: 'Name of the image.' }))),
  fingerprint: Type.Optional(Type.String(facts({ doc: 'The image itself; a prefix of its fingerprint is enough.' }))),
  properties: Type.Optional(
    Type.Record(Type.String(), Type.String(), facts({ doc: 'image: the newest image that has all these properties.' })),
  ),
  mode: Type.Optional(Type.String(facts({ doc: 'image: local (default) or pull; migration: pull or push.' }))),
  server: Type.Optional(Type.String(facts({ doc: 'image: the server that has it, https://HOST[:PORT].' }))),
  protocol: Type.Optional(Type.String(facts({ doc: 'Protocol of that server: lxd, svc or simplestreams.' }))),
  secret: Type.Optional(Type.String(facts({ secret: true, doc: 'image: opens a private image.' }))),
  source: Type.Optional(Type.String(facts({ doc: 'copy: name of the source container.' }))),
  project: Type.Optional(Type.String(facts({ doc: 'copy: project of the source container.' }))),
  ...migrationFields,
});
export type ContainerSource = Static<typeof ContainerSource>;

const optionalMap = Type.Optional(Type.Union([ConfigMap, Type.Null()]));
const optionalDevices = Type.Optional(Type.Union([DeviceMap, Type.Null()]));
const optionalProfiles = Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()]));

const written = {
  architecture: Type.Optional(Type.String()),
  profiles: optionalProfiles,
  ephemeral: Type.Optional(Type.Boolean()),
  config: optionalMap,
  devices: optionalDevices,
  description: Type.Optional(Type.String()),
};

/** POST /1.0/containers. `profiles` absent or null = [default]; [] = none. */
export const ContainerCreate = Type.Object({
  name: Type.Optional(Type.String()),
  ...written,
  stateful: Type.Optional(Type.Boolean()),
  instance_type: Type.Optional(
    Type.String(
      facts({ createOnly: true, since: 'instance_types', doc: 'Limits as of a cloud instance type: c2-m4.' }),
    ),
  ),
  source: ContainerSource,
});
export type ContainerCreate = Static<typeof ContainerCreate>;

/** PUT: the GET structure (read-only members are ignored), or a restore. */
export const ContainerPut = Type.Object({
  ...written,
  restore: Type.Optional(Type.String()),
  stateful: Type.Optional(Type.Boolean()),
});
export type ContainerPut = Static<typeof ContainerPut>;

/** Newer clients call container_only instance_only. */
export const isWithoutSnapshots = (body: {
  readonly container_only?: boolean | undefined;
  readonly instance_only?: boolean | undefined;
}): boolean => body.container_only === true || body.instance_only === true;

export const ContainerPost = Type.Object({
  name: Type.Optional(Type.String()),
  migration: Type.Optional(Type.Boolean()),
  live: Type.Optional(Type.Unknown()),
  container_only: Type.Optional(Type.Boolean()),
  instance_only: Type.Optional(Type.Boolean()),
  allow_inconsistent: AllowInconsistent,
  target: Type.Optional(Type.Unknown()),
  pool: Type.Optional(
    Type.String(facts({ doc: 'Moves the stopped container into this pool.', since: 'instance_pool_move' })),
  ),
  project: Type.Optional(
    Type.String(facts({ doc: 'Moves the stopped container into this project.', since: 'instance_project_move' })),
  ),
});
export type ContainerPost = Static<typeof ContainerPost>;

export const stateActions = ['start', 'stop', 'restart', 'freeze', 'unfreeze'] as const;
export type StateAction = (typeof stateActions)[number];

export const ContainerStatePut = Type.Object({
  action: Type.String(facts({ doc: stateActions.join(', ') })),
  timeout: Type.Optional(Type.Integer(facts({ doc: 'Seconds; absent or negative: no limit; 0: like force.' }))),
  force: Type.Optional(Type.Boolean()),
  stateful: Type.Optional(Type.Boolean()),
});
export type ContainerStatePut = Static<typeof ContainerStatePut>;

export const ContainerState = Type.Object({
  status: Type.String(),
  status_code: Type.Integer(),
  cpu: Type.Object({ usage: Type.Integer(facts({ doc: 'Nanoseconds.' })) }),
  disk: Type.Record(Type.String(), Type.Object({ usage: Type.Integer() })),
  memory: Type.Object({
    usage: Type.Integer(),
    usage_peak: Type.Integer(),
    swap_usage: Type.Integer(),
    swap_usage_peak: Type.Integer(),
  }),
  network: Type.Union([
    Type.Record(
      Type.String(),
      Type.Object({ ...interfaceState, counters: containerCounters, host_name: Type.String() }),
    ),
    Type.Null(),
  ]),
  pid: Type.Integer(),
  processes: Type.Integer(),
});
export type ContainerState = Static<typeof ContainerState>;

/** recursion=2 (extension container_full). */
export const ContainerFull = Type.Intersect([
  Container,
  Type.Object({
    state: Type.Union([ContainerState, Type.Null()]),
    snapshots: Type.Union([Type.Array(Snapshot), Type.Null()]),
    backups: Type.Union([Type.Array(Type.Unknown()), Type.Null()]),
  }),
]);
export type ContainerFull = Static<typeof ContainerFull>;

export const ContainerMetadata = Type.Object({
  architecture: Type.String(),
  creation_date: Type.Integer(),
  expiry_date: Type.Integer(),
  properties: Type.Record(Type.String(), Type.String()),
  templates: Type.Record(
    Type.String(),
    Type.Object({
      when: Type.Array(Type.String()),
      create_only: Type.Boolean(),
      template: Type.String(),
      properties: Type.Record(Type.String(), Type.String()),
    }),
  ),
});
export type ContainerMetadata = Static<typeof ContainerMetadata>;

/** PUT .../metadata: absent or null members are removed. */
export const ContainerMetadataPut = Type.Object({
  architecture: Type.String(),
  creation_date: Type.Integer(),
  expiry_date: Type.Optional(Type.Integer()),
  properties: Type.Optional(Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()])),
  templates: Type.Optional(
    Type.Union([
      Type.Record(
        Type.String(),
        Type.Object({
          when: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
          create_only: Type.Optional(Type.Boolean()),
          template: Type.String(),
          properties: Type.Optional(Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()])),
        }),
      ),
      Type.Null(),
    ]),
  ),
});
export type ContainerMetadataPut = Static<typeof ContainerMetadataPut>;
/** PATCH .../metadata: absent members stay, as do properties and templates that it does not name; null removes all of them. */
export const ContainerMetadataPatch = Type.Partial(ContainerMetadataPut);
export type ContainerMetadataPatch = Static<typeof ContainerMetadataPatch>;
