// A daemon that lost its records restores them from the copies in its pools: idempotent, and without touching objects without a copy.
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../../server/drivers/storage/btrfs/btrfs.ts';
import { createContainer, makeDaemon, type Json, type TestDaemon } from '../../../support/daemons/daemon.ts';
import { loopsGone, unmountBelow } from '../../../support/hosts/mounts.ts';
import { goodMetadata, rootfsDirectory, tarOf } from '../../../support/images/hostile.ts';
import { until } from '../../../support/until.ts';

const noBtrfs = (await btrfsMissing()) ?? (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (noBtrfs !== undefined) console.log(`skipped: recovery of btrfs pools: ${noBtrfs}`);

const image = tarOf({ name: 'metadata.yaml', content: goodMetadata, mode: 0o644 }, rootfsDirectory);
const volume = '/1.0/storage-pools/p/volumes/custom/data';

async function fill(daemon: TestDaemon, driver: string): Promise<void> {
  const config = driver === 'btrfs' ? { size: '512MiB' } : {};
  await daemon.call('POST', '/1.0/storage-pools', { name: 'p', driver, config });
  await daemon.call('POST', '/1.0/networks', { name: 'gtyarec0', config: { 'ipv4.address': '10.213.7.1/24' } });
  await daemon.call('POST', '/1.0/projects', { name: 'team', config: { 'features.profiles': 'false' } });
  const root = { type: 'disk', path: '/', pool: 'p' };
  await daemon.call('PUT', '/1.0/profiles/default', { devices: { root }, config: { 'user.kept': 'yes' } });
  await daemon.call('POST', '/1.0/profiles', { name: 'web', config: { 'limits.memory': '64MB' } });
  await daemon.ok('POST', '/1.0/images', image, { 'x-svc-aliases': 'alias=one' });
  await createContainer(daemon, 'c1', { profiles: ['default', 'web'], source: { type: 'image', alias: 'one' } });
  await daemon.ok('POST', '/1.0/containers/c1/snapshots', { name: 's1' });
  await daemon.ok('POST', '/1.0/containers/c1/backups', { name: 'b1' });
  await daemon.ok('POST', '/1.0/containers?project=team', { name: 'c2', source: { type: 'none' } });
  await daemon.call('POST', '/1.0/storage-pools/p/volumes/custom', { name: 'data', config: { 'user.owner': 'db' } });
  await daemon.ok('POST', `${volume}/snapshots`, { name: 'then' });
  await daemon.ok('POST', `${volume}/backups`, { name: 'b2' });
  await daemon.call('PATCH', '/1.0', { config: { 'user.note': 'kept' } });
}

const shown = [
  '/1.0/storage-pools/p',
  '/1.0/networks/gtyarec0',
  '/1.0/projects/team',
  '/1.0/profiles/default',
  '/1.0/profiles/web',
  '/1.0/images/aliases/one',
  '/1.0/containers/c1',
  '/1.0/containers/c1/snapshots/s1',
  '/1.0/containers/c1/backups/b1',
  '/1.0/containers/c2?project=team',
  volume,
  `${volume}/snapshots/then`,
  `${volume}/backups/b2`,
];

const objects = (daemon: TestDaemon): Promise<Json> =>
  Promise.all(shown.map(async (path) => [path, await daemon.get(path)]));

const recover = async (daemon: TestDaemon, body: object): Promise<Json> => {
  const answer = await daemon.call('POST', '/1.0/recovery', body);
  expect([answer.status, answer.metadata?.message]).toEqual([200, undefined]);
  return answer.metadata;
};

const loseRecords = (daemon: TestDaemon): Promise<void> =>
  daemon.restart(() => rm(join(daemon.dir, 'database'), { recursive: true }));

describe.each(noBtrfs === undefined ? ['dir', 'btrfs'] : ['dir'])('a pool of driver %s', (driver) => {
  let daemon: TestDaemon;
  const place = (...parts: string[]): string => join(daemon.dir, 'storage-pools', 'p', ...parts);
  beforeAll(async () => {
    daemon = await makeDaemon();
    await fill(daemon, driver);
  });
  afterAll(async () => {
    await daemon.stop();
    unmountBelow(daemon.dir);
    await daemon.cleanUp();
    await loopsGone(daemon.dir);
  });

  test('restores all records about it, and lists a volume without a copy', async () => {
    const before = await objects(daemon);
    await mkdir(place('custom', 'stranger'));
    await writeFile(place('custom', 'stranger', 'file'), 'mine');
    await loseRecords(daemon);
    expect(await daemon.get('/1.0/containers')).toEqual([]);
    expect(daemon.logged.join('\n')).toContain('gantryd recover');

    const config = driver === 'btrfs' ? { size: '512MiB' } : {};
    const again = await daemon.call('POST', '/1.0/storage-pools', { name: 'p', driver, config });
    expect([again.status, again.metadata.message]).toEqual([400, expect.stringContaining('gantryd recover')]);
    expect(await daemon.get('/1.0/storage-pools')).toEqual([]);

    const looked = await recover(daemon, {});
    expect(looked).toMatchObject({ applied: false, kept: [], problems: [] });
    expect(await daemon.get('/1.0/containers')).toEqual([]);

    const done = await recover(daemon, { apply: true });
    expect(done).toMatchObject({ applied: true, recovered: looked.recovered, kept: [], problems: [] });
    expect(done.unknown).toEqual([{ pool: 'p', type: 'custom', name: 'stranger', snapshots: [], is_known: false }]);
    expect(await objects(daemon)).toEqual(before);
    expect((await daemon.get('/1.0')).config['user.note']).toBe('kept');
    expect(await readFile(place('custom', 'stranger', 'file'), 'utf8')).toBe('mine');
  });

  test('finds nothing the second time, and after a restart', async () => {
    expect(await recover(daemon, { apply: true })).toMatchObject({ recovered: [], kept: [], problems: [] });
    await daemon.restart();
    expect(await recover(daemon, {})).toMatchObject({ recovered: [], kept: [], problems: [] });
    expect((await daemon.run('PUT', '/1.0/containers/c1/state', { action: 'start' })).err).toBe('');
    await daemon.ok('PUT', '/1.0/containers/c1/state', { action: 'stop', force: true });
  });

  test('is found by its source if the whole state directory is lost', async () => {
    if (driver !== 'dir') return;
    const other = await makeDaemon();
    try {
      await daemon.stop();
      const moved = join(daemon.dir, 'saved');
      await rename(place(), moved);
      const pools = [{ name: 'p', driver, config: { source: moved } }];
      const wrong = await other.call('POST', '/1.0/recovery', { pools: [{ ...pools[0], name: 'q' }] });
      expect([wrong.status, wrong.body.metadata.message]).toEqual([
        404,
        expect.stringContaining('it has records of p'),
      ]);
      const empty = join(daemon.dir, 'empty');
      await mkdir(empty);
      const none = await other.call('POST', '/1.0/recovery', {
        pools: [{ name: 'p', driver, config: { source: empty } }],
      });
      expect([none.status, await readdir(empty)]).toEqual([404, []]);
      expect(await recover(other, { pools, apply: true })).toMatchObject({ problems: [] });
      expect((await other.get('/1.0/storage-pools/p')).config.source).toBe(moved);
      expect(await other.get('/1.0/containers')).toEqual(['/1.0/containers/c1']);
    } finally {
      await other.cleanUp();
    }
  });
});

describe('copies', () => {
  let daemon: TestDaemon;
  const copies = async (kind: string): Promise<readonly string[]> => {
    const folder = join(daemon.dir, 'storage-pools', 'p', 'records', kind);
    const files: readonly string[] = await readdir(folder).catch(() => []);
    return files.toSorted();
  };
  beforeAll(async () => {
    daemon = await makeDaemon();
    await fill(daemon, 'dir');
  });
  afterAll(() => daemon.cleanUp());

  test('follow renames, moves to another pool and deletions', async () => {
    await daemon.call('POST', '/1.0/storage-pools', { name: 'q', driver: 'dir' });
    await daemon.ok('POST', '/1.0/containers/c1', { name: 'c9' });
    await daemon.ok('DELETE', '/1.0/containers/c2?project=team');
    await until(async () => (await copies('containers')).join() === 'c9.json');
    await daemon.call('POST', volume, { name: 'moved', pool: 'q' });
    await until(async () => (await copies('volumes')).length === 0 && (await copies('volumeSnapshots')).length === 0);
    const there = join(daemon.dir, 'storage-pools', 'q', 'records', 'volumeSnapshots');
    await until(async () => (await readdir(there).catch(() => [])).length === 1);
  });

  test('stay for recovery while only an older state of the records lacks their objects', async () => {
    const saved = join(daemon.dir, 'saved-database');
    await daemon.restart(() => rename(join(daemon.dir, 'database'), saved));
    await daemon.restart();
    expect(await copies('containers')).toEqual(['c9.json']);
    await recover(daemon, { apply: true });
    expect(await daemon.get('/1.0/containers')).toEqual(['/1.0/containers/c9']);
  });

  test('stay for recovery where an older state of the records lacks a snapshot of a container that it has', async () => {
    const [database, saved] = ['database', 'older-database'].map((name) => join(daemon.dir, name)) as [string, string];
    await daemon.restart(() => cp(database, saved, { recursive: true }));
    await daemon.ok('POST', '/1.0/containers/c9/snapshots', { name: 'later' });
    await until(async () => (await copies('snapshots')).some((file) => file.endsWith('%2Flater.json')));
    await daemon.restart(async () => {
      await rm(database, { recursive: true });
      await rename(saved, database);
    });
    await daemon.restart();
    expect(await daemon.get('/1.0/containers/c9/snapshots')).toHaveLength(1);
    await recover(daemon, { apply: true });
    expect(await daemon.get('/1.0/containers/c9/snapshots')).toHaveLength(2);
  });

  test('wait for recovery where an older state of the records has their container by its former name', async () => {
    const [database, saved] = ['database', 'older-database'].map((name) => join(daemon.dir, name)) as [string, string];
    await daemon.restart(() => cp(database, saved, { recursive: true }));
    await daemon.ok('POST', '/1.0/containers/c9', { name: 'c0' });
    await until(async () => (await copies('containers')).join() === 'c0.json');
    await daemon.restart(async () => {
      await rm(database, { recursive: true });
      await rename(saved, database);
    });
    const { kept } = await recover(daemon, { apply: true });
    expect(await daemon.get('/1.0/containers')).toEqual(['/1.0/containers/c9']);
    expect(kept).toMatchObject([
      { kind: 'containers', name: 'c0', reason: expect.stringContaining('delete c9') as string },
    ]);
    await daemon.ok('DELETE', '/1.0/containers/c9');
    await recover(daemon, { apply: true });
    expect(await daemon.get('/1.0/containers')).toEqual(['/1.0/containers/c0']);
    await daemon.ok('POST', '/1.0/containers/c0', { name: 'c9' });
  });

  test('hold no secrets of the server', async () => {
    await daemon.call('PATCH', '/1.0', { config: { 'core.trust_password': 'open-sesame', 'user.mark': 'seen' } });
    const file = join(daemon.dir, 'storage-pools', 'p', 'records', 'server', 'config.json');
    await until(async () => (await readFile(file, 'utf8')).includes('user.mark'));
    expect(await readFile(file, 'utf8')).not.toContain('trust_password');
  });
});
