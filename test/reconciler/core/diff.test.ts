// Differences between a document and a live object.
import { describe, expect, test } from 'vitest';
import { diffObject } from '../../../reconciler/core/diff/diff.ts';
import type { JsonObject } from '../../../reconciler/core/documents/document.ts';
import { isStale, putBody } from '../../../reconciler/core/plan/apply-edits.ts';
import { sameText } from '../../../server/api/text/equality.ts';
import { parseIgnore } from '../../../reconciler/core/ownership/ignored-paths.ts';
import { coreKind } from '../../../reconciler/core/kinds/index.ts';
import { isSecret } from '../../../reconciler/core/documents/secret.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import {
  liveAcl,
  liveCertificate,
  liveContainer,
  liveNetwork,
  livePool,
  liveProfile,
} from '../../support/fakes/worlds.ts';

const diff = (kind: KindName, values: JsonObject, live: object, ignore: readonly string[] = []) =>
  diffObject(coreKind(kind), values, live, { ignore: parseIgnore(ignore) });
const paths = (kind: KindName, values: JsonObject, live: object, ignore: readonly string[] = []) =>
  diff(kind, values, live, ignore).changes.map((change) => change.path);

describe('equal texts', () => {
  test.each([
    ['security.nesting', 'true', 'YES', true],
    ['security.nesting', '0', 'off', true],
    ['security.nesting', 'true', 'false', false],
    ['limits.memory', '512MiB', '536870912', true],
    ['limits.memory', '512MB', '512MiB', false],
    ['limits.ingress', '10Mbit', '10000kbit', true],
    ['ipv6.address', 'FD42:0:0::1/64', 'fd42::1/64', true],
    ['ipv6.address', 'fd42::1/64', 'fd42::1/65', false],
    ['hwaddr', '00:16:3E:AA:BB:CC', '00:16:3e:aa:bb:cc', true],
    ['ipv4.routes', '10.1.0.0/24, 10.2.0.0/24', '10.1.0.0/24,10.2.0.0/24', true],
    ['user.flag', 'yes', 'true', false],
    ['environment.SIZE', '1kB', '1000', false],
    ['raw.lxc', 'a=1', 'a = 1', false],
    ['description', 'on', 'true', false],
    ['oidc.client.id', '0123', '123', false],
    ['candid.expiry', '03600', '3600', true],
    ['limits.kernel.memlock', '9223372036854775806', '9223372036854775807', false],
    ['limits.memory', '7EiB', '8070450532247928832', true],
    ['limits.kernel.memlock', '0009007199254740993', '9007199254740993', true],
  ])('%s: %s and %s: %s', (key, a, b, expected) => {
    expect(sameText(key, a, b)).toBe(expected);
  });
});

describe('diff', () => {
  test('only written keys are compared; the others are listed as unmanaged', () => {
    const live = liveContainer('c', {
      config: { 'limits.cpu': '1', 'user.a': 'x', 'volatile.base_image': 'f', 'image.os': 'b' },
    });
    const result = diff('container', { config: { 'limits.cpu': '2' } }, live);
    expect(result.changes).toMatchObject([{ path: 'config.limits.cpu', before: '1', after: '2', effect: 'live' }]);
    expect(result.unmanaged).toEqual(['config.user.a']);
  });

  test('null means: must be absent', () => {
    const live = liveContainer('c', { config: { 'user.a': 'x' }, devices: { eth1: { type: 'none' } } });
    const values = { config: { 'user.a': null, 'user.b': null }, devices: { eth1: null, eth2: null } };
    expect(diff('container', values, live).changes).toMatchObject([
      { path: 'config.user.a', after: undefined },
      { path: 'devices.eth1', after: undefined },
    ]);
  });

  test('an empty list of profiles differs from an omitted list', () => {
    const live = liveContainer('c', { profiles: ['default'] });
    expect(paths('container', { profiles: [] }, live)).toEqual(['profiles']);
    expect(paths('container', {}, live)).toEqual([]);
    expect(paths('container', { profiles: ['default'] }, live)).toEqual([]);
  });

  test('the source and the instance type apply at creation only: neither is ever a difference', () => {
    const values = { source: { type: 'image', alias: 'other' }, instance_type: 'c2-m4' };
    expect(paths('container', values, liveContainer('c'))).toEqual([]);
  });

  test('an architecture has several names', () => {
    expect(paths('container', { architecture: 'amd64' }, liveContainer('c'))).toEqual([]);
    expect(paths('container', { architecture: 'arm64' }, liveContainer('c'))).toEqual(['architecture']);
    expect(paths('container', { architecture: 'nonsense' }, liveContainer('c'))).toEqual(['architecture']);
  });

  test('the value that the server picked fulfils auto, none does not', () => {
    const auto = { config: { 'ipv4.address': 'auto' } };
    expect(paths('network', auto, liveNetwork('n'))).toEqual([]);
    expect(paths('network', auto, liveNetwork('n', { config: { 'ipv4.address': 'none' } }))).toEqual([
      'config.ipv4.address',
    ]);
    expect(diff('network', {}, liveNetwork('n')).unmanaged).toEqual([]);
  });

  test('the source of a pool is the one that the server reports; another driver needs another pool', () => {
    const live = livePool('p', { config: { source: 'UUID', 'volatile.initial_source': '/dev/sdb' } });
    const sourceAt = (source: string, at = live): readonly unknown[] =>
      diff('storage_pool', { driver: 'dir', config: { source } }, at).changes.map(({ path, effect }) => [path, effect]);
    expect(sourceAt('/dev/sdb')).toEqual([]);
    expect(sourceAt('/dev/sdc')).toEqual([['config.source', 'recreate']]);
    const directory = livePool('p', { config: { source: '/srv/pool' } });
    expect(sourceAt('/srv//pool/', directory)).toEqual([]);
    expect(sourceAt('/srv/other', directory)).toEqual([['config.source', 'recreate']]);
    // The original source is unknown.
    const found = livePool('p', { config: { source: '0a0a0a0a-1b1b-2c2c-3d3d-4e4e4e4e4e4e' } });
    expect(sourceAt('/dev/sdb', found)).toEqual([]);
    expect(diff('storage_pool', { driver: 'zfs' }, live).changes).toMatchObject([
      { path: 'driver', effect: 'recreate' },
    ]);
  });

  test('devices are compared property by property, and as a whole when the type differs', () => {
    const live = liveProfile('p', { devices: { eth0: { type: 'nic', nictype: 'bridged', parent: 'a', mtu: '1400' } } });
    const nic = { type: 'nic', nictype: 'bridged', parent: 'b' };
    const result = diff('profile', { devices: { eth0: nic } }, live);
    expect(result.changes.map((change) => change.path)).toEqual(['devices.eth0.parent']);
    expect(result.unmanaged).toEqual(['devices.eth0.mtu']);
    expect(paths('profile', { devices: { eth0: { type: 'none' } } }, live)).toEqual(['devices.eth0']);
  });

  test('ignored paths are neither compared nor written', () => {
    const live = liveContainer('c', { config: { 'limits.cpu': '1' }, devices: { eth0: { type: 'nic', name: 'a' } } });
    const values = { config: { 'limits.cpu': '2', 'limits.cpus': '3' }, devices: { eth0: { type: 'nic', name: 'b' } } };
    expect(paths('container', values, live, ['config.limits.cpu', 'devices.eth0.*'])).toEqual(['config.limits.cpus']);
  });

  test('the change holds the effect of a key on a running container', () => {
    const change = diff('container', { config: { 'security.privileged': 'true' } }, liveContainer('c')).changes[0];
    expect(change?.effect).toBe('restart');
    expect(diff('container', { architecture: 'aarch64' }, liveContainer('c')).changes[0]?.effect).toBe('recreate');
  });
});

describe('edits', () => {
  test('the body of a PUT is the live object with the edits, volatile keys kept, and the live object untouched', () => {
    const live = liveContainer('c', { config: { 'volatile.x': '1', 'user.a': '1', 'user.b': '1' } });
    const { changes } = diff('container', { config: { 'user.a': null, 'user.b': '2' } }, live);
    expect(putBody('container', live, changes)['config']).toEqual({ 'volatile.x': '1', 'user.b': '2' });
    expect(Object.keys(putBody('container', live, changes)).sort()).toEqual([
      'architecture',
      'config',
      'description',
      'devices',
      'ephemeral',
      'profiles',
    ]);
    expect(live.config['user.a']).toBe('1');
  });

  test('a step is stale when others changed a value that it edits, not when it is done already or others changed other values', () => {
    const live = liveContainer('c', { config: { 'user.a': '1' } });
    const edits = diff('container', { config: { 'user.a': '2' } }, live).changes;
    const step = {
      id: 's',
      action: 'update',
      edits,
      address: 'container/c',
      kind: 'container',
      name: 'c',
      needs: [],
      timeoutMs: 1,
    } as const;
    const now = (config: Record<string, string>): object => liveContainer('c', { config });
    expect(isStale(live, step)).toBe(false);
    expect(isStale(now({ 'user.a': '2' }), step)).toBe(false);
    expect(isStale(now({ 'user.a': '1', 'user.z': 'z' }), step)).toBe(false);
    expect(isStale(now({ 'user.a': '3' }), step)).toBe(true);
    expect(isStale(now({}), step)).toBe(true);
  });
});

test('a step is done only if the diff shows no change: names of a device are compared exactly', () => {
  const nic = { type: 'nic', nictype: 'bridged', parent: '01', 'limits.ingress': '10Mbit' };
  const live = liveContainer('c', { devices: { eth0: nic } });
  const wanted = { devices: { eth0: { ...nic, parent: '1', 'limits.ingress': '10000kbit' } } };
  const { changes } = diff('container', wanted, live);
  expect(changes.map(({ path }) => path)).toEqual(['devices.eth0.parent']);
  const object = { address: 'container/c', kind: 'container', name: 'c' } as const;
  const step = { id: 's', action: 'update', edits: changes, ...object, needs: [], timeoutMs: 1 } as const;
  expect(isStale(live, step)).toBe(false);
  const done = { ...step, edits: changes.map((edit) => ({ ...edit, before: edit.after })) };
  expect(isStale(live, done)).toBe(true);
  expect(isStale(putBody('container', live, changes), done)).toBe(false);
});

describe('lists', () => {
  test.each([
    [['a', 'a'], ['a', 'b'], true],
    [['a', 'b'], ['a', 'a'], true],
    [['a', 'b'], ['b', 'a'], false],
    [['a'], ['a', 'a'], false],
    [['a', 'a', 'b'], ['b', 'a'], false],
    [[], ['a'], true],
  ])('projects of a certificate are a set: %j wanted as %j changes them: %s', (now, wanted, isChanged) => {
    const live = liveCertificate('f'.repeat(64), { restricted: true, projects: now });
    const found = paths('certificate', { restricted: true, projects: wanted }, live);
    expect(found).toEqual(isChanged ? ['projects'] : []);
  });

  test('spaces around the texts of a rule, which servers drop, are no change; those between words are one', () => {
    const rule = { action: 'allow', state: 'enabled', description: 'two words', source: '10.0.0.1' } as const;
    const live = liveAcl('web', { ingress: [rule] });
    expect(paths('network_acl', { ingress: [{ ...rule, source: ' 10.0.0.1 ', destination: '' }] }, live)).toEqual([]);
    expect(paths('network_acl', { ingress: [{ ...rule, description: 'twowords' }] }, live)).toEqual(['ingress']);
    const several = liveAcl('web', { ingress: [{ ...rule, source: '10.0.0.1,10.0.0.2', description: 'a,b' }] });
    const listed = { ...rule, source: '10.0.0.1, 10.0.0.2' };
    expect(paths('network_acl', { ingress: [{ ...listed, description: 'a,b' }] }, several)).toEqual([]);
    expect(paths('network_acl', { ingress: [{ ...listed, description: 'a, b' }] }, several)).toEqual(['ingress']);
    expect(paths('network_acl', { ingress: [rule, rule] }, live)).toEqual(['ingress']);
  });
});

describe('secrets', () => {
  test.each([
    [['config', 'environment.DB_PASSWORD'], 'x', true],
    [['config', 'environment.API_KEY'], 'x', true],
    [['config', 'environment.PGPASSWORD'], 'x', true],
    [['config', 'user.user-data'], 'x', true],
    [['config', 'environment.DATABASE_URL'], 'postgres://a:b@c/d', true],
    [['source', 'secret'], 'x', true],
    [['config', 'environment.PORT'], '80', false],
    [['config', 'security.protection.delete'], 'true', false],
    [['config', 'linux.kernel_modules'], 'ip_tables', false],
  ])('%j with %s is secret: %s', (segments, value, expected) => {
    expect(isSecret(segments, value)).toBe(expected);
  });
});
