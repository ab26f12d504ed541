// Container snapshots over the real daemon on the simulation (spec 2.7, 4.6; real system section 19).
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { read, settle } from '../../../support/daemons/child-process.ts';
import {
  call,
  createContainer,
  lifecycleOf,
  seed,
  setState,
  statusOf,
  type Json,
} from '../../../support/daemons/daemon.ts';
import { openMemoryDaemon } from '../../../support/daemons/in-memory.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { testMinutes } from '../../../support/daemons/clock.ts';
import { until } from '../../../support/until.ts';

const minuteMs = 60_000;
const zero = '0001-01-01T00:00:00Z';
const minutes = testMinutes('2026-03-01T10:00:30Z');
const daemon = await seededDaemon({ time: minutes.time });

let count = 0;
async function fresh(more: object = {}): Promise<string> {
  const name = `c${(count += 1)}`;
  await createContainer(daemon, name, more);
  return name;
}
const path = (container: string, snapshot = ''): string =>
  `/1.0/containers/${container}/snapshots${snapshot === '' ? '' : `/${snapshot}`}`;
const take = (container: string, body: object = {}) => daemon.ok('POST', path(container), body);
const names = async (container: string): Promise<string[]> =>
  ((await daemon.get(`${path(container)}?recursion=1`)) as Json[]).map((snapshot) => snapshot.name as string);
const pool = (...rest: string[]): string => join(daemon.dir, 'storage-pools', 'default', ...rest);
const fileOf = (container: string): string => pool('containers', container, 'rootfs', 'file');
const restore = (container: string, snapshot: string) =>
  daemon.run('PUT', `/1.0/containers/${container}`, { restore: snapshot });

describe('taking', () => {
  test('taking without a name gives snap0, snap1 …, and the operation has the name', async () => {
    const c = await fresh();
    expect((await take(c)).metadata).toMatchObject({ snapshot_name: 'snap0' });
    expect((await take(c, { name: '' })).metadata).toMatchObject({ snapshot_name: 'snap1' });
    await daemon.ok('DELETE', path(c, 'snap0'));
    await take(c);
    expect(await names(c)).toEqual(['snap1', 'snap2']);
  });

  test('stores the current container: config, devices, profiles, without a status', async () => {
    const c = await fresh({ config: { 'user.a': '1' }, devices: { n: { type: 'none' } }, ephemeral: true });
    await take(c, { name: 's', description: 'before' });
    await daemon.call('PATCH', `/1.0/containers/${c}`, { config: { 'user.a': '2' } });
    const snapshot = await daemon.get(path(c, 's'));
    expect(snapshot).toMatchObject({
      name: 's',
      description: 'before',
      config: { 'user.a': '1' },
      devices: { n: { type: 'none' } },
      expanded_devices: { n: { type: 'none' }, root: { path: '/' } },
      profiles: ['default'],
      ephemeral: true,
      stateful: false,
      architecture: 'x86_64',
      expires_at: zero,
    });
    expect(snapshot).not.toHaveProperty('status');
    expect(snapshot.created_at).toMatch(/^2026-03-01T10:/);
  });

  test('is listed as URLs, as objects, and with the container at recursion=2', async () => {
    const c = await fresh();
    const full = async (): Promise<Json> =>
      ((await daemon.get('/1.0/containers?recursion=2')) as Json[]).find((each) => each.name === c);
    expect((await full()).snapshots).toBeNull();
    await take(c, { name: 'odd:name' });
    expect(await daemon.get(path(c))).toEqual([path(c, 'odd%3Aname')]);
    expect((await daemon.get(path(c, 'odd%3Aname'))).name).toBe('odd:name');
    expect((await full()).snapshots).toMatchObject([{ name: 'odd:name' }]);
    expect((await daemon.get(`/1.0/containers/${c}?recursion=1`)).snapshots).toMatchObject([{ name: 'odd:name' }]);
  });

  test('twice under one name is 409, also when both are in progress', async () => {
    const c = await fresh();
    const both = await Promise.all([0, 1].map(() => daemon.call('POST', path(c), { name: 's' })));
    const ended = await Promise.all(
      both.map(async (answer) => (answer.status === 202 ? (await daemon.wait(answer.body.operation)).status : '409')),
    );
    expect(ended.filter((status) => status === 'Success')).toHaveLength(1);
    expect((await daemon.call('POST', path(c), { name: 's' })).status).toBe(409);
    expect(await names(c)).toEqual(['s']);
  });

  test.each(['a/b', 'a b', '..', '.', 'é', 'x'.repeat(65)])('taking under the name %j is 400', async (name) => {
    const c = await fresh();
    expect((await daemon.call('POST', path(c), { name })).status).toBe(400);
    expect(await names(c)).toEqual([]);
  });

  test('a stateful snapshot of a stopped container is refused at once', async () => {
    const c = await fresh();
    expect((await daemon.call('POST', path(c), { stateful: true })).status).toBe(400);
  });

  test('taking of a missing container is 404', async () => {
    const c = await fresh();
    expect((await daemon.call('POST', path('nobody'), {})).status).toBe(404);
    for (const [method, body] of [['GET'], ['DELETE'], ['PUT', {}], ['POST', { name: 'x' }]] as const)
      expect([method, (await daemon.call(method, path(c, 'none'), body)).status]).toEqual([method, 404]);
  });

  test('uses snapshots.pattern, also of a profile, with the date in it', async () => {
    const c = await fresh({ config: { 'snapshots.pattern': 'auto-{{ creation_date|date:"20060102" }}-%d' } });
    await take(c);
    await take(c);
    expect(await names(c)).toEqual(['auto-20260301-0', 'auto-20260301-1']);
    for (const pattern of ['{{ hostname }}', 'no spaces', 'x{% if %}', '{{ creation_date|date:"2006/01" }}']) {
      const config = { 'snapshots.pattern': pattern };
      const refused = await daemon.call('PATCH', `/1.0/containers/${c}`, { config });
      expect([refused.status, refused.metadata.message]).toEqual([400, expect.stringMatching(/snapshots\.pattern/)]);
    }
  });
});

describe('changing', () => {
  test.each(['PUT', 'PATCH'])('%s changes expiry and description; absent members change nothing', async (method) => {
    const c = await fresh();
    await take(c, { name: 's', expires_at: '2030-01-02T03:04:05+01:00' });
    const expiry = async (): Promise<string> => (await daemon.get(path(c, 's'))).expires_at;
    expect(await expiry()).toBe('2030-01-02T02:04:05Z');
    await daemon.ok(method, path(c, 's'), {});
    expect(await expiry()).toBe('2030-01-02T02:04:05Z');
    await daemon.ok(method, path(c, 's'), { description: 'x', expires_at: '' });
    expect(await daemon.get(path(c, 's'))).toMatchObject({ description: 'x', expires_at: zero });
    await daemon.ok(method, path(c, 's'), { expires_at: '2031-01-01T00:00:00Z' });
    await daemon.ok(method, path(c, 's'), { expires_at: zero });
    expect(await expiry()).toBe(zero);
    expect((await daemon.call(method, path(c, 's'), { expires_at: 'tomorrow' })).status).toBe(400);
    expect((await daemon.call('POST', path(c), { expires_at: '2030-02-30T00:00:00Z' })).status).toBe(400);
  });

  test('a change with the ETag of an earlier state is 412, and each change makes another ETag', async () => {
    const c = await fresh();
    await take(c, { name: 's' });
    const etag = async (): Promise<string> => String((await daemon.call('GET', path(c, 's'))).headers.etag);
    const put = (body: object, match: string) => daemon.call('PUT', path(c, 's'), body, { 'if-match': match });
    const first = await etag();
    expect(await daemon.wait((await put({ description: 'one' }, first)).body.operation)).toMatchObject({ err: '' });
    expect((await put({ description: 'two' }, first)).status).toBe(412);
    const second = await etag();
    expect(second).not.toBe(first);
    await daemon.ok('PUT', path(c, 's'), { expires_at: '2031-01-01T00:00:00Z' });
    expect((await put({ description: 'two' }, second)).status).toBe(412);
    expect((await put({ description: 'two' }, '*')).status).toBe(202);
    expect(await daemon.get(path(c, 's'))).toMatchObject({ expires_at: '2031-01-01T00:00:00Z' });
  });

  test('one of many parallel changes with one ETag is made, the others fail', async () => {
    const c = await fresh();
    await take(c, { name: 's' });
    const match = { 'if-match': String((await daemon.call('GET', path(c, 's'))).headers.etag) };
    const change = async (description: string): Promise<string> => {
      const answer = await daemon.call('PUT', path(c, 's'), { description }, match);
      return answer.status === 202 ? (await daemon.wait(answer.body.operation)).err : String(answer.status);
    };
    const errors = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(change));
    expect(errors.filter((error) => error === '')).toHaveLength(1);
    expect(errors.filter((error) => /412|has changed|ETag/.test(error))).toHaveLength(5);
    const { description } = await daemon.get(path(c, 's'));
    expect(description).toBe('abcdef'[errors.indexOf('')]);
  });

  test('a rename onto another is 409, to a bad name 400; else the snapshot is the same under a new name', async () => {
    const c = await fresh();
    writeFileSync(fileOf(c), 'one');
    await take(c, { name: 'a', description: 'kept' });
    await take(c, { name: 'b' });
    expect((await daemon.call('POST', path(c, 'a'), { name: 'b' })).status).toBe(409);
    expect((await daemon.call('POST', path(c, 'a'), { name: 'x/y' })).status).toBe(400);
    await daemon.ok('POST', path(c, 'a'), { name: 'z' });
    expect(await names(c)).toEqual(['b', 'z']);
    expect(await daemon.get(path(c, 'z'))).toMatchObject({ name: 'z', description: 'kept' });
    expect(readFileSync(pool('containers-snapshots', c, 'z', 'rootfs', 'file'), 'utf8')).toBe('one');
  });

  test('snapshots follow a renamed container, and are deleted with it', async () => {
    const c = await fresh({ config: { 'security.protection.delete': 'true' } });
    await take(c, { name: 'a' });
    await take(c, { name: 'b' });
    const to = `${c}-new`;
    await daemon.ok('POST', `/1.0/containers/${c}`, { name: to });
    expect(await names(to)).toEqual(['a', 'b']);
    expect((await daemon.call('DELETE', `/1.0/containers/${to}`)).status).toBe(403);
    await daemon.ok('DELETE', path(to, 'a'));
    await daemon.call('PATCH', `/1.0/containers/${to}`, { config: { 'security.protection.delete': '' } });
    const events = await daemon.listen('lifecycle');
    await daemon.ok('DELETE', `/1.0/containers/${to}`);
    const deleted = await events.next((event) => lifecycleOf(event).action === 'container-snapshot-deleted');
    expect(lifecycleOf(deleted)).toMatchObject({ source: path(to, 'b'), context: { snapshot_name: `${to}/b` } });
    expect(existsSync(pool('containers-snapshots', to))).toBe(false);
    await createContainer(daemon, to);
    expect(await names(to)).toEqual([]);
  });

  test('one of several concurrent deletions deletes a snapshot, and the others do not find it', async () => {
    const c = await fresh();
    await take(c, { name: 's' });
    const answers = await Promise.all([0, 1, 2].map(() => daemon.call('DELETE', path(c, 's'))));
    const errors = await Promise.all(
      answers.map(async ({ status, body }) =>
        status === 202 ? (await daemon.wait(body.operation)).err : body.metadata.message,
      ),
    );
    expect(errors.filter((err) => err === '')).toHaveLength(1);
    expect(errors.filter((err) => err.endsWith('was not found'))).toHaveLength(2);
  });

  test('each step sends an event', async () => {
    const c = await fresh();
    const events = await daemon.listen('lifecycle');
    await take(c, { name: 'a' });
    await daemon.ok('POST', path(c, 'a'), { name: 'b' });
    await restore(c, 'b');
    await daemon.ok('DELETE', path(c, 'b'));
    await events.next((event) => lifecycleOf(event).action === 'container-snapshot-deleted');
    expect(events.events.map(lifecycleOf).map(({ action, source, context }) => [action, source, context])).toEqual([
      ['container-snapshot-created', `/1.0/containers/${c}`, { snapshot_name: `${c}/a` }],
      ['container-snapshot-renamed', path(c, 'a'), { new_name: `${c}/b`, snapshot_name: `${c}/a` }],
      ['container-updated', `/1.0/containers/${c}`, undefined],
      ['container-snapshot-restored', `/1.0/containers/${c}`, { snapshot_name: `${c}/b` }],
      ['container-snapshot-deleted', path(c, 'b'), { snapshot_name: `${c}/b` }],
    ]);
  });
});

describe('restoring', () => {
  test('resets files, config, devices, profiles and ephemeral to the snapshot; the snapshots stay', async () => {
    await daemon.call('POST', '/1.0/profiles', { name: 'extra', config: { 'user.p': '1' } });
    const c = await fresh({ config: { 'user.a': '1' }, profiles: ['default', 'extra'] });
    writeFileSync(fileOf(c), 'one');
    await take(c, { name: 's' });
    writeFileSync(fileOf(c), 'two');
    await daemon.ok('PUT', `/1.0/containers/${c}`, {
      config: { 'user.b': '2' },
      devices: { n: { type: 'none' } },
      profiles: ['default'],
      ephemeral: true,
      description: 'today',
    });
    expect((await restore(c, 's')).status).toBe('Success');
    expect(await daemon.get(`/1.0/containers/${c}`)).toMatchObject({
      config: { 'user.a': '1' },
      devices: {},
      profiles: ['default', 'extra'],
      ephemeral: false,
      description: 'today',
    });
    expect(readFileSync(fileOf(c), 'utf8')).toBe('one');
    expect(await names(c)).toEqual(['s']);
  });

  test('a running container stops and starts it, also an ephemeral one', async () => {
    const c = await fresh({ ephemeral: true });
    await take(c, { name: 's' });
    await setState(daemon, c, 'start');
    const events = await daemon.listen('lifecycle');
    expect((await restore(c, 's')).status).toBe('Success');
    expect(await statusOf(daemon, c)).toBe('Running');
    await events.next((event) => lifecycleOf(event).action === 'container-started');
    expect(events.events.map((event) => lifecycleOf(event).action)).toEqual([
      'container-stopped',
      'container-updated',
      'container-snapshot-restored',
      'container-started',
    ]);
  });

  test('an unknown one is 404, with an old ETag 412, with a missing checkpoint 400, by PATCH 400', async () => {
    const c = await fresh();
    await take(c, { name: 's' });
    const put = async (body: object, headers = {}): Promise<number> =>
      (await daemon.call('PUT', `/1.0/containers/${c}`, body, headers)).status;
    expect(await put({ restore: 'none' })).toBe(404);
    expect(await put({ restore: 's' }, { 'if-match': 'old' })).toBe(412);
    expect(await put({ restore: 's', stateful: true })).toBe(400);
    expect((await daemon.call('PATCH', `/1.0/containers/${c}`, { restore: 's' })).status).toBe(400);
    expect((await daemon.call('PATCH', `/1.0/containers/${c}`, { restore: '' })).status).toBe(200);
  });

  test('is refused while a profile of the snapshot is missing, before the container stops', async () => {
    await daemon.call('POST', '/1.0/profiles', { name: 'passing' });
    const c = await fresh({ profiles: ['default', 'passing'] });
    await take(c, { name: 's' });
    await daemon.call('PATCH', `/1.0/containers/${c}`, { profiles: ['default'] });
    await daemon.call('DELETE', '/1.0/profiles/passing');
    await setState(daemon, c, 'start');
    const answer = await daemon.call('PUT', `/1.0/containers/${c}`, { restore: 's' });
    expect([answer.status, answer.body.metadata.message]).toEqual([400, expect.stringContaining('passing')]);
    expect(await statusOf(daemon, c)).toBe('Running');
  });
});

describe('copying', () => {
  test('a container copies its snapshots, unless container_only', async () => {
    const c = await fresh({ config: { 'user.a': '1' } });
    writeFileSync(fileOf(c), 'one');
    await take(c, { name: 's', description: 'old', expires_at: '2030-01-01T00:00:00Z' });
    writeFileSync(fileOf(c), 'two');
    await createContainer(daemon, `${c}-all`, { source: { type: 'copy', source: c } });
    await createContainer(daemon, `${c}-one`, { source: { type: 'copy', source: c, container_only: true } });
    expect(await names(`${c}-one`)).toEqual([]);
    expect(await daemon.get(path(`${c}-all`, 's'))).toMatchObject({
      description: 'old',
      config: { 'user.a': '1' },
      expires_at: '2030-01-01T00:00:00Z',
    });
    await restore(`${c}-all`, 's');
    expect(readFileSync(fileOf(`${c}-all`), 'utf8')).toBe('one');
    await daemon.ok('DELETE', path(c, 's'));
    expect(await names(`${c}-all`)).toEqual(['s']);
  });

  test('a snapshot becomes a container with its config and files', async () => {
    const c = await fresh({ config: { 'user.a': '1' } });
    writeFileSync(fileOf(c), 'one');
    await take(c, { name: 's' });
    await take(c, { name: 't' });
    writeFileSync(fileOf(c), 'two');
    await daemon.call('PATCH', `/1.0/containers/${c}`, { config: { 'user.a': '2' } });
    await createContainer(daemon, `${c}-then`, { source: { type: 'copy', source: `${c}/s` } });
    expect(readFileSync(fileOf(`${c}-then`), 'utf8')).toBe('one');
    expect((await daemon.get(`/1.0/containers/${c}-then`)).config).toMatchObject({ 'user.a': '1' });
    expect(await names(`${c}-then`)).toEqual([]);
    const answer = await daemon.call('POST', '/1.0/containers', {
      name: 'x',
      source: { type: 'copy', source: `${c}/none` },
    });
    expect(answer.status).toBe(404);
  });

  test('into another pool copies files and snapshots', async () => {
    await daemon.call('POST', '/1.0/storage-pools', { name: 'second', driver: 'dir' });
    const c = await fresh();
    writeFileSync(fileOf(c), 'one');
    await take(c, { name: 's' });
    writeFileSync(fileOf(c), 'two');
    const devices = { root: { type: 'disk', path: '/', pool: 'second' } };
    await createContainer(daemon, `${c}-there`, { source: { type: 'copy', source: c }, devices });
    await createContainer(daemon, `${c}-then`, { source: { type: 'copy', source: `${c}/s` }, devices });
    const there = (...rest: string[]): string => join(daemon.dir, 'storage-pools', 'second', ...rest);
    expect(readFileSync(there('containers', `${c}-there`, 'rootfs', 'file'), 'utf8')).toBe('two');
    expect(readFileSync(there('containers', `${c}-then`, 'rootfs', 'file'), 'utf8')).toBe('one');
    expect(await names(`${c}-there`)).toEqual(['s']);
    expect((await daemon.call('DELETE', '/1.0/storage-pools/second')).status).toBe(400);
  });

  test('a copy that waits for its original to be restored has the files and the config of one state', async () => {
    const c = await fresh({ config: { 'user.at': 'then' } });
    writeFileSync(fileOf(c), 'then');
    await take(c, { name: 's' });
    await daemon.call('PATCH', `/1.0/containers/${c}`, { config: { 'user.at': 'now' } });
    writeFileSync(fileOf(c), 'now');
    await Promise.all([restore(c, 's'), createContainer(daemon, `${c}-copy`, { source: { type: 'copy', source: c } })]);
    const { config } = await daemon.get(`/1.0/containers/${c}-copy`);
    expect(readFileSync(fileOf(`${c}-copy`), 'utf8')).toBe(config['user.at']);
  });

  test('a copy that waits for deletions of snapshots has the others', async () => {
    const c = await fresh();
    for (const name of ['a', 'b', 'c', 'd']) await take(c, { name });
    await Promise.all([
      ...['a', 'b', 'c'].map((name) => daemon.ok('DELETE', path(c, name))),
      createContainer(daemon, `${c}-copy`, { source: { type: 'copy', source: c } }),
    ]);
    expect(await names(`${c}-copy`)).toContain('d');
  });

  test('copying that fails leaves no container, volume, snapshot', async () => {
    const c = await fresh();
    await take(c, { name: 's' });
    await take(c, { name: 't' });
    // The files of one snapshot are missing: the copy fails after the volume and the first snapshot are made.
    const { rmSync } = await import('node:fs');
    rmSync(pool('containers-snapshots', c, 't'), { recursive: true });
    const ended = await daemon.run('POST', '/1.0/containers', {
      name: `${c}-copy`,
      source: { type: 'copy', source: c },
    });
    expect(ended.status).toBe('Failure');
    expect((await daemon.call('GET', `/1.0/containers/${c}-copy`)).status).toBe(404);
    expect(existsSync(pool('containers', `${c}-copy`))).toBe(false);
    expect(existsSync(pool('containers-snapshots', `${c}-copy`))).toBe(false);
    await until(() => readdirSync(pool('tmp')).length === 0);
  });
});

describe('automatic tasks', () => {
  test('scheduled containers are snapshotted at their minute: running ones, stopped ones only when configured', async () => {
    const schedule = { 'snapshots.schedule': '* * * * *' };
    const running = await fresh({ config: { ...schedule, 'snapshots.expiry': '1H' } });
    await setState(daemon, running, 'start');
    const stopped = await fresh({ config: schedule });
    const asked = await fresh({ config: { ...schedule, 'snapshots.schedule.stopped': 'true' } });
    await daemon.call('POST', '/1.0/profiles', { name: 'hourly', config: schedule });
    const byProfile = await fresh({
      profiles: ['default', 'hourly'],
      config: { 'snapshots.schedule.stopped': 'true' },
    });
    const other = await fresh({
      config: { 'snapshots.schedule': '59 23 31 12 *', 'snapshots.schedule.stopped': 'true' },
    });
    minutes.pass(minuteMs);
    await until(async () => (await names(byProfile)).length === 1);
    expect(await names(running)).toEqual(['snap0']);
    expect(await names(asked)).toEqual(['snap0']);
    expect(await names(stopped)).toEqual([]);
    expect(await names(other)).toEqual([]);
    expect((await daemon.get(path(running, 'snap0'))).expires_at).toBe(
      `${new Date(minutes.now() + 60 * minuteMs).toISOString().slice(0, 19)}Z`,
    );
    // The same minute again: no new snapshot.
    minutes.pass(1000);
    await take(other, { name: 'fence' });
    expect(await names(running)).toEqual(['snap0']);
    for (const name of [running, asked, byProfile])
      await daemon.call('PATCH', `/1.0/containers/${name}`, { config: { 'snapshots.schedule': '59 23 31 12 *' } });
  });

  test('@startup snapshots a container before each start, and a snapshot that fails does not keep it from starting', async () => {
    const c = await fresh({ config: { 'snapshots.schedule': '@startup, @yearly', 'snapshots.pattern': 'boot' } });
    const path = 'rootfs/made-while-running';
    for (const action of ['start', 'stop', 'start']) {
      expect((await setState(daemon, c, action, { force: true })).status).toBe('Success');
      await daemon.call('POST', `/1.0/containers/${c}/files?path=/${path}`, Buffer.from('x'));
    }
    expect(await names(c)).toEqual(['boot', 'boot-0']);
    await daemon.call('PATCH', `/1.0/containers/${c}`, { config: { 'snapshots.pattern': '{{ bad' } });
    await setState(daemon, c, 'stop', { force: true });
    expect((await setState(daemon, c, 'start')).status).toBe('Success');
    expect(await statusOf(daemon, c)).toBe('Running');
  });

  test('expired snapshots are deleted within a minute, others stay', async () => {
    const c = await fresh();
    const inMinutes = (count: number): string => new Date(minutes.now() + count * minuteMs).toISOString();
    await take(c, { name: 'soon', expires_at: inMinutes(1) });
    await take(c, { name: 'later', expires_at: inMinutes(3) });
    await take(c, { name: 'never' });
    minutes.pass(2 * minuteMs);
    await until(async () => (await names(c)).length === 2);
    expect(await names(c)).toEqual(['later', 'never']);
  });
});

test('the snapshots are unchanged after a restart', async () => {
  const c = await fresh();
  await take(c, { name: 's', description: 'kept' });
  await daemon.restart();
  expect(await daemon.get(path(c, 's'))).toMatchObject({ name: 's', description: 'kept' });
  await restore(c, 's');
});

test('a container with more snapshots than one transaction holds is copied and deleted', async () => {
  // Without files, which the tests above have: each of these snapshots is copied.
  const memory = await openMemoryDaemon();
  onTestFinished(() => memory.close());
  await seed({ call: (...args) => call(memory, ...args) });
  const done = async (method: string, at: string, body?: object): Promise<void> =>
    expect((await settle(memory, method, at, body)).operation?.err).toBe('');
  const count = async (name: string): Promise<number> => ((await read(memory, path(name))) as string[]).length;
  await done('POST', '/1.0/containers', { name: 'c', source: { type: 'none' } });
  for (let round = 0; round < 10; round += 1)
    await Promise.all(Array.from({ length: 11 }, () => done('POST', path('c'), {})));
  expect(await count('c')).toBe(110);
  await done('POST', '/1.0/containers', { name: 'copy', source: { type: 'copy', source: 'c' } });
  expect(await count('copy')).toBe(110);
  for (const name of ['copy', 'c']) await done('DELETE', `/1.0/containers/${name}`);
  expect(await read(memory, '/1.0/containers')).toEqual([]);
});
