// Containers over the real daemon on the simulation: creation, naming, changing, renaming, deleting (spec 2.5, 4.2).
import { existsSync, readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  createContainer,
  emptySource,
  type Json,
  lifecycleOf,
  setState,
  statusOf,
} from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { goodMetadata, rootfsDirectory, tarOf } from '../../../support/images/hostile.ts';

const daemon = await seededDaemon();
const images: string[] = [];
const nic = { type: 'nic', nictype: 'p2p' };

async function upload(metadata: string): Promise<string> {
  const bytes = tarOf({ name: 'metadata.yaml', content: metadata, mode: 0o644 }, rootfsDirectory, {
    name: 'rootfs/hello',
    content: metadata,
    mode: 0o644,
  });
  const { metadata: result } = await daemon.ok('POST', '/1.0/images', bytes);
  return String(result?.['fingerprint']);
}

beforeAll(async () => {
  images.push(
    await upload(`architecture: x86_64\ncreation_date: 1700000000\nproperties: {os: alpha, release: "1"}\n`),
    await upload(`architecture: x86_64\ncreation_date: 1800000000\nproperties: {os: alpha, release: "2"}\n`),
  );
  await daemon.call('POST', '/1.0/images/aliases', { name: 'alpha/one', target: images[0] });
});

let count = 0;
const fresh = (): string => `c${(count += 1)}`;
async function made(more: object = {}): Promise<string> {
  const name = fresh();
  await createContainer(daemon, name, more);
  return name;
}
/** The errors of the operations that begin. */
async function atOnce(times: number, send: () => Promise<Answer>): Promise<string[]> {
  const answers = await Promise.all(Array.from({ length: times }, send));
  const begun = answers.filter(({ status }) => status === 202);
  return Promise.all(begun.map(async ({ body }) => (await daemon.wait(body.operation as string)).err));
}
async function makeNetwork(name: string, address: string): Promise<void> {
  await daemon.call('POST', '/1.0/networks', { name, config: { 'ipv4.address': address, 'ipv6.address': 'none' } });
}
const get = (name: string): Promise<Json> => daemon.get(`/1.0/containers/${name}`);
const details = (body: Json): string[] => (body.metadata.details as { path: string }[]).map((each) => each.path);
const volume = (name: string): string => join(daemon.dir, 'storage-pools/default/containers', name);

describe('creating a container', () => {
  test('creating a container from nothing makes a record, an empty root file system and the object of the spec', async () => {
    const operation = await createContainer(daemon, 'none1', { description: 'first', config: { 'user.a': 'b' } });
    expect(operation).toMatchObject({
      class: 'task',
      may_cancel: false,
      resources: { containers: ['/1.0/containers/none1'] },
    });
    const container = await get('none1');
    expect(container).toMatchObject({
      name: 'none1',
      architecture: 'x86_64',
      profiles: ['default'],
      ephemeral: false,
      config: { 'user.a': 'b' },
      devices: {},
      expanded_devices: { root: { type: 'disk', path: '/', pool: 'default' } },
      last_used_at: '1970-01-01T00:00:00Z',
      stateful: false,
      status: 'Stopped',
      status_code: 102,
      description: 'first',
    });
    expect(container.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
    expect(readdirSync(join(volume('none1'), 'rootfs'))).toEqual([]);
  });

  test.each([
    ['an alias with a slash', () => ({ alias: 'alpha/one' }), 0],
    ['an alias, with mode pull but no server', () => ({ alias: 'alpha/one', mode: 'pull' }), 0],
    ['a fingerprint', () => ({ fingerprint: images[1] }), 1],
    ['the first characters of a fingerprint', () => ({ fingerprint: images[0]?.slice(0, 12) }), 0],
    ['properties: the most recent match is used', () => ({ properties: { os: 'alpha' } }), 1],
    ['properties that only one image has', () => ({ properties: { os: 'alpha', release: '1' } }), 0],
  ])('from an image named by %s', async (_how, source, index) => {
    const name = await made({ source: { type: 'image', ...source() } });
    const container = await get(name);
    expect(container.config['volatile.base_image']).toBe(images[index]);
    expect(container.config['image.os']).toBe('alpha');
    expect(existsSync(join(volume(name), 'rootfs/hello'))).toBe(true);
  });

  test.each<[source: unknown, status: number, paths?: readonly string[]]>([
    [{ type: 'image', alias: 'nothing' }, 404],
    [{ type: 'image', fingerprint: 'abcdef' }, 404],
    [{ type: 'image', properties: { os: 'beta' } }, 400],
    [{ type: 'image' }, 400],
    [{ type: 'image', alias: 'x', mode: 'pull', server: 'http://example.org' }, 400],
    [{ type: 'copy' }, 400, ['source.source']],
    [{ type: 'copy', source: 'nobody' }, 404, []],
    [{ type: 'migration' }, 400, ['source.operation', 'source.secrets.control', 'source.secrets.fs']],
    [{ type: 'migration', mode: 'relay' }, 400, []],
    [{ type: 'teleport' }, 400, ['source.type']],
    [{}, 400, ['source.type']],
    [undefined, 400, ['source']],
    ['none', 400, ['source']],
  ])('the source %j is refused at once', async (source, status, paths) => {
    const answer = await daemon.call('POST', '/1.0/containers', { name: 'bad', source });
    expect([answer.status, details(answer.body)]).toEqual([status, paths ?? expect.anything()]);
    expect((await daemon.call('GET', '/1.0/containers/bad')).status).toBe(404);
  });

  test('a copy takes config, devices, profiles and files, and of the volatile keys only the base image', async () => {
    await createContainer(daemon, 'origin', {
      source: { type: 'image', alias: 'alpha/one' },
      config: { 'user.a': '1', 'user.b': '2' },
      devices: { eth0: nic },
    });
    await createContainer(daemon, 'copied', { source: { type: 'copy', source: 'origin' }, config: { 'user.b': '3' } });
    const [origin, copied] = [await get('origin'), await get('copied')];
    expect(copied.config).toMatchObject({ 'user.a': '1', 'user.b': '3', 'volatile.base_image': images[0] });
    expect(copied.devices).toEqual(origin.devices);
    expect(copied.config['volatile.eth0.hwaddr']).toMatch(/^00:16:3e:/);
    expect(copied.config['volatile.eth0.hwaddr']).not.toBe(origin.config['volatile.eth0.hwaddr']);
    expect(existsSync(join(volume('copied'), 'rootfs/hello'))).toBe(true);
  });

  test('profiles absent or null mean [default], [] means none', async () => {
    for (const more of [{}, { profiles: null }]) expect((await get(await made(more))).profiles).toEqual(['default']);
    const none = await daemon.call('POST', '/1.0/containers', { name: fresh(), profiles: [], source: emptySource });
    expect([none.status, details(none.body)]).toEqual([400, ['devices']]);
    const own = await made({ profiles: [], devices: { root: { type: 'disk', path: '/', pool: 'default' } } });
    expect((await get(own)).profiles).toEqual([]);
  });

  test('an absent or empty name is generated, and one of 64 characters is allowed', async () => {
    await createContainer(daemon, 'n'.repeat(64));
    for (const body of [{ source: emptySource }, { name: '', source: emptySource }]) {
      const { resources } = await daemon.ok('POST', '/1.0/containers', body);
      expect(resources?.['containers']?.[0]).toMatch(/^\/1\.0\/containers\/[a-z]+-[a-z]+/);
    }
  });

  test('an instance type becomes limits, which explicit config overrides', async () => {
    const name = await made({ instance_type: 'c2-m4', config: { 'limits.cpu': '1' } });
    expect((await get(name)).config).toMatchObject({ 'limits.cpu': '1', 'limits.memory': '4096MB' });
    const bad = await daemon.call('POST', '/1.0/containers', { source: emptySource, instance_type: 'huge' });
    expect([bad.status, details(bad.body)]).toEqual([400, ['instance_type']]);
  });

  test.each(['n'.repeat(65), 'a/b', 'a:b', 'a,b', 'a b', 'grün', '..', '.', '-x', 'a\u0000b', 'a\nb'])(
    'the name %j is refused',
    async (name) => {
      const answer = await daemon.call('POST', '/1.0/containers', { name, source: emptySource });
      const { code } = answer.body.metadata;
      expect([answer.status, code, details(answer.body)]).toEqual([400, 'invalidName', ['name']]);
    },
  );

  test('every problem of a body is reported with its path, and nothing is created', async () => {
    const answer = await daemon.call('POST', '/1.0/containers', {
      name: 'bad',
      source: emptySource,
      profiles: ['defualt'],
      config: { 'limits.memroy': '1GB', 'limits.cpu': 'many' },
      devices: { eth0: { type: 'nic' }, x: { type: 'fish' } },
    });
    expect([answer.status, answer.body.error_code]).toEqual([400, 400]);
    const paths = details(answer.body);
    expect(paths).toEqual(expect.arrayContaining(['profiles.0', 'config.limits.memroy', 'config.limits.cpu']));
    expect(paths.some((path) => path.startsWith('devices.eth0'))).toBe(true);
    expect(paths.some((path) => path.startsWith('devices.x'))).toBe(true);
    expect(answer.body.metadata.message).toMatch(/did you mean default\?/);
    expect(answer.body.metadata.message).toMatch(/limits\.memory/);
    expect((await daemon.call('GET', '/1.0/containers/bad')).status).toBe(404);
  });

  test('exactly one of twenty concurrent creations of one name succeeds, and a later one answers 409', async () => {
    const name = fresh();
    const errors = await atOnce(20, () => daemon.call('POST', '/1.0/containers', { name, source: emptySource }));
    expect(errors.filter((error) => error === '')).toHaveLength(1);
    for (const error of errors) expect(error).toMatch(/^$|already exists/);
    expect((await get(name)).status).toBe('Stopped');
    const answer = await daemon.call('POST', '/1.0/containers', { name, source: emptySource });
    expect([answer.status, answer.body.metadata.code]).toEqual([409, 'exists']);
  });

  test('fifty creations at once all succeed, each with an address of its own', async () => {
    const names = Array.from({ length: 50 }, fresh);
    await Promise.all(names.map((name) => createContainer(daemon, name, { devices: { eth0: nic } })));
    const addresses = await Promise.all(
      names.map(async (name) => (await get(name)).config['volatile.eth0.hwaddr'] as string),
    );
    expect(new Set(addresses).size).toBe(50);
  });

  test('an image deleted while a container is made from it leaves no unpacked copy', async () => {
    const fingerprint = await upload(`${goodMetadata}properties: {once: "yes"}\n`);
    const name = fresh();
    const [created] = await Promise.all([
      daemon.run('POST', '/1.0/containers', { name, source: { type: 'image', fingerprint } }),
      daemon.run('DELETE', `/1.0/images/${fingerprint}`),
    ]);
    expect(readdirSync(join(daemon.dir, 'storage-pools/default/images'))).not.toContain(fingerprint);
    expect((await daemon.call('GET', `/1.0/containers/${name}`)).status).toBe(created.status === 'Success' ? 200 : 404);
  });
});

describe('changing a container', () => {
  test('PUT replaces the whole; absent members are emptied; volatile and image keys stay', async () => {
    const name = await made({
      source: { type: 'image', alias: 'alpha/one' },
      description: 'old',
      config: { 'user.a': '1' },
      devices: { eth0: nic },
    });
    const before = await get(name);
    await daemon.ok('PUT', `/1.0/containers/${name}`, { profiles: ['default'], config: { 'user.b': '2' } });
    const after = await get(name);
    expect(after).toMatchObject({ description: '', devices: {}, ephemeral: false, profiles: ['default'] });
    expect(after.config['user.a']).toBeUndefined();
    expect(after.config).toMatchObject({ 'user.b': '2', 'image.os': 'alpha', 'volatile.base_image': images[0] });
    expect(after.created_at).toBe(before.created_at);
  });

  test('the answer of GET can be sent back by PUT without a change', async () => {
    const name = await made({ source: { type: 'image', alias: 'alpha/one' }, devices: { eth0: nic } });
    const before = await get(name);
    await daemon.ok('PUT', `/1.0/containers/${name}`, before);
    expect(await get(name)).toEqual(before);
  });

  test('the volatile keys of a device are removed with the device', async () => {
    const name = await made({ devices: { eth0: nic } });
    const before = await get(name);
    await daemon.ok('PUT', `/1.0/containers/${name}`, { ...before, devices: {} });
    expect(Object.keys((await get(name)).config).filter((key) => key.startsWith('volatile.eth0.'))).toEqual([]);
  });

  test('PATCH changes only present members; an empty value unsets; a named device is replaced as a whole', async () => {
    const name = await made({
      description: 'stays',
      config: { 'user.a': '1', 'user.b': '2' },
      devices: { eth0: { type: 'nic', nictype: 'p2p', mtu: '1400' }, eth1: nic },
    });
    const answer = await daemon.call('PATCH', `/1.0/containers/${name}`, {
      config: { 'user.a': '', 'user.c': '3' },
      devices: { eth0: nic },
    });
    expect(answer.status).toBe(200);
    const after = await get(name);
    expect(after).toMatchObject({
      description: 'stays',
      profiles: ['default'],
      config: { 'user.b': '2', 'user.c': '3' },
    });
    expect(after.config['user.a']).toBeUndefined();
    expect(after.devices).toEqual({ eth0: nic, eth1: nic });
    await daemon.call('PATCH', `/1.0/containers/${name}`, { devices: { eth1: {} } });
    expect(Object.keys((await get(name)).devices as object)).toEqual(['eth0']);
  });

  test('PATCH takes a hardware address, and null for profiles that stay', async () => {
    const name = await made({ devices: { eth0: nic } });
    const body = { config: { 'volatile.eth0.hwaddr': '00:16:3e:01:02:03' }, profiles: null };
    expect((await daemon.call('PATCH', `/1.0/containers/${name}`, body)).status).toBe(200);
    expect(await get(name)).toMatchObject({ ...body, profiles: ['default'] });
  });

  const doubled = { profiles: ['default', 'default', 'nobody'], config: { nonsense: 'x' } };
  test.each<[method: string, body: object, paths: readonly string[], message?: RegExp]>([
    ['PATCH', { config: { 'volatile.eth0.hwaddr': 'rubbish' } }, ['config.volatile.eth0.hwaddr']],
    ['PATCH', { profiles: [] }, ['devices']],
    ['PATCH', { devices: { root: { type: 'disk', path: '/', pool: 'other' } } }, ['devices'], /cannot move/],
    ['PUT', doubled, ['profiles.1', 'profiles.2', 'config.nonsense']],
    ['PUT', { ...doubled, architecture: 'z80' }, ['architecture']],
  ])('%s with %j is refused before its operation starts, with paths', async (method, body, paths, message = /./) => {
    await daemon.call('POST', '/1.0/storage-pools', { name: 'other', driver: 'dir' });
    const answer = await daemon.call(method, `/1.0/containers/${await made({ devices: { eth0: nic } })}`, body);
    expect([answer.status, details(answer.body)]).toEqual([400, paths]);
    expect(answer.body.metadata.message).toMatch(message);
    expect((await daemon.call(method, '/1.0/containers/nobody', {})).status).toBe(404);
  });

  test('If-Match with the ETag of GET passes, an older one answers 412 and changes nothing', async () => {
    const name = await made();
    const path = `/1.0/containers/${name}`;
    const etag = String((await daemon.call('GET', path)).headers.etag);
    expect((await daemon.call('PATCH', path, { description: 'one' }, { 'if-match': etag })).status).toBe(200);
    for (const [method, body] of [
      ['PATCH', { description: 'two' }],
      ['PUT', { profiles: ['default'], description: 'two' }],
    ] as const) {
      const stale = await daemon.call(method, path, body, { 'if-match': etag });
      expect([stale.status, stale.body.metadata.code]).toEqual([412, 'preconditionFailed']);
    }
    expect((await get(name)).description).toBe('one');
  });

  test('the ETag ignores volatile keys and states', async () => {
    const name = await made({ devices: { eth0: nic } });
    const path = `/1.0/containers/${name}`;
    const etag = (await daemon.call('GET', path)).headers.etag;
    await setState(daemon, name, 'start');
    expect((await daemon.call('GET', path)).headers.etag).toBe(etag);
    await setState(daemon, name, 'stop', { force: true });
    expect((await daemon.call('GET', path)).headers.etag).toBe(etag);
  });

  test('twenty PATCHes of different keys at once are all stored', async () => {
    const name = await made();
    const keys = Array.from({ length: 20 }, (_, index) => `user.k${index}`);
    const answers = await Promise.all(
      keys.map((key) => daemon.call('PATCH', `/1.0/containers/${name}`, { config: { [key]: '1' } })),
    );
    expect(answers.map((answer) => answer.status)).toEqual(keys.map(() => 200));
    expect(Object.keys((await get(name)).config as object).filter((key) => key.startsWith('user.k'))).toHaveLength(20);
  });

  test('live limits reach a running container, from its own config and from a profile', async () => {
    await daemon.call('POST', '/1.0/profiles', { name: 'limited', config: { 'limits.processes': '50' } });
    const name = await made({ profiles: ['default', 'limited'] });
    await setState(daemon, name, 'start');
    expect(daemon.sim.limits(name)).toMatchObject({ 'limits.processes': '50' });
    await daemon.call('PATCH', `/1.0/containers/${name}`, { config: { 'limits.memory': '64MB' } });
    expect(daemon.sim.limits(name)).toMatchObject({ 'limits.memory': '64MB' });
    await daemon.call('PUT', '/1.0/profiles/limited', { config: { 'limits.processes': '60' } });
    expect(daemon.sim.limits(name)).toMatchObject({ 'limits.processes': '60', 'limits.memory': '64MB' });
  });
});

describe('renaming a container', () => {
  test('moves record and files and keeps its config', async () => {
    const [from, to] = [fresh(), fresh()];
    await createContainer(daemon, from, { config: { 'user.a': '1' }, devices: { eth0: nic } });
    const before = await get(from);
    const listening = await daemon.listen('lifecycle');
    await daemon.ok('POST', `/1.0/containers/${from}`, { name: to });
    expect((await daemon.call('GET', `/1.0/containers/${from}`)).status).toBe(404);
    // For cloud-init it is another machine.
    const id = 'volatile.cloud-init.instance-id';
    const renamed = await get(to);
    expect(renamed.config[id]).not.toBe(before.config[id]);
    for (const config of [before.config, before.expanded_config]) config[id] = renamed.config[id];
    expect(renamed).toEqual({ ...before, name: to });
    expect([existsSync(volume(from)), existsSync(volume(to))]).toEqual([false, true]);
    const event = await listening.next((each) => lifecycleOf(each).action === 'container-renamed');
    expect(event.metadata).toMatchObject({ source: `/1.0/containers/${from}`, context: { new_name: to } });
    listening.close();
  });

  test('onto an existing name or its own answers 409, to a bad or missing one 400, of a missing container 404', async () => {
    const [one, two] = [await made(), await made()];
    const rename = async (body: object, from = one) =>
      (await daemon.call('POST', `/1.0/containers/${from}`, body)).status;
    for (const name of [one, two]) expect(await rename({ name })).toBe(409);
    for (const body of [{ name: 'a/b' }, { name: '' }, {}]) expect(await rename(body)).toBe(400);
    expect(await rename({ name: 'x' }, 'nobody')).toBe(404);
  });

  test('renaming a running container is refused', async () => {
    const name = await made();
    await setState(daemon, name, 'start');
    const answer = await daemon.call('POST', `/1.0/containers/${name}`, { name: fresh() });
    expect([answer.status, answer.body.metadata.code]).toEqual([400, 'running']);
  });

  test('keeps its reservations on a network', async () => {
    await makeNetwork('gtyaren', '10.214.7.1/24');
    const [from, to] = [fresh(), fresh()];
    const nic = { type: 'nic', nictype: 'bridged', parent: 'gtyaren', 'ipv4.address': '10.214.7.9' };
    await createContainer(daemon, from, { devices: { eth0: nic } });
    await daemon.ok('POST', `/1.0/containers/${from}`, { name: to });
    const leases: Json[] = await daemon.get('/1.0/networks/gtyaren/leases');
    expect(leases.filter(({ type }) => type === 'static')).toMatchObject([{ hostname: to, address: '10.214.7.9' }]);
    await setState(daemon, to, 'start');
    await daemon.get(`/1.0/containers/${to}/state`);
    expect(daemon.simNetwork.lookup('gtyaren', to)).toEqual(['10.214.7.9']);
    expect(daemon.simNetwork.lookup('gtyaren', from)).toEqual([]);
    await setState(daemon, to, 'stop', { force: true });
  });
});

describe('deleting a container', () => {
  test('removes record and files; a second one answers 404', async () => {
    const name = await made();
    await daemon.ok('DELETE', `/1.0/containers/${name}`);
    expect(existsSync(volume(name))).toBe(false);
    expect((await daemon.call('GET', `/1.0/containers/${name}`)).status).toBe(404);
    expect((await daemon.call('DELETE', `/1.0/containers/${name}`)).status).toBe(404);
  });

  test('is refused while it runs or is frozen', async () => {
    const name = await made();
    for (const action of ['start', 'freeze']) {
      await setState(daemon, name, action);
      expect((await daemon.call('DELETE', `/1.0/containers/${name}`)).status).toBe(400);
    }
    expect(await statusOf(daemon, name)).toBe('Frozen');
  });

  test('is refused with security.protection.delete, also from a profile', async () => {
    await daemon.call('POST', '/1.0/profiles', { name: 'safe', config: { 'security.protection.delete': 'true' } });
    const own = await made({ config: { 'security.protection.delete': 'true' } });
    const inherited = await made({ profiles: ['default', 'safe'] });
    for (const name of [own, inherited]) {
      const answer = await daemon.call('DELETE', `/1.0/containers/${name}`);
      expect(answer.status).toBe(403);
      expect(answer.body.metadata.message).toMatch(/protected/);
    }
    await daemon.call('PATCH', `/1.0/containers/${own}`, { config: { 'security.protection.delete': '' } });
    await daemon.ok('DELETE', `/1.0/containers/${own}`);
  });

  test('the deletion of a protected ephemeral container is postponed after its stop until it is permitted', async () => {
    const name = await made({ ephemeral: true, config: { 'security.protection.delete': 'true' } });
    for (const how of [{ force: true }, {}]) {
      await setState(daemon, name, 'start');
      expect((await setState(daemon, name, 'stop', how)).err).toBe('');
      expect(await statusOf(daemon, name)).toBe('Stopped');
    }
    await daemon.call('PATCH', `/1.0/containers/${name}`, { config: { 'security.protection.delete': '' } });
    await setState(daemon, name, 'start');
    await setState(daemon, name, 'stop', { force: true });
    expect((await daemon.call('GET', `/1.0/containers/${name}`)).status).toBe(404);
  });

  test('ten concurrent deletions succeed once; the others fail', async () => {
    const name = await made();
    const errors = await atOnce(10, () => daemon.call('DELETE', `/1.0/containers/${name}`));
    expect(errors.filter((error) => error === '')).toHaveLength(1);
    expect((await daemon.call('GET', `/1.0/containers/${name}`)).status).toBe(404);
  });

  test('succeeds although its network is down', async () => {
    await makeNetwork('gtyadown', '10.214.6.1/24');
    const name = await made({ devices: { eth0: { type: 'nic', nictype: 'bridged', parent: 'gtyadown' } } });
    await daemon.host.network.down('gtyadown');
    await daemon.ok('DELETE', `/1.0/containers/${name}`);
  });
});

describe('listing containers', () => {
  test('recursion=0 returns URLs, 1 objects, 2 also state, snapshots and backups', async () => {
    const name = await made();
    await setState(daemon, name, 'start');
    expect(await daemon.get('/1.0/containers?recursion=0')).toContain(`/1.0/containers/${name}`);
    const find = (list: Json): Json => (list as Json[]).find((each) => each.name === name);
    const one = find(await daemon.get('/1.0/containers?recursion=1'));
    expect(one).toEqual(await get(name));
    expect(one.state).toBeUndefined();
    const two = find(await daemon.get('/1.0/containers?recursion=2'));
    expect(two).toMatchObject({
      ...one,
      snapshots: null,
      backups: null,
      state: { status: 'Running', status_code: 103 },
    });
    expect(two.state.pid).toBeGreaterThan(0);
    expect(two.state.processes).toBeGreaterThan(0);
  });

  test('profiles apply in order, later ones win, own settings last; whole devices replace', async () => {
    await daemon.call('POST', '/1.0/profiles', {
      name: 'pa',
      config: { 'user.k': 'a', 'user.a': 'a' },
      devices: { eth0: { type: 'nic', nictype: 'p2p', mtu: '1400' } },
    });
    await daemon.call('POST', '/1.0/profiles', {
      name: 'pb',
      config: { 'user.k': 'b', 'user.l': 'b' },
      devices: { eth0: nic },
    });
    const ab = await made({ profiles: ['default', 'pa', 'pb'], config: { 'user.l': 'own' } });
    const ba = await made({ profiles: ['default', 'pb', 'pa'] });
    expect((await get(ab)).expanded_config).toMatchObject({ 'user.k': 'b', 'user.a': 'a', 'user.l': 'own' });
    expect((await get(ab)).expanded_devices.eth0).toEqual(nic);
    expect((await get(ba)).expanded_config).toMatchObject({ 'user.k': 'a', 'user.l': 'b' });
    expect((await get(ba)).expanded_devices.eth0).toEqual({ type: 'nic', nictype: 'p2p', mtu: '1400' });
  });
});

test('an unknown directory at the place of the volume is refused and not changed', async () => {
  await mkdir(join(volume('foreign'), 'data'), { recursive: true });
  const operation = await daemon.run('POST', '/1.0/containers', { name: 'foreign', source: emptySource });
  expect([operation.status, operation.err]).toEqual(['Failure', expect.stringMatching(/already exists/)]);
  expect(existsSync(join(volume('foreign'), 'data'))).toBe(true);
  expect((await daemon.call('GET', '/1.0/containers/foreign')).status).toBe(404);
});
