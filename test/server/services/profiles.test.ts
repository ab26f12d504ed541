// Profiles over the real daemon on the simulation: rules, use by containers, renaming (spec 2.11, 4.11).
import { describe, expect, test } from 'vitest';
import { createContainer, lifecycleOf, setState, type Json } from '../../support/daemons/daemon.ts';
import { seededDaemon } from '../../support/daemons/file-daemon.ts';

const daemon = await seededDaemon();

let count = 0;
const fresh = (): string => `p${(count += 1)}`;
const get = (name: string): Promise<Json> => daemon.get(`/1.0/profiles/${name}`);
const create = async (name: string, more: object = {}): Promise<void> => {
  const answer = await daemon.call('POST', '/1.0/profiles', { name, ...more });
  expect([answer.status, answer.bytes.toString()]).toEqual([200, expect.anything()]);
};
const paths = (body: Json): string[] => (body.metadata.details as { path: string }[]).map((each) => each.path);

describe('creating a profile', () => {
  test('answers 200, and GET returns the sent object', async () => {
    const name = fresh();
    const devices = { eth0: { type: 'nic', nictype: 'p2p' } };
    const answer = await daemon.call('POST', '/1.0/profiles', {
      name,
      description: 'd',
      config: { 'user.a': '1', 'user.b': '' },
      devices,
    });
    expect([answer.status, answer.headers.location]).toEqual([200, `/1.0/profiles/${name}`]);
    expect(await get(name)).toEqual({ name, description: 'd', config: { 'user.a': '1' }, devices, used_by: [] });
    expect(await daemon.get('/1.0/profiles')).toContain(`/1.0/profiles/${name}`);
  });

  test('creating a profile with a taken name answers 409', async () => {
    const name = fresh();
    await create(name);
    expect((await daemon.call('POST', '/1.0/profiles', { name })).status).toBe(409);
    expect((await daemon.call('POST', '/1.0/profiles', { name: 'default' })).status).toBe(409);
  });

  test.each(['', 'a/b', '.', '..', 'a b', 'grün', 'x'.repeat(65)])(
    'creating a profile with the name %j answers 400',
    async (name) => {
      const answer = await daemon.call('POST', '/1.0/profiles', { name });
      expect([answer.status, paths(answer.body)]).toEqual([400, ['name']]);
    },
  );

  test.each([
    [{ config: { 'limits.cpus': '1' } }, ['config.limits.cpus']],
    [{ config: { 'volatile.eth0.hwaddr': '00:16:3e:00:00:01' } }, ['config.volatile.eth0.hwaddr']],
    [{ config: { 'image.os': 'x' } }, ['config.image.os']],
    [{ config: { 'limits.memory': 'lots' } }, ['config.limits.memory']],
    [{ config: { 'user.n': 7 } }, ['config.user.n']],
    [{ config: [] }, ['config']],
    [{ config: { 'no.such': '' } }, ['config.no.such']],
    [{ devices: { a: { type: 'fish' } } }, ['devices.a.type']],
    [{ devices: { a: { type: 'none', path: '/x' } } }, ['devices.a.path']],
    [{ devices: { a: { type: 'none', path: '' } } }, ['devices.a.path']],
    [{ devices: { a: {} } }, ['devices.a.type']],
    [{ devices: { a: { type: 'nic', network: 'gone' } } }, ['devices.a.network']],
    [{ config: { 'nvidia.runtime': 'true', 'security.privileged': '1' } }, ['config.nvidia.runtime']],
  ])('with %j names the wrong place', async (more, wrong) => {
    const answer = await daemon.call('POST', '/1.0/profiles', { name: 'bad', ...more });
    expect([answer.status, paths(answer.body)]).toEqual([400, wrong]);
    expect((await daemon.call('GET', '/1.0/profiles/bad')).status).toBe(404);
  });
});

describe('changing a profile', () => {
  test('PUT replaces all, PATCH merges, the name in a body is ignored', async () => {
    const name = fresh();
    await create(name, {
      description: 'd',
      config: { 'user.a': '1', 'user.b': '2' },
      devices: { x: { type: 'none' } },
    });
    expect(
      (await daemon.call('PATCH', `/1.0/profiles/${name}`, { name: 'other', config: { 'user.a': '', 'user.c': '3' } }))
        .status,
    ).toBe(200);
    expect(await get(name)).toEqual({
      name,
      description: 'd',
      config: { 'user.b': '2', 'user.c': '3' },
      devices: { x: { type: 'none' } },
      used_by: [],
    });
    expect(
      (await daemon.call('PUT', `/1.0/profiles/${name}`, { name: 'other', config: { 'user.d': '4' } })).status,
    ).toBe(200);
    expect(await get(name)).toEqual({ name, description: '', config: { 'user.d': '4' }, devices: {}, used_by: [] });
  });

  test('a change of a missing one answers 404; a bad value 400 with its path', async () => {
    for (const method of ['PUT', 'PATCH']) {
      expect((await daemon.call(method, '/1.0/profiles/nobody', {})).status).toBe(404);
      const bad = await daemon.call(method, '/1.0/profiles/default', { config: { 'limits.cpu': '-' } });
      expect([bad.status, paths(bad.body)]).toEqual([400, ['config.limits.cpu']]);
    }
  });

  test('If-Match with an old ETag answers 412; used_by does not change the ETag', async () => {
    const name = fresh();
    await create(name);
    const path = `/1.0/profiles/${name}`;
    const etag = String((await daemon.call('GET', path)).headers.etag);
    await createContainer(daemon, `c-${name}`, { profiles: ['default', name] });
    expect((await daemon.call('PATCH', path, { description: 'x' }, { 'if-match': etag })).status).toBe(200);
    expect((await daemon.call('PATCH', path, { description: 'y' }, { 'if-match': etag })).status).toBe(412);
    expect((await daemon.call('PUT', path, { description: 'y' }, { 'if-match': etag })).status).toBe(412);
    expect((await get(name)).description).toBe('x');
  });

  test('changing a profile that would remove or move the root disk of a container is refused with its name', async () => {
    const name = fresh();
    await daemon.call('POST', '/1.0/storage-pools', { name: 'second', driver: 'dir' });
    await create(name, { devices: { root: { type: 'disk', path: '/', pool: 'default' } } });
    await createContainer(daemon, `c-${name}`, { profiles: [name] });
    for (const devices of [{}, { root: { type: 'disk', path: '/', pool: 'second' } }]) {
      const answer = await daemon.call('PUT', `/1.0/profiles/${name}`, { devices });
      expect([answer.status, paths(answer.body)]).toEqual([400, ['devices']]);
      expect(answer.body.metadata.message).toContain(`c-${name}`);
    }
    expect((await get(name)).devices.root.pool).toBe('default');
  });

  test('changing a profile that a running container cannot apply is stored, and the answer names the failed container', async () => {
    const name = fresh();
    await create(name, { config: { 'limits.memory': '1GB' } });
    await createContainer(daemon, `c-${name}`, { profiles: ['default', name] });
    await setState(daemon, `c-${name}`, 'start');
    daemon.sim.faults.inject({
      operation: 'updateLimits',
      container: `c-${name}`,
      error: 'the kernel said no',
      times: 1,
    });
    const answer = await daemon.call('PATCH', `/1.0/profiles/${name}`, { config: { 'limits.memory': '2GB' } });
    expect(answer.status).toBe(500);
    expect(answer.body.metadata.message).toMatch(new RegExp(`saved.*c-${name}.*the kernel said no`));
    expect((await get(name)).config).toEqual({ 'limits.memory': '2GB' });
  });
});

describe('the profile default', () => {
  test('exists from the start, can be edited, but neither renamed nor deleted', async () => {
    expect((await daemon.call('PATCH', '/1.0/profiles/default', { config: { 'user.x': '1' } })).status).toBe(200);
    for (const [method, body] of [
      ['POST', { name: 'other' }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await daemon.call(method, '/1.0/profiles/default', body);
      expect([answer.status, answer.body.error_code, answer.body.metadata.code]).toEqual([403, 403, 'protectedObject']);
    }
  });
});

describe('renaming a profile', () => {
  test('answers 204 without body and with the new Location; containers follow', async () => {
    const [from, to] = [fresh(), fresh()];
    await create(from, { config: { 'user.from': 'profile' } });
    await createContainer(daemon, `c-${from}`, { profiles: ['default', from] });
    const listening = await daemon.listen('lifecycle');
    const answer = await daemon.call('POST', `/1.0/profiles/${from}`, { name: to });
    expect([answer.status, answer.headers.location, answer.bytes.length]).toEqual([204, `/1.0/profiles/${to}`, 0]);
    expect((await daemon.call('GET', `/1.0/profiles/${from}`)).status).toBe(404);
    expect((await get(to)).used_by).toEqual([`/1.0/containers/c-${from}`]);
    const container = await daemon.get(`/1.0/containers/c-${from}`);
    expect([container.profiles, container.expanded_config['user.from']]).toEqual([['default', to], 'profile']);
    const event = await listening.next((each) => lifecycleOf(each).action === 'profile-renamed');
    expect(event.metadata).toMatchObject({ source: `/1.0/profiles/${from}`, context: { new_name: to } });
    listening.close();
  });

  test('onto an existing name answers 409, also onto its own; to a bad name 400; of a missing one 404', async () => {
    const [one, two] = [fresh(), fresh()];
    await create(one);
    await create(two);
    for (const [name, to, status] of [
      [one, two, 409],
      [one, one, 409],
      [one, 'default', 409],
      [one, 'a/b', 400],
      [one, '', 400],
      ['nobody', 'x', 404],
    ] as const) {
      expect([to, (await daemon.call('POST', `/1.0/profiles/${name}`, { name: to })).status]).toEqual([to, status]);
    }
    expect((await daemon.call('POST', `/1.0/profiles/${one}`, {})).status).toBe(400);
  });
});

describe('deleting a profile', () => {
  test('answers 202 with a sync envelope; in use it answers 400 and names the users', async () => {
    const name = fresh();
    await create(name);
    await createContainer(daemon, `c-${name}`, { profiles: ['default', name] });
    const used = await daemon.call('DELETE', `/1.0/profiles/${name}`);
    expect([used.status, used.body.metadata.code]).toEqual([400, 'inUse']);
    expect(used.body.metadata.message).toContain(`c-${name}`);
    await daemon.ok('DELETE', `/1.0/containers/c-${name}`);
    const answer = await daemon.call('DELETE', `/1.0/profiles/${name}`);
    expect([answer.status, answer.body.type]).toEqual([202, 'sync']);
    expect((await daemon.call('DELETE', `/1.0/profiles/${name}`)).status).toBe(404);
  });

  test('while containers with it are being created never leaves a container without its profile', async () => {
    for (let round = 0; round < 10; round += 1) {
      const name = fresh();
      await create(name);
      const [deleted, created] = await Promise.all([
        daemon.call('DELETE', `/1.0/profiles/${name}`),
        daemon.call('POST', '/1.0/containers', {
          name: `c-${name}`,
          profiles: ['default', name],
          source: { type: 'none' },
        }),
      ]);
      const made = created.status === 202 && (await daemon.wait(created.body.operation as string)).status === 'Success';
      expect([deleted.status < 300, made].filter(Boolean)).toHaveLength(1);
    }
  });
});

test('a snapshot follows the rename of a profile, and is restored under the new name; its pool lists it as a user', async () => {
  const [profile, to, name] = ['follow-old', 'follow-new', 'follower'];
  await daemon.call('POST', '/1.0/profiles', { name: profile, config: { 'user.p': '1' } });
  await createContainer(daemon, name, { profiles: ['default', profile] });
  await daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 's' });
  await daemon.ok('PUT', `/1.0/containers/${name}`, { profiles: ['default'] });
  expect((await daemon.call('POST', `/1.0/profiles/${profile}`, { name: to })).status).toBe(204);
  expect((await daemon.get(`/1.0/containers/${name}/snapshots/s`)).profiles).toEqual(['default', to]);
  await daemon.ok('PUT', `/1.0/containers/${name}`, { restore: 's' });
  expect((await daemon.get(`/1.0/containers/${name}`)).profiles).toEqual(['default', to]);
  expect((await daemon.get('/1.0/storage-pools/default')).used_by).toContain(`/1.0/containers/${name}/snapshots/s`);
  await daemon.ok('DELETE', `/1.0/containers/${name}`);
  expect((await daemon.call('DELETE', `/1.0/profiles/${to}`)).status).toBe(202);
});

test('a profile with 200 users can be listed, changed and renamed', async () => {
  const name = fresh();
  await create(name);
  // Some at a time: an operation that has ended is kept for seconds, and each must be asked for by then.
  for (let from = 0; from < 200; from += 20)
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        createContainer(daemon, `u${from + index}`, { profiles: ['default', name] }),
      ),
    );
  expect((await get(name)).used_by).toHaveLength(200);
  expect((await daemon.call('PATCH', `/1.0/profiles/${name}`, { config: { 'user.all': 'yes' } })).status).toBe(200);
  const list = (await daemon.get('/1.0/containers?recursion=1')) as Json[];
  expect(list.filter((each) => each.expanded_config['user.all'] === 'yes')).toHaveLength(200);
  const to = fresh();
  const renamed = await daemon.call('POST', `/1.0/profiles/${name}`, { name: to });
  expect([renamed.status, renamed.bytes.toString()]).toEqual([204, '']);
  expect((await get(to)).used_by).toHaveLength(200);
  const after = (await daemon.get('/1.0/containers?recursion=1')) as Json[];
  expect(after.filter((each) => (each.profiles as string[]).includes(to))).toHaveLength(200);
  expect((await daemon.call('GET', `/1.0/profiles/${name}`)).status).toBe(404);
});
