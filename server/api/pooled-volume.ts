// A custom volume with the pool that it is in, as manifests and the client tell it; on the wire the pool is part of the path.
import { Type, type Static } from 'typebox';
import { ConfigMap } from './common.ts';
import { facts } from './field.ts';

export const PooledVolumeCreate = Type.Object({
  name: Type.String(),
  pool: Type.String(facts({ immutable: true, doc: 'Pool that the volume is in.' })),
  description: Type.Optional(Type.String()),
  config: Type.Optional(Type.Union([ConfigMap, Type.Null()])),
});
export type PooledVolumeCreate = Static<typeof PooledVolumeCreate>;
