// The messages of two daemons on the control channel of a migration; one JSON object a frame. Their transport is elsewhere.
import { Type, type Static } from 'typebox';
import { ConfigMap, DeviceMap, Timestamp } from '../schema/common-schemas.ts';

export const migrationProtocol = 'gantry-migration';
export const migrationVersion = 1;

const Snapshot = Type.Object({
  name: Type.String(),
  /** The name in native streams: equal on both sides, so that it can be a parent. */
  streamId: Type.Optional(Type.String()),
  createdAt: Timestamp,
  description: Type.String(),
  config: ConfigMap,
});

/** Client-set fields of the root volume; absent from a source of an older release. */
const Written = Type.Optional(Type.Object({ description: Type.String(), config: ConfigMap }));

export const ContainerSnapshotOffer = Type.Object({
  ...Snapshot.properties,
  architecture: Type.String(),
  profiles: Type.Array(Type.String()),
  ephemeral: Type.Boolean(),
  devices: DeviceMap,
  lastUsedAt: Timestamp,
  expiresAt: Timestamp,
  /** Its files include its checkpoint. */
  stateful: Type.Boolean(),
  volume: Written,
});
export type ContainerSnapshotOffer = Static<typeof ContainerSnapshotOffer>;

/** A source of an older release does not send the expiry. */
export const VolumeSnapshotOffer = Type.Object({ ...Snapshot.properties, expiresAt: Type.Optional(Timestamp) });
export type VolumeSnapshotOffer = Static<typeof VolumeSnapshotOffer>;

export const ContainerOffer = Type.Object({
  architecture: Type.String(),
  profiles: Type.Array(Type.String()),
  ephemeral: Type.Boolean(),
  config: ConfigMap,
  devices: DeviceMap,
  description: Type.String(),
  volume: Written,
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
    /** Protocol versions of the source. */
    versions: Type.Array(Type.Integer()),
    /** Release of the source, for display. */
    release: Type.String(),
    kind: Type.Literal(kind),
    name: Type.String(),
    /** Id of the container or volume: shows whether source and target are the same. */
    uuid: Type.String(),
    /**
     * The formats in which the source can send files, best first: `tar` with ids as in the container, or a native format that both
     * pools share (`btrfs`).
     */
    formats: Type.Array(Type.String()),
    object,
    /** The container runs, and its volume will contain its checkpoint: the target restores it. */
    live: Type.Optional(Type.Boolean()),
    /** Oldest first: the order of sending. */
    snapshots: Type.Array(snapshot),
  });

export const ContainerMigrationOffer = offerOf('container', ContainerOffer, ContainerSnapshotOffer);
export const VolumeMigrationOffer = offerOf('volume', VolumeOffer, VolumeSnapshotOffer);
export type ContainerMigrationOffer = Static<typeof ContainerMigrationOffer>;
export type VolumeMigrationOffer = Static<typeof VolumeMigrationOffer>;

/** The part of the offer that the target accepts. */
export const MigrationAnswer = Type.Object({
  type: Type.Literal('answer'),
  version: Type.Integer(),
  format: Type.String(),
  /** The streams that follow on the fs channel, in this order; the volume itself, without a name, comes last. */
  parts: Type.Array(
    Type.Object({
      snapshot: Type.Optional(Type.String()),
      /** The snapshot on which a native stream builds. */
      parent: Type.Optional(Type.String()),
      /** For tar: the target first lists its files, and receives only the differences. */
      compare: Type.Optional(Type.Boolean()),
    }),
  ),
});
export type MigrationAnswer = Static<typeof MigrationAnswer>;

/** `sent`: all streams are sent (source). `done`: everything is stored and recorded (target). */
export const MigrationStep = Type.Object({ type: Type.Union([Type.Literal('sent'), Type.Literal('done')]) });
export type MigrationStep = Static<typeof MigrationStep>;

/** More than any engine of containers makes. */
export const maxSubvolumes = 10_000;

/** What a real LXD sends before streams of btrfs. */
export const LxdSubvolumes = Type.Object({
  subvolumes: Type.Union([
    Type.Null(),
    Type.Array(
      Type.Object({
        path: Type.String(),
        /** Empty: the volume itself. */
        snapshot: Type.String(),
        readonly: Type.Boolean(),
      }),
      { maxItems: maxSubvolumes },
    ),
  ]),
});
export type LxdSubvolumes = Static<typeof LxdSubvolumes>;
