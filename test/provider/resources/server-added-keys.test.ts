// Config keys that the server adds to a new object: its resource neither shows nor removes them.
import { describe, expect, test } from 'vitest';
import type { Link } from '../../../provider/connection/link.ts';
import type { AnyResource } from '../../../provider/framework/provider.ts';
import { planResource } from '../../../provider/framework/plan-resource.ts';
import type { ContainerState } from '../../../provider/resources/container/container-attributes.ts';
import { container } from '../../../provider/resources/container/container.ts';
import { createBody, putContainer, readContainer } from '../../../provider/resources/container/container-state.ts';
import { project } from '../../../provider/resources/project.ts';
import { inheritedKey } from '../../../provider/resources/shared/inherited.ts';
import { storageVolume } from '../../../provider/resources/storage/storage-volume.ts';
import { liveContainer } from '../../support/fakes/worlds.ts';

test('A volume does not show the keys that it got from its pool, nor those that its use changes', async () => {
  const config = {
    'snapshots.schedule': '@daily',
    'snapshots.expiry': '3d',
    'security.shifted': 'true',
    'user.a': 'b',
    'volatile.idmap.last': '[]',
  };
  const client = {
    server: { environment: { server_clustered: false } },
    client: { http: { send: async () => ({ metadata: { name: 'v', description: '', config, location: 'none' } }) } },
  };
  const context = { client, privateData: {}, signal: new AbortController().signal };
  const resource: AnyResource<Link> = storageVolume;
  type Read = Parameters<AnyResource<Link>['read']>;
  const read = (written: Readonly<Record<string, string>>) => {
    const state = { pool: 'p', name: 'v', config: written, effective_config: {}, target: null, location: 'none' };
    return resource.read(state, context as unknown as Read[1]);
  };
  const found = await read({ 'user.a': 'b' });
  const { 'volatile.idmap.last': _note, ...effective } = config;
  expect(found).toMatchObject({ config: { 'user.a': 'b' } });
  expect(found?.['effective_config']).toEqual(effective);
  expect((await read({ 'snapshots.expiry': '1d' }))?.['config']).toMatchObject({ 'snapshots.expiry': '3d' });
});

test.each([
  ['nothing else changes', {}, { 'features.images': 'true', 'user.a': 'b' }],
  ['something else changes', { description: 'new' }, { 'user.a': 'b' }],
])(
  'The plan of an imported project notes what is configured only where it is updated: %s',
  async (_, more, expected) => {
    const explain = (what: string, error: unknown): never => {
      throw new Error(what, { cause: error });
    };
    const nothing = Object.fromEntries(Object.keys(project.attributes).map((name) => [name, null]));
    const live = { 'features.images': 'true', 'user.a': 'b' };
    const prior = {
      ...nothing,
      name: 'p',
      description: '',
      config: live,
      effective_config: live,
      force_destroy: false,
    };
    const config = { ...nothing, name: 'p', config: { 'user.a': 'b' }, ...more };
    const deps = { resource: project, client: undefined, explain };
    const { planned } = await planResource(deps, { config, prior, isImported: true });
    expect(planned?.['config']).toEqual(expected);
  },
);

describe('a container with an instance type', () => {
  const attributes = container.attributes;
  const nothing = Object.fromEntries(Object.keys(attributes).map((name) => [name, null]));
  const planned = (config: object): ContainerState =>
    ({ ...nothing, name: 'web', instance_type: 'c1.5-m1', config }) as unknown as ContainerState;
  const sizes = { 'limits.cpu': '2', 'limits.cpu.allowance': '75%', 'limits.memory': '1024MB' };

  test('It neither shows nor removes the limits that the type has set', () => {
    const state = planned({ 'user.a': 'b' });
    const { config } = createBody(state, {});
    const live = liveContainer('web', { config: { ...sizes, ...config } });
    expect(readContainer(live, state).config).toEqual({ 'user.a': 'b' });
    expect(putContainer(state, state, live).config).toMatchObject(sizes);
  });

  test('A limit that it declares is its own', () => {
    const state = planned({ 'limits.memory': '2GiB' });
    const { config } = createBody(state, {});
    const live = liveContainer('web', { config: { ...sizes, ...config } });
    expect(readContainer(live, state).config).toEqual({ 'limits.memory': '2GiB' });
    expect(putContainer(planned({}), state, live).config).not.toHaveProperty(['limits.memory']);
  });

  test('A container without a type has no such note', () =>
    expect(createBody({ ...planned({}), instance_type: null }, {}).config).not.toHaveProperty([inheritedKey]));
});
