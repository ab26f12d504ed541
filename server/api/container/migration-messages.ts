// What two daemons say to each other on the control channel of a migration; one JSON object a frame. How it is carried is not here.
import { Type, type Static } from 'typebox';
import { ConfigMap, DeviceMap, Timestamp } from '../schema/common-schemas.ts';

export const migrationProtocol = 'gantry-migration';
export const migrationVersion = 1;

const Snapshot = Type.Object({
  name: Type.String(),
  /** What native streams call it; the same on both sides: it can be a parent. */
  streamId: Type.Optional(Type.String()),
  createdAt: Timestamp,
  description: Type.String(),
  config: ConfigMap,
});

export const ContainerSnapshotOffer = Type.Object({
  ...Snapshot.properties,
  architecture: Type.String(),
  profiles: Type.Array(Type.String()),
  ephemeral: Type.Boolean(),
  devices: DeviceMap,
  lastUsedAt: Timestamp,
  expiresAt: Timestamp,
  /** Its checkpoint is among its files. */
  stateful: Type.Boolean(),
});
export type ContainerSnapshotOffer = Static<typeof ContainerSnapshotOffer>;

export const VolumeSnapshotOffer = Snapshot;
export type VolumeSnapshotOffer = Static<typeof VolumeSnapshotOffer>;

export const ContainerOffer = Type.Object({
  architecture: Type.String(),
  profiles: Type.Array(Type.String()),
  ephemeral: Type.Boolean(),
  config: ConfigMap,
  devices: DeviceMap,
  description: Type.String(),
});
export type ContainerOffer = Static<typeof ContainerOffer>;

export const VolumeOffer = Type.Object({ description: Type.String(), config: ConfigMap });
export type VolumeOffer = Static<typeof VolumeOffer>;

const offerOf = <K extends string, O extends Parameters<typeof Type.Object>[0][string], S extends typeof Snapshot>(
  kind: K,
  object: O,
  snapshot: S,
) =>
  Type.Object({
    type: Type.Literal('offer'),
    protocol: Type.Literal(migrationProtocol),
    /** Versions the source speaks. */
    versions: Type.Array(Type.Integer()),
    /** Release of the source, for people. */
    release: Type.String(),
    kind: Type.Literal(kind),
    name: Type.String(),
    /** Of the container or volume: tells when source and target are one. */
    uuid: Type.String(),
    /** How the source can send files, best first: `tar` with ids as in the container, or what two pools of one driver share (`btrfs`). */
    formats: Type.Array(Type.String()),
    object,
    /** The container runs, and its checkpoint will be in its volume: the target restores it. */
    live: Type.Optional(Type.Boolean()),
    /** Oldest first: in this order they are sent. */
    snapshots: Type.Array(snapshot),
  });

/** First word of the source. */
export const ContainerMigrationOffer = offerOf('container', ContainerOffer, ContainerSnapshotOffer);
export const VolumeMigrationOffer = offerOf('volume', VolumeOffer, VolumeSnapshotOffer);
export type ContainerMigrationOffer = Static<typeof ContainerMigrationOffer>;
export type VolumeMigrationOffer = Static<typeof VolumeMigrationOffer>;

/** What the target takes of it. */
export const MigrationAnswer = Type.Object({
  type: Type.Literal('answer'),
  version: Type.Integer(),
  format: Type.String(),
  /** What follows on the fs channel, in this order; the volume itself, which is the part without a name, comes last. */
  parts: Type.Array(
    Type.Object({
      snapshot: Type.Optional(Type.String()),
      /** The snapshot that a stream of the pools' own kind builds on. */
      parent: Type.Optional(Type.String()),
      /** Of tar: the target first sends what it has, and gets only what differs. */
      compare: Type.Optional(Type.Boolean()),
    }),
  ),
});
export type MigrationAnswer = Static<typeof MigrationAnswer>;

/** `sent`: all streams are on their way (source). `done`: everything is kept and recorded (target). */
export const MigrationStep = Type.Object({ type: Type.Union([Type.Literal('sent'), Type.Literal('done')]) });
export type MigrationStep = Static<typeof MigrationStep>;

/** Either side, at any moment: it has given up. */
export const MigrationError = Type.Object({ type: Type.Literal('error'), message: Type.String() });
