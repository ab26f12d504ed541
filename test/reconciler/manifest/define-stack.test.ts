// Stacks in TypeScript give the same documents as the equivalent YAML.
import { expect, test } from 'vitest';
import { defineStack } from '../../../reconciler/manifest/define-stack.ts';
import { loadManifests } from '../../../reconciler/manifest/load.ts';

test('a stack is YAML that loads without diagnostics, including references', async () => {
  const stack = defineStack((s) => {
    s.serverConfig({ 'images.remote_cache_expiry': 5 });
    const pool = s.storagePool('fast', { driver: 'dir' });
    const data = s.storageVolume('data', { pool, description: 'Of the database' });
    const lan = s.network('lan0', { config: { 'ipv4.address': '10.1.0.1/24', 'ipv4.nat': true } });
    const web = s.profile('web', {
      config: { 'limits.memory': '64MiB', 'environment.PASSWORD': { from_env: 'PW' } },
      devices: { root: { type: 'disk', path: '/', pool }, eth0: { type: 'nic', nictype: 'bridged', parent: lan } },
    });
    const alias = 'debian/12';
    s.container('c1', {
      profiles: [web],
      source: alias,
      devices: { data: { type: 'disk', pool, source: data, path: '/data' } },
      manage: { protect: true },
    });
    s.container('c2', { profiles: ['default', web], source: { type: 'none' }, state: 'stopped' });
  });
  const loaded = await loadManifests({ paths: ['-'], stdin: stack.toYaml(), env: { PW: 'x' } });
  expect(loaded.diagnostics).toEqual([]);
  expect(loaded.documents.map(({ address }) => address)).toEqual([
    'server_config/server',
    'storage_pool/fast',
    'storage_volume/fast/data',
    'network/lan0',
    'profile/web',
    'container/c1',
    'container/c2',
  ]);
  expect(loaded.documents[5]).toMatchObject({
    values: {
      profiles: ['web'],
      source: { type: 'image', alias: 'debian/12' },
      devices: { data: { type: 'disk', pool: 'fast', source: 'data', path: '/data' } },
    },
    manage: { protect: true },
  });
  expect(stack.documents[4]).toMatchObject({ devices: { eth0: { parent: 'lan0' }, root: { pool: 'fast' } } });
});

test('images are named by their document, aliases by their name', () => {
  const { documents } = defineStack((s) => {
    const base = s.image('base', { file: 'base.tar.gz' });
    const alias = s.imageAlias('my/base', { target: base });
    s.container('a', { source: base });
    s.container('b', { source: alias });
  });
  expect(documents.slice(1)).toEqual([
    { kind: 'image_alias', name: 'my/base', target: 'base' },
    { kind: 'container', name: 'a', source: { type: 'image', fingerprint: 'base' } },
    { kind: 'container', name: 'b', source: { type: 'image', alias: 'my/base' } },
  ]);
});

test('a name that is declared twice is refused at once', () => {
  expect(() =>
    defineStack((s) => {
      s.profile('web');
      s.profile('web');
    }),
  ).toThrow('profile/web is declared twice');
});

test('projects are referred to like all other objects, and members and sources are written as in YAML', async () => {
  const stack = defineStack((s) => {
    const team = s.project('team', { config: { 'limits.containers': 3 } });
    const members = { node2: { config: { source: '/dev/sdb' } } };
    s.storagePool('fast', { driver: 'zfs', member_overrides: members });
    const base = s.image('base', { project: team, source: { type: 'url', url: 'https://images.example/base' } });
    s.profile('web', {});
    s.profile('web', { project: team });
    s.container('c1', { project: team, target: 'node2', profiles: ['web'], source: base });
  });
  const loaded = await loadManifests({ paths: ['-'], stdin: stack.toYaml() });
  expect(loaded.diagnostics).toEqual([]);
  expect(loaded.documents.map(({ address, project = '' }) => `${address} ${project}`.trim())).toEqual([
    'project/team',
    'storage_pool/fast',
    'image/base@team team',
    'profile/web',
    'profile/web@team team',
    'container/c1@team team',
  ]);
  expect(loaded.documents[1]?.values['member_overrides']).toEqual({ node2: { source: '/dev/sdb' } });
});
