// Containers of projects: names of one project never reach objects of another, whatever a request says.
import { beforeAll, describe, expect, test } from 'vitest';
import { emptySource } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { makeContainerIn, makeProject } from '../../../support/daemons/projects.ts';

const daemon = await seededDaemon();
beforeAll(async () => {
  await daemon.call('POST', '/1.0/storage-pools', { name: 'second', driver: 'dir' });
  for (const name of ['a', 'b']) await makeProject(daemon, name);
  await makeProject(daemon, 'shared', { 'features.profiles': 'false' });
});

let count = 0;
const fresh = (): string => `c${(count += 1)}`;
const namesIn = async (project: string): Promise<readonly string[]> =>
  (await daemon.get(`/1.0/containers?recursion=1&project=${project}`)).map((one: { name: string }) => one.name);
const copyFrom = (source: object) => ({ source: { type: 'copy', ...source } });

test('two containers of one name in two projects are two machines with their own states', async () => {
  const name = fresh();
  for (const project of ['a', 'b', 'default']) await makeContainerIn(daemon, project, name, { description: project });
  await daemon.ok('PUT', `/1.0/containers/${name}/state?project=a`, { action: 'start' });
  const read = async (project: string) => daemon.get(`/1.0/containers/${name}?project=${project}`);
  expect([(await read('a')).status, (await read('b')).status]).toEqual(['Running', 'Stopped']);
  expect((await read('default')).description).toBe('default');
  await daemon.ok('DELETE', `/1.0/containers/${name}?project=b`);
  expect((await read('a')).status).toBe('Running');
  expect((await daemon.call('GET', `/1.0/containers/${name}?project=b`)).status).toBe(404);
  await daemon.ok('PUT', `/1.0/containers/${name}/state?project=a`, { action: 'stop', force: true });
});

test('the output of a recorded command is at the URLs that it names, and in no other project', async () => {
  const name = fresh();
  await makeContainerIn(daemon, 'a', name);
  await daemon.ok('PUT', `/1.0/containers/${name}/state?project=a`, { action: 'start' });
  const command = { command: ['echo', 'hello'], 'record-output': true, 'wait-for-websocket': false };
  const { metadata } = await daemon.ok('POST', `/1.0/containers/${name}/exec?project=a`, command);
  const urls: readonly string[] = Object.values((metadata as { output: Record<string, string> }).output);
  expect(urls).toHaveLength(2);
  const listed: readonly string[] = await daemon.get(`/1.0/containers/${name}/logs?project=a`);
  expect(listed).toEqual(expect.arrayContaining([...urls]));
  for (const url of urls) {
    expect([url, (await daemon.call('GET', url)).status]).toEqual([url, 200]);
    const elsewhere = url.replace('project=a', 'project=b');
    expect([elsewhere, (await daemon.call('GET', elsewhere)).status]).toEqual([elsewhere, 404]);
  }
  expect((await daemon.call('DELETE', urls[0] ?? '')).status).toBe(200);
  expect((await daemon.call('GET', urls[0] ?? '')).status).toBe(404);
  await daemon.ok('PUT', `/1.0/containers/${name}/state?project=a`, { action: 'stop', force: true });
});

test('a profile of a project is not deleted while a container gets it', async () => {
  const name = fresh();
  await makeContainerIn(daemon, 'a', name);
  for (let round = 0; round < 20; round += 1) {
    const profile = `p${round}`;
    await daemon.call('POST', '/1.0/profiles?project=a', { name: profile });
    await Promise.all([
      daemon.call('PATCH', `/1.0/containers/${name}?project=a`, { profiles: ['default', profile] }),
      daemon.call('DELETE', `/1.0/profiles/${profile}?project=a`),
    ]);
    const { profiles } = await daemon.get(`/1.0/containers/${name}?project=a`);
    const isThere = (await daemon.call('GET', `/1.0/profiles/${profile}?project=a`)).status === 200;
    expect([round, profiles.includes(profile)]).toEqual([round, isThere]);
  }
});

describe('a name with %', () => {
  const escaped = 'a%25secret';

  test('the name in a path reaches no other project', async () => {
    await makeContainerIn(daemon, 'a', 'secret');
    const paths = [
      '',
      '/state',
      '/snapshots',
      '/backups',
      '/metadata',
      '/console',
      '/files?path=/',
      '/metadata/templates',
    ];
    for (const project of ['default', 'b', 'a'])
      for (const path of paths) {
        const join = path.includes('?') ? '&' : '?';
        const url = `/1.0/containers/${escaped}${path}${join}project=${project}`;
        expect([url, (await daemon.call('GET', url)).status]).toEqual([url, 404]);
      }
    for (const url of [`/1.0/containers/${escaped}`, `/1.0/profiles/a%25default`])
      for (const method of ['PUT', 'PATCH', 'DELETE', 'POST']) {
        const answer = await daemon.call(method, url, method === 'DELETE' ? undefined : { name: 'x' });
        expect([method, url, answer.status]).toEqual([method, url, 404]);
      }
    expect((await daemon.call('GET', `/1.0/containers/${escaped}/logs`)).status).toBe(400);
  });

  test('the name in a body reaches no other project', async () => {
    await makeContainerIn(daemon, 'a', fresh());
    const target = `c${count}`;
    const bodies: readonly object[] = [
      { name: fresh(), ...copyFrom({ source: `a%${target}` }) },
      { name: fresh(), ...copyFrom({ source: `a%${target}`, project: 'b' }) },
      { name: fresh(), ...copyFrom({ source: target, project: 'a%b' }) },
      { name: `a%${target}`, source: emptySource },
      { name: `a%${target}`, ...copyFrom({ source: `a%${target}`, refresh: true }) },
      { name: fresh(), source: emptySource, profiles: ['a%default'] },
    ];
    for (const body of bodies) {
      const { status } = await daemon.call('POST', '/1.0/containers', body);
      expect([body, [400, 404].includes(status)]).toEqual([body, true]);
    }
    await makeContainerIn(daemon, 'default', fresh());
    const own = `/1.0/containers/c${count}`;
    for (const body of [{ name: 'a%x' }, { name: 'x', project: 'a%b' }, { name: 'a%x', pool: 'second' }])
      expect([400, 404]).toContain((await daemon.call('POST', own, body)).status);
    expect([400, 404]).toContain((await daemon.call('PUT', own, { profiles: ['a%default'] })).status);
    expect((await daemon.call('POST', '/1.0/profiles', { name: 'a%p' })).status).toBe(400);
    expect((await daemon.call('POST', `${own}/snapshots`, { name: 'a%s' })).status).toBe(400);
    expect((await daemon.call('POST', `${own}/backups`, { name: 'a%s' })).status).toBe(400);
  });
});

describe('a copy', () => {
  test('comes from the project of the request, or from the one that it names', async () => {
    const name = fresh();
    await makeContainerIn(daemon, 'a', name, { description: 'in a' });
    await daemon.ok('POST', `/1.0/containers/${name}/snapshots?project=a`, { name: 's' });
    expect(
      (await daemon.call('POST', '/1.0/containers?project=b', { name, ...copyFrom({ source: name }) })).status,
    ).toBe(404);
    await daemon.ok('POST', '/1.0/containers?project=b', { name, ...copyFrom({ source: name, project: 'a' }) });
    expect(await daemon.get(`/1.0/containers/${name}/snapshots?project=b`)).toEqual([
      `/1.0/containers/${name}/snapshots/s?project=b`,
    ]);
    const unknown = await daemon.call('POST', '/1.0/containers', {
      name,
      ...copyFrom({ source: name, project: 'zzz' }),
    });
    expect([unknown.status, unknown.metadata.message]).toEqual([404, 'The project zzz was not found']);
  });

  test('needs the profiles of the project that it comes to', async () => {
    const name = fresh();
    await daemon.call('POST', '/1.0/profiles?project=a', { name: 'only-a' });
    await makeContainerIn(daemon, 'a', name, { profiles: ['default', 'only-a'] });
    const body = { name, ...copyFrom({ source: name, project: 'a' }) };
    const refused = await daemon.call('POST', '/1.0/containers?project=b', body);
    expect([refused.status, refused.metadata.message]).toEqual([
      400,
      expect.stringMatching(/there is no profile only-a/),
    ]);
    await daemon.ok('POST', '/1.0/containers?project=b', { ...body, profiles: ['default'] });
  });

  test('is brought up to date from another project', async () => {
    const name = fresh();
    await makeContainerIn(daemon, 'a', name);
    await makeContainerIn(daemon, 'b', name);
    await daemon.ok('POST', `/1.0/containers/${name}/snapshots?project=a`, { name: 'new' });
    const body = { name, ...copyFrom({ source: name, project: 'a', refresh: true }) };
    await daemon.ok('POST', '/1.0/containers?project=b', body);
    expect(await daemon.get(`/1.0/containers/${name}/snapshots?project=b`)).toHaveLength(1);
    expect((await daemon.call('GET', `/1.0/containers/${name}`)).status).toBe(404);
  });
});

describe('a move to another project', () => {
  test.each([
    ['under its name', {}, undefined],
    ['under another name', { name: 'moved' }, undefined],
    ['and another pool', { pool: 'second' }, 'second'],
  ])('%s keeps the machine and its snapshots', async (_title, more, pool) => {
    const name = fresh();
    await makeContainerIn(daemon, 'a', name, { config: { 'user.x': '1' } });
    await daemon.ok('POST', `/1.0/containers/${name}/snapshots?project=a`, { name: 's' });
    await daemon.ok('POST', `/1.0/containers/${name}?project=a`, { migration: true, project: 'b', ...more });
    const now = 'name' in more ? 'moved' : name;
    const moved = await daemon.get(`/1.0/containers/${now}?project=b`);
    expect(moved.config).toMatchObject({ 'user.x': '1' });
    expect(moved.expanded_devices.root.pool).toBe(pool ?? 'default');
    expect(await daemon.get(`/1.0/containers/${now}/snapshots?project=b`)).toHaveLength(1);
    expect((await daemon.call('GET', `/1.0/containers/${name}?project=a`)).status).toBe(404);
    await daemon.ok('PUT', `/1.0/containers/${now}/state?project=b`, { action: 'start' });
    await daemon.ok('PUT', `/1.0/containers/${now}/state?project=b`, { action: 'stop', force: true });
    await daemon.ok('DELETE', `/1.0/containers/${now}?project=b`);
  });

  test('into a project that shares its profiles finds its root disk again', async () => {
    const name = fresh();
    await makeContainerIn(daemon, 'a', name);
    await daemon.ok('POST', `/1.0/containers/${name}?project=a`, { project: 'shared' });
    expect((await daemon.get(`/1.0/containers/${name}?project=shared`)).devices).toEqual({});
    await daemon.call('POST', '/1.0/projects', { name: 'rootless' });
    await daemon.ok('POST', `/1.0/containers/${name}?project=shared`, { project: 'rootless' });
    expect((await daemon.get(`/1.0/containers/${name}?project=rootless`)).devices.root.pool).toBe('default');
  });

  test('is refused while it runs, into an unknown project, onto a taken name, and without its profiles', async () => {
    const name = fresh();
    await makeContainerIn(daemon, 'a', name, { profiles: ['default', 'only-a'] });
    const move = (body: object) => daemon.call('POST', `/1.0/containers/${name}?project=a`, body);
    expect((await move({ project: 'zzz' })).status).toBe(404);
    const missing = await move({ project: 'b' });
    expect([missing.status, missing.metadata.message]).toEqual([400, expect.stringMatching(/no profile only-a/)]);
    await daemon.call('PATCH', `/1.0/containers/${name}?project=a`, { profiles: ['default'] });
    await daemon.ok('PUT', `/1.0/containers/${name}/state?project=a`, { action: 'start' });
    expect((await move({ project: 'b' })).metadata.message).toMatch(
      /is running: stop it before moving it to another project/,
    );
    await daemon.ok('PUT', `/1.0/containers/${name}/state?project=a`, { action: 'stop', force: true });
    await makeContainerIn(daemon, 'b', name);
    expect((await move({ project: 'b' })).status).toBe(409);
    expect(await namesIn('a')).toContain(name);
  });
});

test('a backup is restored into the project of the request, whatever its index says', async () => {
  const name = fresh();
  await makeContainerIn(daemon, 'a', name);
  await daemon.ok('POST', `/1.0/containers/${name}/backups?project=a`, { name: 'b', compression_algorithm: 'none' });
  const { bytes } = await daemon.call('GET', `/1.0/containers/${name}/backups/b/export?project=a`);
  expect(bytes.toString('latin1')).toMatch(/project: a\n/);
  const headers = { 'content-type': 'application/octet-stream' };
  await daemon.ok('POST', '/1.0/containers?project=b', bytes, headers);
  expect(await namesIn('b')).toContain(name);
  const again = await daemon.call('POST', '/1.0/containers?project=a', bytes, headers);
  expect(again.status).toBe(409);
  const hostile = Buffer.from(bytes.toString('latin1').replace(`name: ${name}\n`, `name: a%z\n`), 'latin1');
  expect([400, 404]).toContain((await daemon.call('POST', '/1.0/containers', hostile, headers)).status);
  expect((await daemon.call('POST', '/1.0/containers', bytes, { ...headers, 'x-svc-name': 'a%z' })).status).toBe(400);
});
