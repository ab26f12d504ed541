// A custom volume with the pool that it is in, as manifests and the client tell it; on the wire the pool is part of the path.
import { Type, type Static } from 'typebox';
import { ConfigMap } from '../schema/common-schemas.ts';
import { facts } from '../schema/field.ts';

/** What a volume may begin as; the rest of a source on the wire is between servers. */
export const VolumeCopy = Type.Object({
  type: Type.String({ description: 'copy: of another volume of this server.' }),
  name: Type.String({ description: 'Name of the volume that it is a copy of.' }),
  pool: Type.Optional(Type.String({ description: 'Pool of that volume; its own unless told.' })),
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
