// What replaces a storage pool, and with it the data in it: only what the plan knows to be another pool.
import { describe, expect, test, vi } from 'vitest';
import { planResource } from '../../../provider/framework/plan-resource.ts';
import type { AnyResource } from '../../../provider/framework/provider.ts';
import type { ValueMap } from '../../../provider/framework/value.ts';
import type { Link } from '../../../provider/connection/link.ts';
import { network } from '../../../provider/resources/network.ts';
import { storagePool } from '../../../provider/resources/storage/storage-pool.ts';

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

  test.each([
    ['source', { source: '/dev/sdb' }, {}],
    ['size and zfs.pool_name', { size: '10GiB', 'zfs.pool_name': 'tank/fast', 'rsync.bwlimit': '1MiB' }, {}],
  ])('A configuration that leaves out %s updates the pool', async (_what, before, config) => {
    const prior = pool(before, { ...live, ...before });
    expect(await planned(storagePool, written(config), prior)).toMatchObject({ config, replace: [] });
  });

  test.each([
    ['lvm.vg.force_reuse', 'true', []],
    ['lvm.use_thinpool', 'true', []],
    ['lvm.use_thinpool', 'false', [[{ attribute: 'config' }, { key: 'lvm.use_thinpool' }]]],
  ])(
    'A configuration that leaves out %s=%s replaces a pool only if its default is another',
    async (key, value, replace) => {
      const prior = { ...pool({ [key]: value }), driver: 'lvm' };
      const found = await planned(storagePool, { ...written({}), driver: 'lvm' }, prior);
      expect(found.replace).toEqual(replace);
    },
  );

  test('An update keeps what the pool has for fixed keys that the configuration leaves out, which are then no difference', async () => {
    const fixed = { ...live, 'lvm.vg.force_reuse': 'true', 'lvm.use_thinpool': 'true' };
    const has = { ...fixed, 'rsync.bwlimit': '1MiB' };
    const put = vi.fn(async (_kind: string, _name: string, _body: object) => ({}));
    const metadata = { name: 'fast', description: '', driver: 'lvm', config: has };
    const link = {
      client: { get: async () => ({ metadata }), put, operations: { run: (begin: () => Promise<unknown>) => begin() } },
      reader: { written() {}, read: async () => ({ object: { ...metadata, config: fixed } }) },
      activity: { during: (work: () => Promise<unknown>) => work() },
      server: { environment: { server_clustered: false } },
    };
    const { signal } = new AbortController();
    const context = { client: link, signal, stopping: signal, privateData: {}, warn() {} };
    const before = { ...pool(has), driver: 'lvm', remote: null };
    const wanted = { planned: { ...before, config: {} }, config: {} };
    type Update = Parameters<Kind['update']>;
    await storagePool.update(wanted, before, context as unknown as Update[2]);
    expect(put.mock.calls[0]?.[2]).toEqual({ description: '', config: fixed });
    type Read = Parameters<Kind['read']>;
    const state = wanted.planned as unknown as Read[0];
    expect(await storagePool.read(state, context as unknown as Read[1])).toMatchObject({ config: {} });
  });

  test('A source that the server wrote in another way is no difference', async () => {
    const prior = pool({ source: '/dev/sdb' }, live);
    expect(await planned(storagePool, written({ source: '/dev/sdb' }), prior)).toMatchObject({ replace: [] });
    expect(await planned(storagePool, written({ source: '/dev/sdb' }), pool({}, live), true)).toMatchObject({
      config: {},
      replace: [],
    });
  });

  test.each([
    ['tank/other', live, true],
    ['/dev/sdc', { ...live, 'volatile.initial_source': '/dev/sdb' }, true],
    ['/dev/sdb', { ...live, 'volatile.initial_source': '/dev/sdb' }, false],
    ['/dev/sdb', live, false],
    ['tank/fast', { size: '10GiB' }, false],
  ])('The source %s is another one than that of the imported pool %j: %s', async (source, effective, isOther) => {
    const { replace } = await planned(storagePool, written({ source }), pool({}, effective), true);
    expect(replace).toEqual(isOther ? [[{ attribute: 'config' }, { key: 'source' }]] : []);
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
