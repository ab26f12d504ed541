// The storage volume kind: custom volumes, which containers get as disks. Named `POOL/VOLUME`.
import { volumeEffect, volumeProblems } from '../effects.ts';
import type { CoreKind } from './kind.ts';
import { presentTexts } from './values.ts';

/** `POOL/VOLUME`. */
export const poolOfVolume = (name: string): string => name.slice(0, Math.max(0, name.indexOf('/')));
export const volumeWithin = (name: string): string => name.slice(name.indexOf('/') + 1);

/** Copied down from the pool's `volume.*`, or chosen by the driver. */
const computed = new Set([
  'size',
  'block.filesystem',
  'block.mount_options',
  'zfs.remove_snapshots',
  'zfs.use_refquota',
]);

export const storageVolume: CoreKind = {
  fields: { description: 'scalar', config: 'map' },
  putFields: ['config', 'description'],
  live: (observed, name) => observed.volumes.get(name),
  liveNames: (observed) => observed.volumes.keys(),
  apiName: (document) => document.name,
  references: ({ name }) => [{ kind: 'storage_pool', name: poolOfVolume(name), path: 'pool', severity: 'error' }],
  isComputed: ([field, key = '']) =>
    field === 'config' && (computed.has(key) || key.startsWith('volatile.') || key.startsWith('block.')),
  effectOf: ([field, key = '']) => (field === 'config' ? volumeEffect(key) : 'live'),
  validate: (values) => volumeProblems(presentTexts(values['config'])),
  blanks: { description: '' },
  holdsData: true,
};
