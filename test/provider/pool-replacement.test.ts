// What replaces a storage pool, and with it the data in it: only what the plan knows to be another pool.
import { describe, expect, test } from 'vitest';
import { planResource } from '../../provider/framework/plan-resource.ts';
import type { AnyResource } from '../../provider/framework/provider.ts';
import type { ValueMap } from '../../provider/framework/value.ts';
import type { Link } from '../../provider/connection/link.ts';
import { network } from '../../provider/resources/network.ts';
import { storagePool } from '../../provider/resources/storage/storage-pool.ts';

type Kind = AnyResource<Link>;

/** The paths that a plan without a server replaces, and its messages. */
async function planned(kind: unknown, config: ValueMap, prior: ValueMap, isImported = false) {
  const resource = kind as Kind;
  const explain = (what: string, error: unknown) => {
    throw new Error(what, { cause: error });
  };
  const all = Object.fromEntries(Object.keys(resource.attributes).map((name) => [name, null]));
  const given = { config: { ...all, ...config }, prior: { ...all, ...prior }, isImported };
  const { planned: next, replace, diagnostics } = await planResource({ resource, client: undefined, explain }, given);
  return { config: next?.['config'], replace, said: diagnostics.map(({ summary }) => summary) };
}

const pool = (config: ValueMap, effective: ValueMap = config): ValueMap => ({
  name: 'fast',
  description: '',
  driver: 'zfs',
  config,
  effective_config: effective,
  locations: [],
});
const written = (config: ValueMap, more: ValueMap = {}): ValueMap => ({ name: 'fast', driver: 'zfs', config, ...more });

describe('a storage pool', () => {
  const live = { source: 'tank/fast', 'zfs.pool_name': 'tank/fast', size: '10GiB' };

  test('An imported pool whose config differs in a key that can change is updated, not replaced', async () => {
    const config = { source: 'tank/fast', size: '10240MiB', 'rsync.bwlimit': '1MiB' };
    expect(await planned(storagePool, written(config), pool({}, live), true)).toMatchObject({ config, replace: [] });
  });

  test('Another value of a key that cannot change replaces an imported pool', async () => {
    const config = { 'zfs.pool_name': 'tank/other', 'rsync.bwlimit': '1MiB' };
    const { replace } = await planned(storagePool, written(config), pool({}, live), true);
    expect(replace).toEqual([[{ attribute: 'config' }, { key: 'zfs.pool_name' }]]);
  });

  test('Another source replaces a pool, whether something else changes or not', async () => {
    const prior = pool({ source: '/dev/sdb' }, { ...live, source: 'tank/fast' });
    for (const more of [{}, { 'rsync.bwlimit': '1MiB' }]) {
      const { replace } = await planned(storagePool, written({ source: '/dev/sdc', ...more }), prior);
      expect(replace).toEqual([[{ attribute: 'config' }, { key: 'source' }]]);
    }
  });

  test('A source that the server wrote in another way is no difference', async () => {
    const prior = pool({ source: '/dev/sdb' }, live);
    expect(await planned(storagePool, written({ source: '/dev/sdb' }), prior)).toMatchObject({ replace: [] });
    expect(await planned(storagePool, written({ source: '/dev/sdb' }), pool({}, live), true)).toMatchObject({
      config: {},
      replace: [],
    });
  });
});

const overrides = { m2: { config: { source: '/dev/sdb' } } };

describe.each([
  ['storage pool', storagePool, pool({}), written({})],
  [
    'network',
    network,
    { name: 'lan0', type: 'bridge', config: {}, effective_config: {} },
    { name: 'lan0', config: {} },
  ],
])('member_overrides of a %s', (_what, kind, prior, config) => {
  test('are noted after an import, which cannot know them, with a warning', async () => {
    const plan = await planned(kind, { ...config, member_overrides: overrides }, prior, true);
    expect(plan).toMatchObject({ replace: [] });
    expect(plan.said).toEqual([expect.stringContaining('stays as it is')]);
  });

  test('replace the object when others were written before', async () => {
    const before = { ...prior, member_overrides: { m2: { config: { source: '/dev/sdc' } } } };
    const { replace } = await planned(kind, { ...config, member_overrides: overrides }, before);
    expect(replace).toEqual([[{ attribute: 'member_overrides' }]]);
  });
});
