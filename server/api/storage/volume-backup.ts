// Backups of custom volumes on the wire, and the content of their index (shapes of the real system).
import { Type, type Static } from 'typebox';
import { Backup, BackupCreate } from '../container/backup.ts';
import { facts } from '../schema/field.ts';

const { name, created_at, expires_at, size, optimized_storage } = Backup.properties;

export const VolumeBackup = Type.Object({
  name,
  created_at,
  expires_at,
  volume_only: Type.Boolean(facts({ doc: 'Without the snapshots of the volume.' })),
  size,
  optimized_storage,
});
export type VolumeBackup = Static<typeof VolumeBackup>;

const wanted = BackupCreate.properties;

export const VolumeBackupCreate = Type.Object({
  name: wanted.name,
  expires_at: wanted.expires_at,
  volume_only: Type.Optional(Type.Boolean()),
  optimized_storage: wanted.optimized_storage,
  compression_algorithm: wanted.compression_algorithm,
});
export type VolumeBackupCreate = Static<typeof VolumeBackupCreate>;

const Text = Type.Optional(Type.Union([Type.String(), Type.Null()]));
const Texts = Type.Record(Type.String(), Type.Union([Type.String(), Type.Boolean(), Type.Number()]));
const described = { config: Type.Optional(Type.Union([Texts, Type.Null()])), description: Text, created_at: Text };

/** `config` of an index; members of other releases are ignored. */
export const BackupVolumeParts = Type.Object({
  volume: Type.Object({ ...described, content_type: Text }),
  volume_snapshots: Type.Optional(
    Type.Union([Type.Array(Type.Object({ ...described, name: Type.String(), expires_at: Text })), Type.Null()]),
  ),
});
export type BackupVolumeParts = Static<typeof BackupVolumeParts>;
