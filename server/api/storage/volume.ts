// Storage volumes and their snapshots on the wire (spec 2.14).
import { Type, type Static } from 'typebox';
import { ConfigMap, Description, describedBody, UsedBy } from '../schema/common-schemas.ts';
import { facts } from '../schema/field.ts';

export const StorageVolume = Type.Object({
  name: Type.String(facts({ immutable: true })),
  type: Type.String(facts({ immutable: true })),
  description: Description,
  config: Type.Record(Type.String(), Type.String(), facts({ effect: 'live' })),
  location: Type.String(facts({ computed: true })),
  project: Type.Optional(Type.String(facts({ computed: true, doc: 'The project that it belongs to.' }))),
  used_by: UsedBy,
});
export type StorageVolume = Static<typeof StorageVolume>;

export const VolumeSource = Type.Object({
  name: Type.Optional(Type.String()),
  pool: Type.Optional(Type.String()),
  project: Type.Optional(Type.String(facts({ doc: 'Of the source, on this server.' }))),
  location: Type.Optional(
    Type.String(
      facts({
        since: 'cluster_internal_custom_volume_copy',
        doc: 'The member of the cluster that has the source, when several have one of its name.',
      }),
    ),
  ),
  type: Type.Optional(Type.String()),
  mode: Type.Optional(Type.String()),
  volume_only: Type.Optional(Type.Boolean()),
  refresh: Type.Optional(
    Type.Boolean(
      facts({ since: 'custom_volume_refresh', doc: 'Brings an older copy of this name up to date, if there is one.' }),
    ),
  ),
  operation: Type.Optional(Type.String()),
  certificate: Type.Optional(Type.String()),
  secrets: Type.Optional(Type.Record(Type.String(), Type.String())),
});

export const StorageVolumeCreate = Type.Object({
  name: Type.String(),
  type: Type.Optional(Type.String()),
  ...describedBody,
  source: Type.Optional(VolumeSource),
  content_type: Type.Optional(
    Type.String(facts({ doc: 'filesystem. Others are refused: block volumes are for virtual machines.' })),
  ),
});
export type StorageVolumeCreate = Static<typeof StorageVolumeCreate>;
export const StorageVolumePut = Type.Object({ ...describedBody, restore: Type.Optional(Type.String()) });
export type StorageVolumePut = Static<typeof StorageVolumePut>;
export const StorageVolumePost = Type.Object({
  name: Type.String(),
  pool: Type.Optional(Type.String()),
  project: Type.Optional(Type.String(facts({ doc: 'Moves it into this project.' }))),
  migration: Type.Optional(Type.Boolean()),
  volume_only: Type.Optional(Type.Boolean(facts({ doc: 'migration: without its snapshots.' }))),
  target: Type.Optional(Type.Unknown()),
  source: Type.Optional(
    Type.Object({
      location: Type.Optional(
        Type.String(
          facts({ since: 'cluster_internal_custom_volume_copy', doc: 'Member that has it, when several do.' }),
        ),
      ),
    }),
  ),
});

export type StorageVolumePost = Static<typeof StorageVolumePost>;

export const VolumeSnapshot = Type.Object({
  name: Type.String(),
  description: Type.String(),
  config: ConfigMap,
  expires_at: Type.String(facts({ since: 'custom_volume_snapshot_expiry', doc: 'The zero time means never.' })),
});
export type VolumeSnapshot = Static<typeof VolumeSnapshot>;

export const VolumeSnapshotCreate = Type.Object({
  name: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  expires_at: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});
export type VolumeSnapshotCreate = Static<typeof VolumeSnapshotCreate>;
export const VolumeSnapshotPut = Type.Object({
  description: Type.Optional(Type.String()),
  expires_at: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});
export type VolumeSnapshotPut = Static<typeof VolumeSnapshotPut>;
