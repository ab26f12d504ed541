// The storage volume kind: custom volumes, which containers use as disks. Their names have the form `POOL/VOLUME`.
import { volumeEffect, volumeProblems } from '../settings/setting-effects.ts';
import type { Json, JsonObject } from '../documents/document.ts';
import type { Live, Observed } from '../documents/observed.ts';
import { defineKind, type Reference } from './kind.ts';
import { mapOf, presentTexts, textOf } from '../documents/json-values.ts';

/** `POOL/VOLUME`. */
export const poolOfVolume = (name: string): string => name.slice(0, Math.max(0, name.indexOf('/')));
export const volumeWithin = (name: string): string => name.slice(name.indexOf('/') + 1);

/** The server copies these from the pool's `volume.*`, or the driver chooses them. */
const computed = new Set([
  'size',
  'block.filesystem',
  'block.mount_options',
  'zfs.block_mode',
  'zfs.remove_snapshots',
  'zfs.use_refquota',
]);

/** The server writes each `volume.KEY` of a pool into new volumes as `KEY`. */
function withInherited({ volumes, pools }: Observed, name: string): Live<object> | undefined {
  const live = volumes.get(name);
  const pool = live === undefined ? undefined : pools.get(live.object.pool)?.object.config;
  const inherited = Object.entries(pool ?? {}).flatMap(([key, value]) =>
    key.startsWith('volume.') ? [[key.slice('volume.'.length), value] as const] : [],
  );
  if (live === undefined || inherited.length === 0) return live;
  return { ...live, object: { ...live.object, inherited: Object.fromEntries(inherited) } };
}

function isInherited(key: string, live: JsonObject | undefined): boolean {
  const value = mapOf(live?.['inherited'])[key];
  return value !== undefined && value === mapOf(live?.['config'])[key];
}

function sourceReferences(name: string, source: JsonObject): readonly Reference[] {
  const [pool, from] = [textOf(source['pool']) ?? poolOfVolume(name), textOf(source['name'])];
  return from === undefined
    ? []
    : // A snapshot is `VOLUME/SNAPSHOT`.
      [{ kind: 'storage_volume', name: `${pool}/${from.split('/')[0]}`, path: 'source.name', severity: 'error' }];
}

function sourceProblems(source: Json | undefined): { path: string; message: string }[] {
  if (source === undefined || source === null) return [];
  const { type, name } = mapOf(source);
  if (type !== 'copy') return [{ path: 'source.type', message: 'must be copy' }];
  return textOf(name) === undefined
    ? [{ path: 'source.name', message: 'is required: the name of the volume to copy' }]
    : [];
}

export const storageVolume = defineKind('storage_volume', {
  fields: { description: 'scalar', config: 'map' },
  putFields: ['config', 'description'],
  live: withInherited,
  references: ({ name, values }) => [
    { kind: 'storage_pool', name: poolOfVolume(name), path: 'pool', severity: 'error' },
    ...sourceReferences(name, mapOf(values['source'])),
  ],
  liveReferences: ({ pool }) => [{ kind: 'storage_pool', name: textOf(pool) ?? '' }],
  isComputed: ([field, key = ''], live) =>
    field === 'config' &&
    (computed.has(key) || key.startsWith('volatile.') || key.startsWith('block.') || isInherited(key, live)),
  effectOf: ([field, key = '']) => (field === 'config' ? volumeEffect(key) : 'live'),
  validate: (values) => [...volumeProblems(presentTexts(values['config'])), ...sourceProblems(values['source'])],
  blanks: { description: '' },
  holdsData: true,
  refills: ([field, key = ''], live) => field === 'config' && (key.startsWith('volatile.') || isInherited(key, live)),
});
