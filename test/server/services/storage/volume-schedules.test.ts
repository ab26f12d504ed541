// Snapshots of custom volumes by schedule, their names and their end, with a clock that tests set (real system sections 19 and 29).
import { beforeAll, describe, expect, test } from 'vitest';
import { createContainer, type Answer, type Json } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { testMinutes } from '../../../support/daemons/clock.ts';
import { makeProject } from '../../../support/daemons/projects.ts';
import { until } from '../../../support/until.ts';

const minuteMs = 60_000;
const zero = '0001-01-01T00:00:00Z';
const everyMinute = { 'snapshots.schedule': '* * * * *' };
const minutes = testMinutes('2026-03-01T10:00:30Z');
const daemon = await seededDaemon({ time: minutes.time });
beforeAll(() => makeProject(daemon, 'red'));

const at = (pool: string, name = '', rest = '', project = 'default'): string =>
  `/1.0/storage-pools/${pool}/volumes/custom${name === '' ? '' : `/${name}`}${rest}${project === 'default' ? '' : `?project=${project}`}`;
let count = 0;
async function made(config: object = {}, pool = 'default', project = 'default'): Promise<string> {
  const name = `v${(count += 1)}`;
  const answer = await daemon.call('POST', at(pool, '', '', project), { name, config });
  expect([answer.status, answer.metadata]).toEqual([200, {}]);
  return name;
}
const snapshots = async (name: string, project = 'default'): Promise<string[]> => {
  const urls = (await daemon.get(at('default', name, '/snapshots', project))) as string[];
  return urls.map((url) => decodeURIComponent(new URL(url, 'http://x').pathname.split('/').at(-1) ?? ''));
};
const snapshot = (name: string, of: string): Promise<Json> => daemon.get(at('default', name, `/snapshots/${of}`));
const take = (name: string, body: object = {}) => daemon.ok('POST', at('default', name, '/snapshots'), body);
const inMinutes = (some: number): string => `${new Date(minutes.now() + some * minuteMs).toISOString().slice(0, 19)}Z`;
const messageOf = (answer: Answer): string => `${answer.status} ${JSON.stringify(answer.body)}`;
const stopSchedule = (name: string, project = 'default') =>
  daemon.call('PATCH', at('default', name, '', project), { config: { 'snapshots.schedule': '' } });

describe('scheduled snapshots', () => {
  test('are taken of each volume at its minute, in all projects, also while a container runs with it', async () => {
    const plain = await made({ ...everyMinute, 'snapshots.expiry': '1H', 'snapshots.pattern': 'auto-%d' });
    const other = await made({ 'snapshots.schedule': '59 23 31 12 *' });
    const never = await made({ 'snapshots.schedule': '@never' });
    const red = await made(everyMinute, 'default', 'red');
    const used = await made(everyMinute);
    const devices = { data: { type: 'disk', path: '/mnt', pool: 'default', source: used } };
    await createContainer(daemon, 'user', { devices });
    await daemon.ok('PUT', '/1.0/containers/user/state', { action: 'start' });
    minutes.pass(minuteMs);
    await until(async () => (await snapshots(used)).length === 1);
    expect(await snapshots(plain)).toEqual(['auto-0']);
    expect(await snapshots(red, 'red')).toEqual(['snap0']);
    expect([await snapshots(other), await snapshots(never)]).toEqual([[], []]);
    expect((await snapshot(plain, 'auto-0')).expires_at).toBe(inMinutes(60));
    expect((await snapshot(used, 'snap0')).expires_at).toBe(zero);
    // The same minute again: no new snapshot.
    minutes.pass(1000);
    await take(other, { name: 'fence' });
    expect(await snapshots(plain)).toEqual(['auto-0']);
    for (const name of [plain, used]) await stopSchedule(name);
    await stopSchedule(red, 'red');
  });

  test('continue with the other volumes when the pattern of one gives no name', async () => {
    // Valid when it was set; every name that it can give is taken or too long then.
    const long = await made({ ...everyMinute, 'snapshots.pattern': 'x'.repeat(64) });
    const good = await made(everyMinute);
    await take(long);
    minutes.pass(minuteMs);
    await until(async () => (await snapshots(good)).length === 1);
    expect(await snapshots(long)).toEqual(['x'.repeat(64)]);
    for (const name of [long, good]) await stopSchedule(name);
  });
});

describe('expiry', () => {
  test('deletes expired snapshots within a minute, in all projects; a later or unset expiry keeps them', async () => {
    const name = await made();
    const red = await made({}, 'default', 'red');
    await take(name, { name: 'soon', expires_at: inMinutes(1) });
    await take(name, { name: 'later', expires_at: inMinutes(30) });
    await take(name, { name: 'put-off', expires_at: inMinutes(1) });
    await take(name, { name: 'kept' });
    await daemon.ok('POST', at('default', red, '/snapshots', 'red'), { name: 'soon', expires_at: inMinutes(1) });
    const later = { expires_at: inMinutes(40), description: 'd' };
    const put = await daemon.call('PUT', at('default', name, '/snapshots/put-off'), later);
    expect([put.status, put.body.type]).toEqual([200, 'sync']);
    minutes.pass(2 * minuteMs);
    await until(async () => (await snapshots(red, 'red')).length === 0 && (await snapshots(name)).length === 3);
    expect(await snapshots(name)).toEqual(['kept', 'later', 'put-off']);
  });

  test('PATCH changes what it has, at once; null means never', async () => {
    const name = await made();
    await take(name, { name: 's', description: 'one', expires_at: '2030-01-01T00:00:00Z' });
    const path = at('default', name, '/snapshots/s');
    const patch = async (body: object, headers = {}): Promise<number> =>
      (await daemon.call('PATCH', path, body, headers)).status;
    const etag = String((await daemon.call('GET', path)).headers.etag);
    expect(await patch({ description: 'two' }, { 'if-match': etag })).toBe(200);
    expect(await snapshot(name, 's')).toMatchObject({ description: 'two', expires_at: '2030-01-01T00:00:00Z' });
    expect(await patch({ description: 'three' }, { 'if-match': etag })).toBe(412);
    expect(await patch({ expires_at: null })).toBe(200);
    expect(await snapshot(name, 's')).toMatchObject({ description: 'two', expires_at: zero });
    expect(await patch({ expires_at: 'soon' })).toBe(400);
    expect((await daemon.call('PATCH', `${path}x`, {})).status).toBe(404);
  });

  test('is in lists, of the request before the key, changed only when it is sent, and guarded by the ETag', async () => {
    const name = await made({ 'snapshots.expiry': '1d' });
    await take(name, { name: 'a' });
    await take(name, { name: 'b', expires_at: '2030-01-01T00:00:00Z' });
    await take(name, { name: 'c', expires_at: '' });
    const listed = (await daemon.get(`${at('default', name, '/snapshots')}?recursion=1`)) as Json[];
    const ends = [inMinutes(24 * 60), '2030-01-01T00:00:00Z', zero];
    expect(listed.map((each) => each.expires_at as string)).toEqual(ends);
    const path = at('default', name, '/snapshots/b');
    const etag = String((await daemon.call('GET', path)).headers.etag);
    expect((await daemon.call('PUT', path, { description: 'kept' })).status).toBe(200);
    expect(await snapshot(name, 'b')).toMatchObject({ description: 'kept', expires_at: '2030-01-01T00:00:00Z' });
    expect((await daemon.call('PUT', path, { expires_at: '' })).status).toBe(200);
    expect(await snapshot(name, 'b')).toMatchObject({ description: 'kept', expires_at: zero });
    expect((await daemon.call('PUT', path, { description: '' }, { 'if-match': etag })).status).toBe(412);
    expect(messageOf(await daemon.call('PUT', path, { expires_at: 'soon' }))).toMatch(/^400 .*expires_at/);
    expect(messageOf(await daemon.call('POST', at('default', name, '/snapshots'), { expires_at: 'x' }))).toMatch(
      /^400/,
    );
  });

  test('survives a restart and a move, and goes with copies', async () => {
    const name = await made();
    await take(name, { name: 's', expires_at: '2030-01-01T00:00:00Z' });
    await daemon.restart();
    await daemon.ok('POST', at('default'), { name: `${name}-copy`, source: { type: 'copy', name } });
    await daemon.call('POST', at('default', name), { name: `${name}-new` });
    for (const each of [`${name}-copy`, `${name}-new`])
      expect((await snapshot(each, 's')).expires_at).toBe('2030-01-01T00:00:00Z');
  });
});

test('snapshots without a name are called by snapshots.pattern', async () => {
  const name = await made({ 'snapshots.pattern': 'day-{{ creation_date|date:"20060102" }}' });
  await take(name);
  await take(name);
  expect(await snapshots(name)).toEqual(['day-20260301', 'day-20260301-0']);
});

test('keys with wrong values are refused, of volumes and of pools', async () => {
  const wrong = { 'snapshots.schedule': '* * * *', 'snapshots.expiry': '1x', 'snapshots.pattern': '%d%d' };
  const volume = await daemon.call('POST', at('default'), { name: 'wrong', config: wrong });
  for (const key of Object.keys(wrong)) expect(messageOf(volume)).toContain(`config.${key}`);
  const startup = await daemon.call('POST', at('default'), {
    name: 'wrong',
    config: { 'snapshots.schedule': '@daily, @startup' },
  });
  expect(messageOf(startup)).toMatch(/^400 .*a volume does not start/);
  const ofPool = Object.fromEntries(Object.entries(wrong).map(([key, value]) => [`volume.${key}`, value]));
  const pool = await daemon.call('PATCH', '/1.0/storage-pools/default', { config: ofPool });
  for (const key of Object.keys(ofPool)) expect(messageOf(pool)).toContain(`config.${key}`);
});

test('volume.snapshots.* of a pool are defaults of its new volumes; older ones stay unchanged', async () => {
  await daemon.call('POST', '/1.0/storage-pools', { name: 'timed', driver: 'dir' });
  const old = await made({}, 'timed');
  const config = { 'volume.snapshots.schedule': '@yearly', 'volume.snapshots.expiry': '3d' };
  expect((await daemon.call('PATCH', '/1.0/storage-pools/timed', { config })).status).toBe(200);
  const configOf = async (name: string): Promise<Json> => (await daemon.get(at('timed', name))).config;
  const fresh = await made({ 'snapshots.expiry': '1d', 'user.a': '1' }, 'timed');
  expect(await configOf(fresh)).toEqual({ 'snapshots.schedule': '@yearly', 'snapshots.expiry': '1d', 'user.a': '1' });
  expect(await configOf(old)).toEqual({});
  await daemon.ok('POST', at('timed'), { name: 'copied', source: { type: 'copy', name: old } });
  expect(await configOf('copied')).toEqual({ 'snapshots.schedule': '@yearly', 'snapshots.expiry': '3d' });
  await daemon.call('PUT', at('timed', fresh), { config: {} });
  expect(await configOf(fresh)).toEqual({});
});

test('volume.security.* of a pool are defaults of its new volumes, and a request decides between the two', async () => {
  const config = { 'volume.security.shifted': 'true', 'volume.size': '1GB' };
  const answer = await daemon.call('POST', '/1.0/storage-pools', { name: 'shifted', driver: 'dir', config });
  expect(answer.status).toBe(200);
  const configOf = async (name: string): Promise<Json> => (await daemon.get(at('shifted', name))).config;
  const [fresh, other] = [await made({}, 'shifted'), await made({ 'security.unmapped': 'true' }, 'shifted')];
  // A pool of dir without project quotas cannot hold a size.
  expect(await configOf(fresh)).toEqual({ 'security.shifted': 'true' });
  expect(await configOf(other)).toMatchObject({ 'security.unmapped': 'true' });
  expect(await configOf(other)).not.toHaveProperty('security.shifted');
  const both = { config: { 'volume.security.unmapped': 'true' } };
  expect(messageOf(await daemon.call('PATCH', '/1.0/storage-pools/shifted', both))).toMatch(
    /^400 .*config\.volume\.security\.shifted/,
  );
});
