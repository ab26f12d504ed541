// Backups of containers on the wire (spec 4.14; shapes after the real system, section 11, under the names of both its releases).
import { Type, type Static } from 'typebox';
import { facts } from '../schema/field.ts';

export const Backup = Type.Object({
  name: Type.String(),
  creation_date: Type.String(facts({ doc: 'The same as created_at, under its older name.' })),
  expiry_date: Type.String(facts({ doc: 'The same as expires_at, under its older name.' })),
  created_at: Type.String(),
  expires_at: Type.String(facts({ doc: 'The zero time means never.' })),
  container_only: Type.Boolean(facts({ doc: 'Without the snapshots of the container.' })),
  instance_only: Type.Boolean(facts({ doc: 'The same as container_only, under its newer name.' })),
  size: Type.Integer(facts({ doc: 'Bytes of its file; 0 while it is being made. Not in the real system.' })),
  optimized_storage: Type.Boolean(facts({ doc: 'In the storage driver’s own form, for pools of the same driver.' })),
});
export type Backup = Static<typeof Backup>;

const time = Type.Optional(Type.Union([Type.String(), Type.Null()]));

export const BackupCreate = Type.Object({
  name: Type.Optional(Type.String()),
  expiry: time,
  expires_at: time,
  container_only: Type.Optional(Type.Boolean()),
  instance_only: Type.Optional(Type.Boolean()),
  optimized_storage: Type.Optional(Type.Boolean()),
  compression_algorithm: Type.Optional(Type.String(facts({ since: 'backup_compression' }))),
});
export type BackupCreate = Static<typeof BackupCreate>;

const Text = Type.Optional(Type.Union([Type.String(), Type.Null()]));
const Flag = Type.Optional(Type.Union([Type.Boolean(), Type.Null()]));
const Names = Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()]));
const Texts = Type.Record(Type.String(), Type.Union([Type.String(), Type.Boolean(), Type.Number()]));
const Config = Type.Optional(Type.Union([Texts, Type.Null()]));
const Devices = Type.Optional(Type.Union([Type.Record(Type.String(), Texts), Type.Null()]));

/** A container or snapshot as a backup describes it; members of other releases are ignored. */
export const BackupMachine = Type.Object({
  architecture: Type.String(),
  config: Config,
  devices: Devices,
  profiles: Names,
  ephemeral: Flag,
  description: Text,
  created_at: Text,
  last_used_at: Text,
});
export type BackupMachine = Static<typeof BackupMachine>;
const BackupVolume = Type.Object({ config: Config, description: Text });
const BackupVolumeSnapshot = Type.Object({ ...BackupVolume.properties, name: Type.String() });
const BackupSnapshot = Type.Object({ ...BackupMachine.properties, name: Type.String(), expires_at: Text });
/** `config` of an index, and backup.yaml. */
export const BackupParts = Type.Object({
  container: BackupMachine,
  snapshots: Type.Optional(Type.Union([Type.Array(BackupSnapshot), Type.Null()])),
  volume: Type.Optional(Type.Union([BackupVolume, Type.Null()])),
  volume_snapshots: Type.Optional(Type.Union([Type.Array(BackupVolumeSnapshot), Type.Null()])),
});
export type BackupParts = Static<typeof BackupParts>;

/** The rest of index.yaml, the first member of a backup. */
export const BackupHead = Type.Object({
  name: Type.String(),
  backend: Text,
  pool: Text,
  snapshots: Names,
  optimized: Flag,
  type: Text,
});
export type BackupHead = Static<typeof BackupHead>;
