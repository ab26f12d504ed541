// Volumes of type container over the real daemon: description, user.* and size, and those of snapshots, on both drivers.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { btrfsMissing } from '../../../../server/drivers/storage/btrfs/btrfs.ts';
import { copyContainer } from '../../../../server/client/index.ts';
import { createClient } from '../../../../server/client/client.ts';
import { type Answer, type Json } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';

const noBtrfs = (await btrfsMissing()) ?? (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (noBtrfs !== undefined) console.log(`skipped: volumes of containers on btrfs: ${noBtrfs}`);

const daemon = await seededDaemon();
beforeAll(async () => {
  await daemon.call('POST', '/1.0/storage-pools', { name: 'dir', driver: 'dir' });
  if (noBtrfs === undefined)
    await daemon.call('POST', '/1.0/storage-pools', { name: 'btrfs', driver: 'btrfs', config: { size: '256MiB' } });
});

let count = 0;
async function made(pool: string, root: object = {}): Promise<string> {
  const name = `cv${(count += 1)}`;
  const devices = { root: { type: 'disk', path: '/', pool, ...root } };
  const source = { type: 'none' };
  await daemon.ok('POST', '/1.0/containers', { name, source, devices, profiles: [] });
  return name;
}
const volumeOf = (pool: string, ...parts: string[]): string =>
  ['/1.0/storage-pools', pool, 'volumes/container', ...parts].join('/');
const problem = (answer: Answer): string => `${answer.status} ${JSON.stringify(answer.body?.metadata)}`;

describe.each(noBtrfs === undefined ? ['dir', 'btrfs'] : ['dir'])('of a container on a pool of driver %s', (pool) => {
  test('description and user.* are written, kept by rename and given to snapshots', async () => {
    const name = await made(pool);
    const path = volumeOf(pool, name);
    const before = await daemon.call('GET', path);
    expect(before.metadata).toMatchObject({ name, type: 'container', description: '', config: {} });
    expect((await daemon.call('PUT', path, { config: {} }, { 'if-match': 'old' })).status).toBe(412);
    const body = { description: 'files of the shop', config: { 'user.team': 'red' } };
    const headers = { 'if-match': String(before.headers.etag) };
    expect((await daemon.call('PUT', path, body, headers)).status).toBe(200);
    expect((await daemon.call('PUT', path, body, headers)).status).toBe(412);
    expect((await daemon.call('PATCH', path, { config: { 'user.b': '2' } })).status).toBe(200);
    const written = { description: 'files of the shop', config: { 'user.team': 'red', 'user.b': '2' } };
    expect(await daemon.get(path)).toMatchObject(written);
    await daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 's' });
    await daemon.ok('POST', `/1.0/containers/${name}`, { name: `${name}r` });
    expect(await daemon.get(volumeOf(pool, `${name}r`))).toMatchObject(written);
    expect((await daemon.call('PUT', volumeOf(pool, `${name}r`), {})).status).toBe(200);
    expect(await daemon.get(volumeOf(pool, `${name}r`))).toMatchObject({ description: '', config: {} });
    expect(await daemon.get(volumeOf(pool, `${name}r`, 's'))).toMatchObject({ ...written, name: `${name}r/s` });
    expect((await daemon.get(`/1.0/containers/${name}r`)).description).toBe('');
  });

  test('description and user.* go along with copies, migrations and backups, those of snapshots too, and a restore leaves them', async () => {
    const name = await made(pool);
    const written = { description: 'files of the shop', config: { 'user.team': 'red' } };
    expect((await daemon.call('PUT', volumeOf(pool, name), written)).status).toBe(200);
    await daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 's' });
    const later = { description: 'later', config: { 'user.team': 'blue' } };
    expect((await daemon.call('PUT', volumeOf(pool, name), later)).status).toBe(200);

    const both = async (copy: string): Promise<unknown> => [
      await daemon.get(volumeOf(pool, copy)),
      await daemon.get(volumeOf(pool, copy, 's')),
    ];
    await daemon.ok('POST', '/1.0/containers', { name: `${name}c`, source: { type: 'copy', source: name } });
    expect(await both(`${name}c`)).toMatchObject([later, written]);
    await daemon.ok('POST', '/1.0/containers', { name: `${name}s`, source: { type: 'copy', source: `${name}/s` } });
    expect(await daemon.get(volumeOf(pool, `${name}s`))).toMatchObject(written);

    const client = createClient(join(daemon.dir, 'unix.socket'));
    try {
      await copyContainer({ client, name }, { client, name: `${name}m` }, { mode: 'relay' });
    } finally {
      await client.close();
    }
    expect(await both(`${name}m`)).toMatchObject([later, written]);

    await daemon.ok('POST', `/1.0/containers/${name}/backups`, { name: 'b' });
    const { bytes } = await daemon.call('GET', `/1.0/containers/${name}/backups/b/export`);
    const type = { 'content-type': 'application/octet-stream', 'x-svc-name': `${name}b` };
    await daemon.ok('POST', '/1.0/containers', bytes, type);
    expect(await both(`${name}b`)).toMatchObject([later, written]);

    await daemon.ok('PUT', `/1.0/containers/${name}`, { restore: 's' });
    expect(await daemon.get(volumeOf(pool, name))).toMatchObject(later);
  });

  test('parallel changes are all kept, and one ETag lets one of them pass', async () => {
    const path = volumeOf(pool, await made(pool));
    const keys = Array.from({ length: 8 }, (_, at) => `user.k${at}`);
    const patches = keys.map((key) => daemon.call('PATCH', path, { config: { [key]: '1' } }));
    expect((await Promise.all(patches)).map(({ status }) => status)).toEqual(keys.map(() => 200));
    expect((await daemon.get(path)).config).toEqual(Object.fromEntries(keys.map((key) => [key, '1'])));
    const headers = { 'if-match': String((await daemon.call('GET', path)).headers.etag) };
    const puts = keys.map((key) => daemon.call('PUT', path, { description: key }, headers));
    const statuses = (await Promise.all(puts)).map(({ status }) => status).toSorted((one, other) => one - other);
    expect(statuses).toEqual([200, ...keys.slice(1).map(() => 412)]);
    // A pool of driver dir has no sizes.
    if (pool === 'dir') return;
    const resized = { config: { size: '64MiB' } };
    const now = { 'if-match': String((await daemon.call('GET', path)).headers.etag) };
    expect((await daemon.call('PATCH', path, resized, now)).status).toBe(200);
    expect((await daemon.get(path)).config).toMatchObject(resized.config);
  });

  test('the volume of a snapshot is read and changed at CONTAINER/SNAPSHOT and below snapshots', async () => {
    const name = await made(pool);
    await daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 's' });
    const body = { description: 'before the move', config: { 'user.a': '1' } };
    expect((await daemon.call('PUT', volumeOf(pool, name, 's'), body)).status).toBe(200);
    const used_by = [`/1.0/containers/${name}/snapshots/s`];
    const shown = { ...body, name: `${name}/s`, type: 'container', used_by };
    expect(await daemon.get(volumeOf(pool, name, 's'))).toMatchObject(shown);
    expect(await daemon.get(volumeOf(pool, `${name}%2Fs`))).toMatchObject(shown);
    expect((await daemon.call('PATCH', volumeOf(pool, name, 's'), { config: { 'user.b': '2' } })).status).toBe(200);
    const below = volumeOf(pool, name, 'snapshots', 's');
    expect(await daemon.get(below)).toMatchObject({ name: 's', config: { 'user.a': '1', 'user.b': '2' } });
    expect(await daemon.get(volumeOf(pool, name, 'snapshots'))).toEqual([below]);
    const listed = (await daemon.get(`${volumeOf(pool, name, 'snapshots')}?recursion=1`)) as Json[];
    expect(listed.map((each) => [each.name, each.description])).toEqual([[`${name}/s`, 'before the move']]);
    const expires_at = '2030-01-02T03:04:05Z';
    expect((await daemon.call('PUT', below, { description: 'kept', expires_at })).status).toBe(200);
    expect(await daemon.get(below)).toMatchObject({ description: 'kept', expires_at });
    expect((await daemon.get(`/1.0/containers/${name}/snapshots/s`)).expires_at).toBe(expires_at);
    const match = { 'if-match': String((await daemon.call('GET', below)).headers.etag) };
    expect((await daemon.call('PUT', below, { expires_at: '2031-01-02T03:04:05Z' })).status).toBe(200);
    expect((await daemon.call('PUT', below, { expires_at }, match)).status).toBe(412);
    expect((await daemon.call('PATCH', below, { expires_at })).status).toBe(200);
    expect(await daemon.get(below)).toMatchObject({ description: 'kept', expires_at });
    expect(await daemon.get(volumeOf(pool, name))).toMatchObject({ description: '', config: {} });
    expect((await daemon.call('GET', volumeOf(pool, name, 'none'))).status).toBe(404);
    expect((await daemon.call('GET', volumeOf(pool, name, 'snapshots', 'none'))).status).toBe(404);
  });

  test('keys of custom volumes, unknown keys, restore and new snapshots are refused with what to do', async () => {
    const name = await made(pool);
    const put = async (body: object): Promise<string> => problem(await daemon.call('PUT', volumeOf(pool, name), body));
    expect(await put({ config: { 'snapshots.expiry': '1d', 'user.a': '1' } })).toMatch(
      /^400 .*config\.snapshots\.expiry.*set it on the container/,
    );
    expect(await put({ config: { wrong: '1' } })).toMatch(/^400 .*config\.wrong/);
    expect(await put({ restore: 's' })).toMatch(/^400 .*PUT \/1\.0\/containers\/NAME/);
    const made2 = await daemon.call('POST', volumeOf(pool, name, 'snapshots'), { name: 's' });
    expect(problem(made2)).toMatch(/^400 .*with what they belong to/);
    expect(await daemon.get(volumeOf(pool, name))).toMatchObject({ description: '', config: {} });
    expect((await daemon.call('PUT', volumeOf(pool, 'none'), {})).status).toBe(404);
  });

  test('lists have the snapshots, the client of our own programs lists volumes only', async () => {
    const name = await made(pool);
    await daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 's' });
    await daemon.call('POST', `/1.0/storage-pools/${pool}/volumes/custom`, { name: 'own' });
    await daemon.ok('POST', `/1.0/storage-pools/${pool}/volumes/custom/own/snapshots`, { name: 's' });
    const all = (await daemon.get(`/1.0/storage-pools/${pool}/volumes?recursion=1`)) as Json[];
    const named = all.map((each) => `${each.type} ${each.name}`);
    expect(named).toEqual(expect.arrayContaining([`container ${name}/s`, 'custom own', 'custom own/s']));
    const client = createClient(join(daemon.dir, 'unix.socket'));
    onTestFinished(() => client.close());
    const volumes = await client.list('storage_volume');
    expect(volumes.filter((each) => each.pool === pool).map((each) => each.name)).toEqual(['own']);
  });
});

test('a directory without project quotas has no size, and says what has', async () => {
  const name = await made('dir');
  const answer = await daemon.call('PATCH', volumeOf('dir', name), { config: { size: '10MiB' } });
  expect(problem(answer)).toMatch(/^400 .*pool dir cannot limit a volume: use a pool of driver btrfs/);
});

test.runIf(noBtrfs === undefined)(
  'a change of size keeps parallel changes of the container, and none of them is refused',
  async () => {
    const name = await made('btrfs', { size: '30MiB' });
    const path = volumeOf('btrfs', name);
    const answers = await Promise.all([
      daemon.call('PATCH', `/1.0/containers/${name}`, { description: 'parallel' }),
      daemon.call('PATCH', path, { config: { size: '40MiB', 'user.size': '40' } }),
      daemon.call('PATCH', `/1.0/containers/${name}`, { config: { 'user.a': '1' } }),
      daemon.call('PATCH', path, { config: { size: '50MiB' }, description: 'larger' }),
      daemon.call('PATCH', path, { config: { 'user.b': '2' } }),
    ]);
    expect(answers.map(problem)).toEqual(answers.map(() => expect.stringMatching(/^200/)));
    const { size, ...config } = (await daemon.get(path)).config;
    expect(['40MiB', '50MiB']).toContain(size);
    expect(config).toEqual({ 'user.size': '40', 'user.b': '2' });
    expect((await daemon.get(path)).description).toBe('larger');
    expect(await daemon.get(`/1.0/containers/${name}`)).toMatchObject({
      description: 'parallel',
      config: { 'user.a': '1' },
    });
    const headers = { 'if-match': String((await daemon.call('GET', path)).headers.etag) };
    const resized = ['60MiB', '70MiB'].map((next) => daemon.call('PATCH', path, { config: { size: next } }, headers));
    const statuses = (await Promise.all(resized)).map(({ status }) => status);
    expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 412]);
  },
);

test.runIf(noBtrfs === undefined)('size is that of the root disk, also of one that a profile brings', async () => {
  const name = await made('btrfs', { size: '30MiB' });
  expect((await daemon.get(volumeOf('btrfs', name))).config).toEqual({ size: '30MiB' });
  await daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 's' });
  expect((await daemon.call('PATCH', volumeOf('btrfs', name), { config: { size: '40MiB' } })).status).toBe(200);
  expect((await daemon.get(`/1.0/containers/${name}`)).devices.root).toMatchObject({ size: '40MiB', pool: 'btrfs' });
  expect((await daemon.get(volumeOf('btrfs', name, 's'))).config).toEqual({ size: '30MiB' });
  const refused = await daemon.call('PATCH', volumeOf('btrfs', name, 's'), { config: { size: '50MiB' } });
  expect(problem(refused)).toMatch(/^400 .*a snapshot has the size/);
  expect((await daemon.call('PUT', volumeOf('btrfs', name), { config: {} })).status).toBe(200);
  expect((await daemon.get(`/1.0/containers/${name}`)).devices.root).toEqual({
    type: 'disk',
    path: '/',
    pool: 'btrfs',
  });
  await daemon.call('POST', '/1.0/profiles', {
    name: 'rooted',
    devices: { root: { type: 'disk', path: '/', pool: 'btrfs' } },
  });
  await daemon.ok('POST', '/1.0/containers', { name: 'of-profile', source: { type: 'none' }, profiles: ['rooted'] });
  expect((await daemon.call('PATCH', volumeOf('btrfs', 'of-profile'), { config: { size: '20MiB' } })).status).toBe(200);
  const { devices } = await daemon.get('/1.0/containers/of-profile');
  expect(devices).toEqual({ root: { type: 'disk', path: '/', pool: 'btrfs', size: '20MiB' } });
});
