// The storage pool kind. Where a pool lies is told at creation and rewritten by the server, so it is never compared.
import { poolEffect, poolProblems } from '../effects.ts';
import type { CoreKind } from './kind.ts';
import { isHalfMade, overrideProblems } from './member-overrides.ts';
import { presentTexts, textOf } from './values.ts';

const computed = new Set(['source', 'size', 'zfs.pool_name', 'lvm.vg_name', 'lvm.thinpool_name']);
/** Of the pool, or of one member. */
const configKey = ([field, key, own]: readonly string[]): string | undefined =>
  field === 'config' ? key : field === 'member_overrides' ? own : undefined;

export const storagePool: CoreKind = {
  fields: { description: 'scalar', driver: 'scalar', config: 'map', member_overrides: 'members' },
  blanks: { description: '' },
  holdsData: true,
  putFields: ['config', 'description'],
  live: (observed, name) => {
    const live = observed.pools.get(name);
    return isHalfMade(observed, live?.object.status) ? undefined : live;
  },
  liveNames: (observed) => observed.pools.keys(),
  apiName: (document) => document.name,
  references: () => [],
  isComputed: (segments) => {
    const key = configKey(segments);
    return key !== undefined && (computed.has(key) || key.startsWith('volatile.') || key.startsWith('ceph.'));
  },
  isProvenance: (segments) => configKey(segments) === 'source',
  effectOf: (segments, live) => {
    const key = configKey(segments);
    if (key !== undefined) return poolEffect(textOf(live['driver']) ?? '', key);
    return segments[0] === 'driver' ? 'recreate' : 'live';
  },
  validate: (values) => [
    ...poolProblems(textOf(values['driver']) ?? '', presentTexts(values['config'])),
    ...overrideProblems('storage_pool', values['member_overrides']),
  ],
};
