// The storage pool kind. Where a pool lies is told at creation and rewritten by the server, so it is never compared.
import { poolEffect, poolProblems } from '../effects.ts';
import type { CoreKind } from './kind.ts';
import { presentTexts, textOf } from './values.ts';

const computed = new Set(['source', 'size', 'zfs.pool_name', 'lvm.vg_name', 'lvm.thinpool_name']);
export const storagePool: CoreKind = {
  fields: { description: 'scalar', driver: 'scalar', config: 'map' },
  blanks: { description: '' },
  holdsData: true,
  putFields: ['config', 'description'],
  live: (observed, name) => observed.pools.get(name),
  liveNames: (observed) => observed.pools.keys(),
  apiName: (document) => document.name,
  references: () => [],
  isComputed: ([field, key = '']) =>
    field === 'config' && (computed.has(key) || key.startsWith('volatile.') || key.startsWith('ceph.')),
  isProvenance: ([field, key]) => field === 'config' && key === 'source',
  effectOf: ([field, key = ''], live) =>
    field === 'driver' ? 'recreate' : field === 'config' ? poolEffect(textOf(live['driver']) ?? '', key) : 'live',
  validate: (values) => poolProblems(textOf(values['driver']) ?? '', presentTexts(values['config'])),
};
