// The storage pool kind.
import { isMadeFrom } from '../../../server/api/storage/pool-source.ts';
import { filledPoolKeys } from '../../../server/api/storage/storage-config.ts';
import { poolEffect, poolProblems } from '../settings/setting-effects.ts';
import { defineKind } from './kind.ts';
import { isHalfMade, overrideProblems } from './member-overrides.ts';
import type { JsonObject } from '../documents/document.ts';
import { mapOf, presentTexts, textOf } from '../documents/json-values.ts';

/** The config key of the pool, or of one member. */
const configKey = ([field, key, own]: readonly string[]): string | undefined =>
  field === 'config' ? key : field === 'member_overrides' ? own : undefined;

export const storagePool = defineKind('storage_pool', {
  fields: { description: 'scalar', driver: 'scalar', config: 'map', member_overrides: 'members' },
  blanks: { description: '' },
  holdsData: true,
  refills: (segments) =>
    filledPoolKeys.has(configKey(segments) ?? '') || (configKey(segments) ?? '').startsWith('volatile.'),
  putFields: ['config', 'description'],
  live: (observed, name) => {
    const live = observed.pools.get(name);
    return isHalfMade(observed, live?.object.status) ? undefined : live;
  },
  isComputed: (segments) => {
    const key = configKey(segments);
    return key !== undefined && (filledPoolKeys.has(key) || key.startsWith('volatile.') || /^cephfs?\./.test(key));
  },
  isProvenance: (segments) => configKey(segments) === 'source',
  isAsCreated: (segments, live, wanted) => {
    const config = mapOf(
      segments[0] === 'config' ? live['config'] : mapOf(live['member_overrides'])[segments[1] ?? ''],
    );
    return live['driver'] !== undefined && isMadeFrom(presentTexts(config), wanted);
  },
  warnsAtCreation: (values) =>
    sourcesOf(values)
      .filter((source) => source.startsWith('/dev/'))
      .map(
        (source) =>
          `it takes all of ${source}: a file system on it is lost, or the server refuses the pool because of it`,
      ),
  effectOf: (segments, live) => {
    const key = configKey(segments);
    if (key !== undefined) return poolEffect(textOf(live['driver']) ?? '', key);
    return segments[0] === 'driver' ? 'recreate' : 'live';
  },
  validate: (values) => [
    ...poolProblems(textOf(values['driver']) ?? '', presentTexts(values['config'])),
    ...overrideProblems('storage_pool', values['member_overrides']),
  ],
});

/** The sources of the pool, and of each member. */
const sourcesOf = (values: JsonObject): readonly string[] =>
  [values['config'], ...Object.values(mapOf(values['member_overrides']))].flatMap((config) => {
    const source = textOf(mapOf(config)['source']);
    return source === undefined ? [] : [source];
  });
