// Networks and pools of a cluster with config that each member has for itself: servers show and take it for one member only.
import { describe, expect, test } from 'vitest';
import { ClientError } from '../../../server/client/client-error.ts';
import { applyChange } from '../../../provider/framework/apply.ts';
import { failure } from '../../../provider/framework/diagnostic.ts';
import type { ResourceDeps } from '../../../provider/framework/operation.ts';
import { planResource } from '../../../provider/framework/plan-resource.ts';
import type { AnyProvider, AnyResource } from '../../../provider/framework/provider.ts';
import { readResource } from '../../../provider/framework/read-resource.ts';
import type { ValueMap } from '../../../provider/framework/value.ts';
import type { Link } from '../../../provider/connection/link.ts';
import { network } from '../../../provider/resources/network.ts';
import { storagePool } from '../../../provider/resources/storage/storage-pool.ts';

type Config = Readonly<Record<string, string>>;
interface Write {
  readonly target?: string;
}

const explain = (what: string, error: unknown) => [failure(what, String(error))];
const memberKeys = /^(source|size|zfs\.pool_name|lvm\.(vg_name|thinpool_name)|bridge\.external_.*)$/;

/** Terraform with one object in a cluster of two members. The server refuses keys of members for the cluster, and other keys for a member. */
class World {
  description = '';
  shared: Config = {};
  own: Readonly<Record<string, Config>> = { m1: {}, m2: {} };
  state: ValueMap;
  readonly sent: (readonly [where: string, config: Config])[] = [];
  readonly #resource: AnyResource<Link>;
  readonly #server: string;

  constructor(resource: unknown, server = 'lxd') {
    this.#resource = resource as AnyResource<Link>;
    this.#server = server;
    this.state = this.#nothing;
  }

  get #nothing(): ValueMap {
    return Object.fromEntries(Object.keys(this.#resource.attributes).map((name) => [name, null]));
  }

  #shown(target?: string): object {
    const config = target === undefined ? this.shared : { ...this.shared, ...this.own[target] };
    const facts = { name: 'one', type: 'bridge', driver: 'zfs', managed: true, locations: ['m1', 'm2'] };
    return { ...facts, description: this.description, config };
  }

  readonly #write = async (config: Config, { target }: Write): Promise<object> => {
    const stranger = Object.keys(config).find((key) => memberKeys.test(key) !== (target !== undefined));
    const why = target === undefined ? 'is cluster member specific' : 'may not be used as cluster member specific key';
    if (stranger !== undefined && this.#server === 'lxd')
      throw new ClientError('badRequest', `Config key "${stranger}" ${why}`, { status: 400 });
    this.sent.push([target ?? 'all', config]);
    if (target === undefined) this.shared = config;
    else this.own = { ...this.own, [target]: { ...this.own[target], ...config } };
    return {};
  };

  get #deps(): ResourceDeps<Link> {
    type Body = { readonly config: Config; readonly description?: string };
    const client = {
      get: async (_kind: string, _name: string, _signal: AbortSignal, target?: string) => ({
        metadata: this.#shown(target),
        etag: 'e',
      }),
      create: (_kind: string, { config }: Body, write: Write) => this.#write(config, write),
      patch: (_kind: string, _name: string, { config, description }: Partial<Body>, write: Write) => {
        this.description = description ?? '';
        return config === undefined ? Promise.resolve({}) : this.#write(config, write);
      },
      put: (_kind: string, _name: string, { config, description = '' }: Body, write: Write) => {
        this.description = description;
        return this.#write(config, write);
      },
      operations: { run: (begin: () => Promise<unknown>) => begin() },
      http: { send: async () => ({ metadata: [{ server_name: 'm1' }, { server_name: 'm2' }] }) },
    };
    const link = {
      client,
      server: { api_extensions: [], environment: { server: this.#server, server_clustered: true } },
      reader: { written() {}, read: async () => ({ object: this.#shown(), etag: 'e' }) },
      activity: { during: (work: () => Promise<unknown>) => work() },
    };
    const provider = { explain } as unknown as AnyProvider<Link>;
    const stopping = new AbortController().signal;
    return { provider, resource: this.#resource, client: link as unknown as Link, stopping };
  }

  async plan(given: ValueMap) {
    const config = { ...this.#nothing, name: 'one', ...given };
    const prior = this.state['name'] === null ? null : this.state;
    const deps = { resource: this.#resource, client: undefined, explain };
    return { config, prior, ...(await planResource(deps, { config, prior, isImported: false })) };
  }

  /** Applies and refreshes; returns the messages. */
  async apply(given: ValueMap): Promise<readonly unknown[]> {
    this.sent.length = 0;
    const { planned, prior, config } = await this.plan(given);
    const applied = await applyChange(this.#deps, { prior, planned, config, privateData: {} });
    await this.refresh(applied.state ?? {});
    return applied.diagnostics;
  }

  async refresh(state: ValueMap): Promise<void> {
    this.state = (await readResource(this.#deps, state, {})).state ?? {};
  }

  /** The state of an import, which knows the name only. */
  async import(): Promise<void> {
    await this.refresh({ ...this.#nothing, name: 'one' });
  }
}

describe.each([
  ['storage pool', storagePool, { driver: 'zfs' }, 'size', ['10GiB', '20GiB']],
  ['network', network, { type: 'bridge' }, 'bridge.external_interfaces', ['eth1', 'eth2']],
] as const)('a key of the members of a %s', (_what, resource, own, key, [first, second]) => {
  const written = (value: string, more: ValueMap = {}): ValueMap => ({
    ...own,
    ...more,
    config: { 'user.a': 'b', [key]: value },
  });

  test('It goes to every member at the creation, and the plan after that is empty', async () => {
    const world = new World(resource);
    expect(await world.apply(written(first))).toEqual([]);
    expect(world.own).toEqual({ m1: { [key]: first }, m2: { [key]: first } });
    expect(world.shared).toEqual({ 'user.a': 'b' });
    expect((await world.plan(written(first))).planned).toEqual(world.state);
  });

  test('The description is written after the creation, which ignores it', async () => {
    const world = new World(resource);
    expect(await world.apply(written(first, { description: 'mine' }))).toEqual([]);
    expect((await world.plan(written(first, { description: 'mine' }))).planned).toEqual(world.state);
  });

  test('A change of something else sends none of them', async () => {
    const world = new World(resource);
    await world.apply(written(first));
    expect(await world.apply(written(first, { description: 'x' }))).toEqual([]);
    expect(world.sent).toEqual([['all', { 'user.a': 'b' }]]);
  });

  test('Another value goes to the members that have not got it and no override', async () => {
    const world = new World(resource);
    const overrides = { member_overrides: { m2: { config: { [key]: 'own' } } } };
    await world.apply(written(first, overrides));
    expect(world.own['m2']).toEqual({ [key]: 'own' });
    expect(await world.apply(written(second, overrides))).toEqual([]);
    expect(world.own).toEqual({ m1: { [key]: second }, m2: { [key]: 'own' } });
    expect((await world.plan(written(second, overrides))).planned).toEqual(world.state);
  });

  test('An empty value removes it from every member, and no change of it loses the description', async () => {
    const world = new World(resource);
    await world.apply(written(first, { description: 'mine' }));
    for (const value of key === 'size' ? [second] : ['', second]) {
      expect(await world.apply(written(value, { description: 'mine' }))).toEqual([]);
      expect(world.own).toEqual({ m1: { [key]: value }, m2: { [key]: value } });
      expect((await world.plan(written(value, { description: 'mine' }))).planned).toEqual(world.state);
    }
  });

  test('An import notes it, and asks the members before it sends anything', async () => {
    const world = new World(resource);
    Object.assign(world, { shared: { 'user.a': 'b' }, own: { m1: { [key]: first }, m2: { [key]: first } } });
    await world.import();
    expect(await world.apply(written(first))).toEqual([]);
    expect(world.sent).toEqual([['all', { 'user.a': 'b' }]]);
    expect((await world.plan(written(first))).planned).toEqual(world.state);
  });
});

test('An import only notes a key that cannot change any more', async () => {
  const world = new World(storagePool);
  world.own = { m1: { 'zfs.pool_name': 'tank/a' }, m2: { 'zfs.pool_name': 'tank/b' } };
  await world.import();
  expect(await world.apply({ driver: 'zfs', config: { 'zfs.pool_name': 'tank/a' } })).toEqual([]);
  expect(world.sent).toEqual([['all', {}]]);
});

test('A pool keeps a size that its configuration leaves out', async () => {
  const world = new World(storagePool);
  await world.apply({ driver: 'zfs', config: { size: '10GiB' } });
  expect(await world.apply({ driver: 'zfs', config: {} })).toEqual([]);
  expect(world.own).toEqual({ m1: { size: '10GiB' }, m2: { size: '10GiB' } });
});

test('A name in Ceph is one for all members of LXD, and each member has its own with gantryd', async () => {
  const created = async (server: string) => {
    const world = new World(storagePool, server);
    expect(await world.apply({ driver: 'ceph', config: { 'ceph.osd.pool_name': 'a', source: 'b' } })).toEqual([]);
    return Object.fromEntries(world.sent);
  };
  const [name, source] = [{ 'ceph.osd.pool_name': 'a' }, { source: 'b' }];
  expect(await created('lxd')).toEqual({ m1: source, m2: source, all: name });
  const both = { ...name, ...source };
  expect(await created('gantry')).toEqual({ m1: both, m2: both, all: {} });
});
