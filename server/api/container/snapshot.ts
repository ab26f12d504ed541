// Container snapshots on the wire (spec 2.7).
import { Type, type Static } from 'typebox';
import { ConfigMap } from '../schema/common-schemas.ts';
import { facts } from '../schema/field.ts';

export const Snapshot = Type.Object({
  name: Type.String(),
  architecture: Type.String(),
  profiles: Type.Array(Type.String()),
  ephemeral: Type.Boolean(),
  config: ConfigMap,
  devices: Type.Record(Type.String(), ConfigMap),
  expanded_config: ConfigMap,
  expanded_devices: Type.Record(Type.String(), ConfigMap),
  created_at: Type.String(),
  last_used_at: Type.String(),
  stateful: Type.Boolean(),
  description: Type.String(),
  expires_at: Type.String(facts({ since: 'snapshot_expiry', doc: 'The zero time means never.' })),
});
export type Snapshot = Static<typeof Snapshot>;

export const SnapshotCreate = Type.Object({
  name: Type.Optional(Type.String()),
  stateful: Type.Optional(Type.Boolean()),
  expires_at: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  description: Type.Optional(Type.String()),
});

export type SnapshotCreate = Static<typeof SnapshotCreate>;

export const SnapshotPut = Type.Object({
  expires_at: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  description: Type.Optional(Type.String()),
});
export type SnapshotPut = Static<typeof SnapshotPut>;

/** Config keys of the automatic snapshot policy, by their names in documents. */
export const snapshotPolicyKeys: Readonly<Record<string, string>> = {
  schedule: 'snapshots.schedule',
  pattern: 'snapshots.pattern',
  expiry: 'snapshots.expiry',
  stopped: 'snapshots.schedule.stopped',
};
