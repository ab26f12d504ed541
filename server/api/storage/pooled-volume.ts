// A custom volume with its pool, as in manifests and the client; on the wire the pool is part of the path.
import { Type, type Static } from 'typebox';
import { ConfigMap } from '../schema/common-schemas.ts';
import { facts } from '../schema/field.ts';

/** The possible sources of a volume in a manifest; the other sources on the wire are for transfers between servers. */
export const VolumeCopy = Type.Object({
  type: Type.String({ description: 'copy: of another volume of this server.' }),
  name: Type.String({ description: 'Name of the volume that it is a copy of.' }),
  pool: Type.Optional(Type.String({ description: 'Pool of that volume; default: the pool of the new volume.' })),
  volume_only: Type.Optional(Type.Boolean({ description: 'Without its snapshots.' })),
});

export const PooledVolumeCreate = Type.Object({
  name: Type.String(),
  pool: Type.String(facts({ immutable: true, doc: 'Pool that the volume is in.' })),
  description: Type.Optional(Type.String()),
  config: Type.Optional(Type.Union([ConfigMap, Type.Null()])),
  source: Type.Optional(VolumeCopy),
});
export type PooledVolumeCreate = Static<typeof PooledVolumeCreate>;
