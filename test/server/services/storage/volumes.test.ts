// Custom storage volumes over the real daemon: on the simulation with both drivers, and inside real containers (spec 2.14, 4.12).
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../../server/drivers/storage/btrfs/btrfs.ts';
import { createContainer, lifecycleOf, setState, type Answer, type Json } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';

const noBtrfs = (await btrfsMissing()) ?? (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (noBtrfs !== undefined) console.log(`skipped: volumes on btrfs: ${noBtrfs}`);
const drivers = noBtrfs === undefined ? ['dir', 'btrfs'] : ['dir'];

const daemon = await seededDaemon();
beforeAll(async () => {
  await daemon.call('POST', '/1.0/storage-pools', { name: 'dir', driver: 'dir' });
  if (noBtrfs === undefined)
    await daemon.call('POST', '/1.0/storage-pools', { name: 'btrfs', driver: 'btrfs', config: { size: '256MiB' } });
});

const volumes = (pool: string, ...rest: string[]): string => ['/1.0/storage-pools', pool, 'volumes', ...rest].join('/');
const disk = (pool: string, source: string, more = {}) => ({ type: 'disk', path: '/mnt', pool, source, ...more });
let count = 0;
const fresh = (): string => `v${(count += 1)}`;
async function made(pool: string, more: object = {}): Promise<string> {
  const name = fresh();
  const answer = await daemon.call('POST', volumes(pool, 'custom'), { name, ...more });
  expect([answer.status, answer.metadata]).toEqual([200, {}]);
  return name;
}
const fileOf = (pool: string, name: string): string => join(daemon.dir, 'storage-pools', pool, 'custom', name, 'file');
const write = (pool: string, name: string, text: string): void => writeFileSync(fileOf(pool, name), text);
const read = (pool: string, name: string): string => readFileSync(fileOf(pool, name), 'utf8');
const problemOf = (answer: Answer): string => `${answer.status} ${answer.body?.metadata?.message}`;
const names = (list: Json[]): string[] => list.map((each) => `${each.type}/${each.name}`);

describe.each(drivers)('on a pool of driver %s', (pool) => {
  const snapshots = (name: string, ...rest: string[]): string => volumes(pool, 'custom', name, 'snapshots', ...rest);

  test('a volume is created, returned, changed and deleted', async () => {
    const name = await made(pool, { description: 'data', config: { 'user.a': '1', 'security.unmapped': 'true' } });
    const path = volumes(pool, 'custom', name);
    const shown = await daemon.call('GET', path);
    expect(shown.metadata).toEqual({
      name,
      type: 'custom',
      description: 'data',
      config: { 'user.a': '1', 'security.unmapped': 'true' },
      location: 'none',
      project: 'default',
      used_by: [],
    });
    expect((await daemon.call('PUT', path, { config: {} }, { 'if-match': 'old' })).status).toBe(412);
    const etag = String(shown.headers.etag);
    expect((await daemon.call('PATCH', path, { config: { 'user.b': '2' } }, { 'if-match': etag })).status).toBe(200);
    expect((await daemon.get(path)).config).toEqual({ 'user.a': '1', 'security.unmapped': 'true', 'user.b': '2' });
    const shifted = await daemon.call('PATCH', path, {
      config: { 'security.shifted': 'true', 'security.unmapped': '' },
    });
    expect([shifted.status, (await daemon.get(path)).config['security.shifted']]).toEqual([200, 'true']);
    await daemon.call('PUT', path, { config: { 'user.c': '3' } });
    expect(await daemon.get(path)).toMatchObject({ config: { 'user.c': '3' }, description: '' });
    expect((await daemon.call('DELETE', path)).status).toBe(200);
    expect((await daemon.call('GET', path)).status).toBe(404);
    expect(readdirSync(join(daemon.dir, 'storage-pools', pool, 'custom'))).not.toContain(name);
  });

  test('invalid volumes are refused: names, types, keys, duplicates', async () => {
    const name = await made(pool);
    const post = async (body: object, ...rest: string[]) =>
      (await daemon.call('POST', volumes(pool, ...rest), body)).status;
    expect(await post({ name }, 'custom')).toBe(409);
    expect(await post({ name, type: 'custom' })).toBe(409);
    expect(await post({ name: 'x' })).toBe(400);
    expect(await post({ name: 'x', type: 'container' })).toBe(400);
    expect(await post({ name: 'x' }, 'nonsense')).toBe(400);
    expect(await post({ name: 'a/b' }, 'custom')).toBe(400);
    expect(await post({ name: '' }, 'custom')).toBe(400);
    expect(await post({ name: 'x', config: { nonsense: '1' } }, 'custom')).toBe(400);
    expect(await post({ name: 'x', source: { name, type: 'migration' } }, 'custom')).toBe(400);
    expect(await post({ name: 'x', source: { type: 'migration', mode: 'relay' } }, 'custom')).toBe(400);
    expect(await post({ name: 'x', source: { name: 'none' } }, 'custom')).toBe(404);
    expect((await daemon.call('GET', volumes('nowhere'))).status).toBe(404);
    expect((await daemon.call('GET', volumes(pool, 'nonsense'))).status).toBe(400);
  });

  test('a rename keeps files and snapshots, and devices follow', async () => {
    const name = await made(pool);
    write(pool, name, 'one');
    await daemon.ok('POST', snapshots(name), { name: 's' });
    await createContainer(daemon, `${pool}-${name}`, { devices: { data: disk(pool, name) } });
    await daemon.call('POST', '/1.0/profiles', { name: `${pool}-${name}`, devices: { data: disk(pool, name) } });
    const other = await made(pool);
    const rename = (to: string) => daemon.call('POST', volumes(pool, 'custom', name), { name: to });
    expect((await rename(other)).status).toBe(409);
    expect((await rename('a b')).status).toBe(400);
    const to = fresh();
    const answer = await rename(to);
    expect([answer.status < 300, answer.headers.location]).toEqual([true, volumes(pool, 'custom', to)]);
    expect(read(pool, to)).toBe('one');
    expect(await daemon.get(snapshots(to))).toEqual([snapshots(to, 's')]);
    expect((await daemon.get(`/1.0/containers/${pool}-${name}`)).devices.data.source).toBe(to);
    expect((await daemon.get(volumes(pool, 'custom', to))).used_by).toEqual([
      `/1.0/containers/${pool}-${name}`,
      `/1.0/profiles/${pool}-${name}`,
    ]);
  });

  test('a volume in use is not deleted, and while a user runs neither renamed, moved nor restored', async () => {
    const name = await made(pool);
    await daemon.ok('POST', snapshots(name), { name: 's' });
    const c = `c-${pool}-${name}`;
    await createContainer(daemon, c, { devices: { data: disk(pool, name) } });
    const path = volumes(pool, 'custom', name);
    expect(problemOf(await daemon.call('DELETE', path))).toMatch(new RegExp(`^400 .*in use.*${c}`));
    expect((await setState(daemon, c, 'start')).status).toBe('Success');
    expect(problemOf(await daemon.call('POST', path, { name: fresh() }))).toMatch(/^400 .*running/);
    expect(problemOf(await daemon.call('PUT', path, { restore: 's' }))).toMatch(/^400 .*running/);
    const other = pool === 'default' ? 'dir' : 'default';
    expect((await daemon.run('POST', path, { name, pool: other })).err).toMatch(/running/);
    await setState(daemon, c, 'stop', { force: true });
    expect((await daemon.call('PUT', path, { restore: 's' })).status).toBe(200);
    await daemon.ok('DELETE', `/1.0/containers/${c}`);
    expect((await daemon.call('DELETE', path)).status).toBe(200);
  });

  test('a container with a volume that does not exist is refused', async () => {
    const answer = await daemon.call('POST', '/1.0/containers', {
      name: 'x',
      source: { type: 'none' },
      devices: { data: disk(pool, 'none') },
    });
    const ended = answer.status === 202 ? (await daemon.wait(answer.body.operation)).err : problemOf(answer);
    expect(ended).toMatch(/none/);
    expect((await daemon.call('GET', '/1.0/containers/x')).status).toBe(404);
  });

  test('snapshots are taken, listed, described, renamed, restored and deleted', async () => {
    const name = await made(pool, { description: 'd', config: { 'user.a': '1' } });
    write(pool, name, 'one');
    await daemon.ok('POST', snapshots(name), {});
    await daemon.ok('POST', snapshots(name), { description: 'mine' });
    expect(await daemon.get(snapshots(name))).toEqual([snapshots(name, 'snap0'), snapshots(name, 'snap1')]);
    expect(await daemon.get(`${snapshots(name)}?recursion=1`)).toMatchObject([
      { name: `${name}/snap0`, description: 'd', config: { 'user.a': '1' } },
      { name: `${name}/snap1`, description: 'mine' },
    ]);
    expect((await daemon.call('POST', snapshots(name), { name: 'snap0' })).status).toBe(409);
    expect((await daemon.call('POST', snapshots(name), { name: 'a/b' })).status).toBe(400);
    expect((await daemon.call('PUT', snapshots(name, 'snap0'), { description: 'new' })).status).toBe(200);
    await daemon.ok('POST', snapshots(name, 'snap0'), { name: 'kept' });
    expect(await daemon.get(snapshots(name, 'kept'))).toMatchObject({ name: 'kept', description: 'new' });
    expect((await daemon.call('POST', snapshots(name, 'kept'), { name: 'snap1' })).status).toBe(409);
    write(pool, name, 'two');
    expect((await daemon.call('PUT', volumes(pool, 'custom', name), { restore: 'none' })).status).toBe(404);
    expect((await daemon.call('PUT', volumes(pool, 'custom', name), { restore: 'kept' })).status).toBe(200);
    expect(read(pool, name)).toBe('one');
    await daemon.ok('DELETE', snapshots(name, 'kept'));
    expect((await daemon.call('DELETE', snapshots(name, 'kept'))).status).toBe(404);
    expect(await daemon.get(snapshots(name))).toEqual([snapshots(name, 'snap1')]);
    await daemon.call('DELETE', volumes(pool, 'custom', name));
    expect(readdirSync(join(daemon.dir, 'storage-pools', pool, 'custom-snapshots'))).not.toContain(name);
  });

  test('one of several concurrent deletions deletes a snapshot, and the others do not find it', async () => {
    const name = await made(pool);
    await daemon.ok('POST', snapshots(name), { name: 's' });
    const answers = await Promise.all([0, 1, 2].map(() => daemon.call('DELETE', snapshots(name, 's'))));
    const errors = await Promise.all(
      answers.map(async ({ status, body }) =>
        status === 202 ? (await daemon.wait(body.operation)).err : body.metadata.message,
      ),
    );
    expect(errors.filter((err) => err === '')).toHaveLength(1);
    expect(errors.filter((err) => err.endsWith('was not found'))).toHaveLength(2);
  });

  test('one ETag of a snapshot lets one of several parallel changes pass', async () => {
    const name = await made(pool);
    await daemon.ok('POST', snapshots(name), { name: 's' });
    const path = snapshots(name, 's');
    const headers = { 'if-match': String((await daemon.call('GET', path)).headers.etag) };
    const change = async (description: string): Promise<string | undefined> => {
      const { status } = await daemon.call('PUT', path, { description }, headers);
      return status === 200 ? description : undefined;
    };
    const changed = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(change));
    const [only, ...others] = changed.filter((each) => each !== undefined);
    expect(others).toEqual([]);
    expect(await daemon.get(path)).toMatchObject({ description: only });
  });

  test('a rename of a snapshot that waits for a rename of its volume fails, and the snapshot stays usable', async () => {
    const [name, to] = [await made(pool), fresh()];
    await daemon.ok('POST', snapshots(name), { name: 's' });
    const [volume, snapshot] = await Promise.all([
      daemon.call('POST', volumes(pool, 'custom', name), { name: to }),
      daemon.call('POST', snapshots(name, 's'), { name: 't' }),
    ]);
    expect([volume.status, snapshot.status]).toEqual([200, 202]);
    expect(await daemon.wait(snapshot.body.operation)).toMatchObject({ status: 'Failure' });
    await daemon.ok('POST', snapshots(to, 's'), { name: 't' });
    expect(await daemon.get(snapshots(to))).toEqual([snapshots(to, 't')]);
  });

  test('copies work within the pool, of a snapshot, without snapshots, and into another pool', async () => {
    const name = await made(pool, { config: { 'user.a': '1' } });
    write(pool, name, 'one');
    await daemon.ok('POST', snapshots(name), { name: 's' });
    write(pool, name, 'two');
    const copy = async (to: string, source: object, more = {}): Promise<string> => {
      const target = fresh();
      await daemon.ok('POST', volumes(to, 'custom'), { name: target, source, ...more });
      return target;
    };
    const whole = await copy(pool, { name });
    expect([read(pool, whole), await daemon.get(snapshots(whole))]).toEqual(['two', [snapshots(whole, 's')]]);
    expect((await daemon.get(volumes(pool, 'custom', whole))).config).toEqual({ 'user.a': '1' });
    const alone = await copy(pool, { name, volume_only: true, pool });
    expect(await daemon.get(snapshots(alone))).toEqual([]);
    expect(read(pool, await copy(pool, { name: `${name}/s` }))).toBe('one');
    const there = await copy('default', { name, pool });
    expect(read('default', there)).toBe('two');
    await daemon.call('PUT', volumes('default', 'custom', there), { restore: 's' });
    expect(read('default', there)).toBe('one');
  });

  test('a copy that waits for deletions of snapshots has the others', async () => {
    const [name, copy] = [await made(pool), fresh()];
    for (const each of ['a', 'b', 'c', 'd']) await daemon.ok('POST', snapshots(name), { name: each });
    await Promise.all([
      ...['a', 'b', 'c'].map((each) => daemon.ok('DELETE', snapshots(name, each))),
      daemon.ok('POST', volumes(pool, 'custom'), { name: copy, source: { type: 'copy', name } }),
    ]);
    expect(await daemon.get(snapshots(copy))).toContain(snapshots(copy, 'd'));
  });

  test('moves into another pool keep snapshots; devices follow, and nothing is left behind', async () => {
    const name = await made(pool, { description: 'travels' });
    write(pool, name, 'one');
    await daemon.ok('POST', snapshots(name), { name: 's' });
    const c = `m-${pool}-${name}`;
    await createContainer(daemon, c, { devices: { data: disk(pool, name) } });
    const to = fresh();
    await daemon.ok('POST', volumes(pool, 'custom', name), { name: to, pool: 'default' });
    expect((await daemon.call('GET', volumes(pool, 'custom', name))).status).toBe(404);
    expect(await daemon.get(volumes('default', 'custom', to))).toMatchObject({
      description: 'travels',
      used_by: [`/1.0/containers/${c}`],
    });
    expect((await daemon.get(`/1.0/containers/${c}`)).devices.data).toMatchObject({ pool: 'default', source: to });
    expect(read('default', to)).toBe('one');
    expect(await daemon.get(volumes('default', 'custom', to, 'snapshots'))).toHaveLength(1);
    for (const folder of ['custom', 'custom-snapshots'])
      expect(readdirSync(join(daemon.dir, 'storage-pools', pool, folder))).not.toContain(name);
  });

  test('lists have containers, images and custom volumes with their snapshots', async () => {
    const name = await made(pool);
    await daemon.ok('POST', snapshots(name), { name: 's' });
    const c = `l-${pool}`;
    await createContainer(daemon, c, { devices: { root: { type: 'disk', path: '/', pool } } });
    const urls = (await daemon.get(volumes(pool))) as string[];
    const expected = [volumes(pool, 'container', c), volumes(pool, 'custom', name), snapshots(name, 's')];
    expect(urls).toEqual(expect.arrayContaining(expected));
    expect(names(await daemon.get(`${volumes(pool)}?recursion=1`))).toEqual(
      expect.arrayContaining([`container/${c}`, `custom/${name}`]),
    );
    expect(names(await daemon.get(`${volumes(pool, 'container')}?recursion=1`))).toEqual([`container/${c}`]);
    expect((await daemon.get(volumes(pool, 'container', c))).used_by).toEqual([`/1.0/containers/${c}`]);
    expect((await daemon.call('DELETE', volumes(pool, 'container', c))).status).toBe(400);
    expect((await daemon.get(`/1.0/storage-pools/${pool}`)).used_by).toContain(volumes(pool, 'custom', name));
    expect((await daemon.call('DELETE', `/1.0/storage-pools/${pool}`)).status).toBe(400);
  });

  test('each step sends an event', async () => {
    const events = await daemon.listen('lifecycle');
    const name = await made(pool);
    await daemon.ok('POST', snapshots(name), { name: 's' });
    await daemon.ok('POST', volumes(pool, 'custom', name, 'backups'), { name: 'b' });
    await daemon.call('DELETE', volumes(pool, 'custom', name));
    await events.next((event) => lifecycleOf(event).action === 'storage-volume-deleted');
    const path = volumes(pool, 'custom', name);
    const sent = events.events.map(lifecycleOf).map(({ action, source, context }) => [action, source, context]);
    expect(sent).toEqual([
      ['storage-volume-created', path, undefined],
      ['storage-volume-snapshot-created', `${path}/snapshots/s`, undefined],
      ['storage-volume-backup-created', `${path}/backups/b`, { backup_name: `${name}/b` }],
      ['storage-volume-snapshot-deleted', `${path}/snapshots/s`, undefined],
      ['storage-volume-backup-deleted', `${path}/backups/b`, { backup_name: `${name}/b` }],
      ['storage-volume-deleted', path, undefined],
    ]);
  });
});

test.skipIf(noBtrfs !== undefined)(
  'a size limits a volume on btrfs, changed and after a restore, and is refused on dir without project quotas',
  async () => {
    const fill = (name: string, mebibytes: number): unknown => {
      try {
        return writeFileSync(fileOf('btrfs', name), Buffer.alloc(mebibytes * 1_048_576, 1));
      } catch (error) {
        return (error as NodeJS.ErrnoException).errno;
      }
    };
    const name = await made('btrfs', { config: { size: '8MiB' } });
    const path = volumes('btrfs', 'custom', name);
    expect(fill(name, 12)).toBe(-122);
    await daemon.call('PATCH', path, { config: { size: '24MiB' } });
    expect(fill(name, 12)).toBeUndefined();
    await daemon.ok('POST', `${path}/snapshots`, { name: 's' });
    await daemon.call('PUT', path, { restore: 's' });
    expect(fill(name, 32)).toBe(-122);
    await daemon.call('PATCH', path, { config: { size: '' } });
    expect(fill(name, 32)).toBeUndefined();
    await daemon.call('PATCH', path, { config: { size: '64MiB' } });
    const move = await daemon.call('POST', path, { name, pool: 'dir' });
    expect(problemOf(move)).toMatch(/^400 .*size/);
    const refused = await daemon.call('POST', volumes('dir', 'custom'), { name: fresh(), config: { size: '1GiB' } });
    expect(problemOf(refused)).toMatch(/^400 .*prjquota/);
  },
);
