// Backups of containers over the real daemon on the simulation (spec 4.14; real system section 11).
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, link, mkdir, readdir, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createContainer, lifecycleOf, type Json } from '../../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../../support/daemons/file-daemon.ts';
import { testMinutes } from '../../../../support/daemons/clock.ts';
import { until } from '../../../../support/until.ts';

const zero = '0001-01-01T00:00:00Z';
const minutes = testMinutes('2026-03-01T10:30:30Z');
const daemon = await seededDaemon({ time: minutes.time });

let count = 0;
const freshName = (): string => `b${(count += 1)}`;
async function fresh(more: object = {}): Promise<string> {
  const name = freshName();
  await createContainer(daemon, name, more);
  return name;
}
const path = (container: string, backup = ''): string =>
  `/1.0/containers/${container}/backups${backup === '' ? '' : `/${backup}`}`;
const make = (container: string, body: object = {}) => daemon.ok('POST', path(container), body);
const names = async (container: string): Promise<string[]> =>
  ((await daemon.get(`${path(container)}?recursion=1`)) as Json[]).map((backup) => backup.name as string);
const rootfs = (container: string): string =>
  join(daemon.dir, 'storage-pools', 'default', 'containers', container, 'rootfs');
const backupFiles = async (): Promise<string[]> =>
  (await readdir(join(daemon.dir, 'backups'))).filter((each) => !each.startsWith('.'));
const exported = async (container: string, backup: string): Promise<Buffer> => {
  const answer = await daemon.call('GET', `${path(container, backup)}/export`);
  expect(answer.status).toBe(200);
  return answer.bytes;
};
const octets = { 'content-type': 'application/octet-stream' };
const restore = (bytes: Buffer, headers: Record<string, string> = {}) =>
  daemon.call('POST', '/1.0/containers', bytes, { ...octets, ...headers });
const restored = (bytes: Buffer, headers: Record<string, string> = {}) =>
  daemon.ok('POST', '/1.0/containers', bytes, { ...octets, ...headers });
const drop = (name: string) => daemon.ok('DELETE', `/1.0/containers/${name}`);
const list = (bytes: Buffer): string[] => {
  const run = spawnSync('tar', ['--list', '--auto-compress', '--file=-'], { input: bytes, encoding: 'utf8' });
  return run.stdout.trim().split('\n');
};

describe('making', () => {
  test('making without a name gives backup0, backup1 …; the operation has the name and the progress', async () => {
    const c = await fresh();
    const operation = await make(c);
    expect(operation).toMatchObject({ description: 'Backing up container', metadata: { backup_name: 'backup0' } });
    expect((await make(c, { name: '' })).metadata).toMatchObject({ backup_name: 'backup1' });
    await daemon.ok('DELETE', path(c, 'backup0'));
    await make(c);
    expect(await names(c)).toEqual(['backup1', 'backup2']);
  });

  test('is returned under the names of both releases, as URLs, objects and with its container', async () => {
    const c = await fresh();
    const full = async (): Promise<Json> =>
      ((await daemon.get('/1.0/containers?recursion=2')) as Json[]).find((each) => each.name === c);
    expect((await full()).backups).toBeNull();
    await make(c, { name: 'b', instance_only: true, expires_at: '2030-01-01T00:00:00Z' });
    expect(await daemon.get(path(c))).toEqual([path(c, 'b')]);
    const backup = await daemon.get(path(c, 'b'));
    expect(backup).toMatchObject({
      name: 'b',
      expires_at: '2030-01-01T00:00:00Z',
      expiry_date: '2030-01-01T00:00:00Z',
      container_only: true,
      instance_only: true,
      optimized_storage: false,
    });
    expect(backup.created_at).toBe(backup.creation_date);
    expect(backup.size).toBe((await exported(c, 'b')).length);
    expect((await full()).backups).toEqual([backup]);
    await make(c, { name: 'for-ever', expires_at: null, expiry: '' });
    expect((await daemon.get(path(c, 'for-ever'))).expires_at).toBe(zero);
  });

  test('is plain where the pool has no form of its own', async () => {
    const c = await fresh();
    await make(c, { name: 'b', optimized_storage: true });
    expect(await daemon.get(path(c, 'b'))).toMatchObject({ optimized_storage: false });
  });

  test.each([
    [{ name: 'a/b' }, 400, /must not contain/],
    [{ name: 'x'.repeat(65) }, 400, /at most 64/],
    [{ expires_at: 'tomorrow' }, 400, /expires_at: must be an RFC 3339/],
    [{ expiry: '12' }, 400, /expiry: must be an RFC 3339/],
    [{ compression_algorithm: 'gzpi' }, 400, /did you mean gzip/],
    [{ compression_algorithm: '../sh' }, 400, /no program/],
    [{ container_only: 'yes' }, 400, /container_only/],
  ])('%j is refused with its reason', async (body, status, message) => {
    const c = await fresh();
    const answer = await daemon.call('POST', path(c), body);
    expect(answer.status).toBe(status);
    expect(answer.bytes.toString()).toMatch(message);
    expect(await names(c)).toEqual([]);
  });

  test('a second backup of one name is 409, a missing container or backup is 404', async () => {
    const c = await fresh();
    await make(c, { name: 'b' });
    expect((await daemon.call('POST', path(c), { name: 'b' })).status).toBe(409);
    expect((await daemon.call('POST', path('none'), {})).status).toBe(404);
    for (const [method, url] of [
      ['GET', path(c, 'x')],
      ['GET', `${path(c, 'x')}/export`],
      ['DELETE', path(c, 'x')],
      ['POST', path(c, 'x')],
    ] as const)
      expect((await daemon.call(method, url, method === 'POST' ? { name: 'y' } : undefined)).status).toBe(404);
  });

  test.each(['gzip', 'zstd', 'xz', 'bzip2', 'lzma', 'none'])('packed by %s can be read again', async (algorithm) => {
    const c = await fresh();
    await writeFile(join(rootfs(c), 'file'), algorithm);
    await make(c, { name: 'b', compression_algorithm: algorithm });
    const bytes = await exported(c, 'b');
    const name = freshName();
    await restored(bytes, { 'x-svc-name': name });
    expect(await readFile(join(rootfs(name), 'file'), 'utf8')).toBe(algorithm);
  });

  test('can be cancelled while it is being made, and cannot be fetched, renamed or deleted meanwhile; then nothing is left behind', async () => {
    const c = await fresh();
    const before = await backupFiles();
    await writeFile(join(rootfs(c), 'big'), randomBytes(20_000_000));
    const answer = await daemon.call('POST', path(c), { name: 'b', compression_algorithm: 'xz' });
    const operation = answer.body.operation as string;
    await until(async () => (await names(c)).includes('b'));
    for (const [method, url] of [
      ['GET', `${path(c, 'b')}/export`],
      ['POST', path(c, 'b')],
      ['DELETE', path(c, 'b')],
    ] as const) {
      const refused = await daemon.call(method, url, method === 'POST' ? { name: 'x' } : undefined);
      expect([refused.status, refused.bytes.toString()]).toEqual([
        400,
        expect.stringMatching(/is busy: it is being made/),
      ]);
    }
    expect((await daemon.call('DELETE', operation)).status).toBe(202);
    expect((await daemon.wait(operation)).status).toBe('Cancelled');
    await until(async () => (await names(c)).length === 0);
    expect(await backupFiles()).toEqual(before);
  });

  test('uses the compression of the server config unless the request has one', async () => {
    const c = await fresh();
    await daemon.call('PATCH', '/1.0', { config: { 'backups.compression_algorithm': 'zstd' } });
    await make(c, { name: 'zstd' });
    await daemon.call('PATCH', '/1.0', { config: { 'backups.compression_algorithm': '' } });
    await make(c, { name: 'gzip' });
    expect((await exported(c, 'zstd')).subarray(0, 4).toString('hex')).toBe('28b52ffd');
    expect((await exported(c, 'gzip')).subarray(0, 2).toString('hex')).toBe('1f8b');
  });

  test('the archive has index, snapshots and container at the standard places', async () => {
    const c = await fresh({ config: { 'user.a': 'b' } });
    for (const name of ['s&1', 'a']) await daemon.ok('POST', `/1.0/containers/${c}/snapshots`, { name });
    await make(c, { name: 'b', compression_algorithm: 'none' });
    const bytes = await exported(c, 'b');
    expect(list(bytes)).toEqual([
      'backup/index.yaml',
      'backup/snapshots/s&1/',
      'backup/snapshots/s&1/rootfs/',
      'backup/snapshots/s&1/backup.yaml',
      'backup/snapshots/a/',
      'backup/snapshots/a/rootfs/',
      'backup/snapshots/a/backup.yaml',
      'backup/container/',
      'backup/container/rootfs/',
      'backup/container/backup.yaml',
    ]);
    expect(bytes.toString('latin1')).toContain(`name: ${c}\nbackend: dir\npool: default\nsnapshots:\n  - s&1\n  - a\n`);
    await make(c, { name: 'only', container_only: true, compression_algorithm: 'none' });
    expect(list(await exported(c, 'only')).filter((name) => name.includes('snapshots'))).toEqual([]);
  });
});

test.skipIf(process.getuid?.() !== 0)(
  'owners of files that were shifted on disk appear as the container sees them',
  async () => {
    const c = await fresh();
    await writeFile(join(rootfs(c), 'file'), 'x');
    const { config } = await daemon.get(`/1.0/containers/${c}`);
    const [map] = JSON.parse(config['volatile.idmap.next'] as string) as { Hostid: number }[];
    const base = map?.Hostid ?? 0;
    expect(base).toBeGreaterThan(0);
    await chown(rootfs(c), base, base);
    await chown(join(rootfs(c), 'file'), base + 1000, base + 33);
    await make(c, { name: 'b', compression_algorithm: 'none' });
    const run = spawnSync('tar', ['-tv', '--numeric-owner', '--file=-'], {
      input: await exported(c, 'b'),
      encoding: 'utf8',
    });
    expect(run.stdout).toMatch(/ 0\/0 .* backup\/container\/rootfs\/\n/);
    expect(run.stdout).toMatch(/ 1000\/33 .* backup\/container\/rootfs\/file\n/);
  },
);
if (process.getuid?.() !== 0) console.log('skipped: owners of shifted files in backups: it needs root');

describe('a backup', () => {
  test('is renamed and deleted, follows the rename of its container and is deleted with it', async () => {
    const c = await fresh();
    const before = (await backupFiles()).length;
    await make(c, { name: 'a' });
    await make(c, { name: 'b' });
    expect((await daemon.call('POST', path(c, 'a'), { name: 'b' })).status).toBe(409);
    expect((await daemon.call('POST', path(c, 'a'), { name: 'x/y' })).status).toBe(400);
    await daemon.ok('POST', path(c, 'a'), { name: 'c' });
    expect(await names(c)).toEqual(['b', 'c']);
    await daemon.ok('DELETE', path(c, 'b'));
    const renamed = freshName();
    await daemon.ok('POST', `/1.0/containers/${c}`, { name: renamed });
    expect(await names(renamed)).toEqual(['c']);
    expect((await exported(renamed, 'c')).length).toBeGreaterThan(100);
    await drop(renamed);
    expect((await backupFiles()).length).toBe(before);
    await createContainer(daemon, renamed);
    expect(await names(renamed)).toEqual([]);
  });

  test('sends an event when it is made, renamed and deleted', async () => {
    const c = await fresh();
    const listening = await daemon.listen('lifecycle');
    await make(c, { name: 'a' });
    await daemon.ok('POST', path(c, 'a'), { name: 'b' });
    await daemon.ok('DELETE', path(c, 'b'));
    const is = (action: string, source: string) =>
      listening.next((event) => lifecycleOf(event).action === action && lifecycleOf(event).source === source);
    expect(lifecycleOf(await is('container-backup-created', path(c, 'a'))).context).toEqual({ backup_name: `${c}/a` });
    expect(lifecycleOf(await is('container-backup-renamed', path(c, 'a'))).context).toMatchObject({
      new_name: `${c}/b`,
    });
    await is('container-backup-deleted', path(c, 'b'));
    await make(c, { name: 'last' });
    await drop(c);
    await is('container-backup-deleted', path(c, 'last'));
    listening.close();
  });

  test('is returned completely with its length, or as one range', async () => {
    const c = await fresh();
    await make(c, { name: 'b' });
    const url = `${path(c, 'b')}/export`;
    const whole = await daemon.call('GET', url);
    expect(whole.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': String(whole.bytes.length),
      'accept-ranges': 'bytes',
    });
    for (const [range, from, to] of [
      ['bytes=0-9', 0, 10],
      ['bytes=5-', 5, whole.bytes.length],
      ['bytes=-7', whole.bytes.length - 7, whole.bytes.length],
      ['bytes=3-999999999', 3, whole.bytes.length],
    ] as const) {
      const part = await daemon.call('GET', url, undefined, { range });
      expect(part.status).toBe(206);
      expect(part.headers['content-range']).toBe(`bytes ${from}-${to - 1}/${whole.bytes.length}`);
      expect(part.bytes.equals(whole.bytes.subarray(from, to))).toBe(true);
    }
    for (const range of ['bytes=9-3', 'bytes=1-2,5-6', 'lines=1-2', 'bytes=-', 'bytes=999999999-'])
      expect((await daemon.call('GET', url, undefined, { range })).bytes.length).toBe(whole.bytes.length);
  });

  test('a backup that has expired is deleted at the full hour, not before', async () => {
    const c = await fresh();
    await make(c, { name: 'old', expires_at: '2026-03-01T10:40:00Z' });
    await make(c, { name: 'later', expires_at: '2099-01-01T00:00:00Z' });
    const isGone = async (snapshot: string): Promise<boolean> =>
      (await daemon.call('GET', `/1.0/containers/${c}/snapshots/${snapshot}`)).status === 404;
    for (const [name, time] of [
      ['one', '10:50'],
      ['two', '10:59'],
    ] as const)
      await daemon.ok('POST', `/1.0/containers/${c}/snapshots`, { name, expires_at: `2026-03-01T${time}:00Z` });
    minutes.pass(Date.parse('2026-03-01T10:58:00Z') - minutes.now());
    await until(() => isGone('one'));
    minutes.pass(60_000);
    // All tasks of the minute before have run.
    await until(() => isGone('two'));
    expect(await names(c)).toEqual(['later', 'old']);
    minutes.pass(60_000);
    await until(async () => (await names(c)).join(' ') === 'later');
  });
});

describe('restoring', () => {
  test('restores the same container: config, devices, profiles, dates, snapshots, files', async () => {
    const c = await fresh({
      config: { 'user.a': 'yes', 'limits.memory': '64MB' },
      devices: { n: { type: 'none' }, eth0: { type: 'nic', nictype: 'p2p' } },
      description: 'the: one\n',
    });
    const root = rootfs(c);
    await mkdir(join(root, 'd'));
    await writeFile(join(root, 'd', 'one'), 'one', { mode: 0o4750 });
    await link(join(root, 'd', 'one'), join(root, 'two'));
    await symlink('../../../../etc/passwd', join(root, 'away'));
    await writeFile(join(root, 'holes'), '');
    await truncate(join(root, 'holes'), 50 * 1_048_576);
    await daemon.ok('POST', `/1.0/containers/${c}/snapshots`, { name: 's', expires_at: '2099-01-01T00:00:00Z' });
    await writeFile(join(root, 'd', 'after'), 'x');
    await make(c, { name: 'b' });
    const bytes = await exported(c, 'b');
    const before = await daemon.get(`/1.0/containers/${c}?recursion=1`);
    await drop(c);
    const operation = await restored(bytes);
    expect(operation).toMatchObject({
      description: 'Restoring backup',
      resources: { containers: [`/1.0/containers/${c}`] },
    });
    const after = await daemon.get(`/1.0/containers/${c}?recursion=1`);
    // The host chooses the host ids, each time again.
    const plain = (object: Json): Json => {
      const { backups: _, ...rest } = JSON.parse(
        JSON.stringify(object, (key, value: unknown) =>
          key.startsWith('volatile.') && (key.includes('idmap') || key.includes('cloud-init')) ? undefined : value,
        ),
      );
      return rest;
    };
    expect(plain(after)).toEqual(plain(before));
    // Under its name it is the same machine for cloud-init.
    const id = 'volatile.cloud-init.instance-id';
    expect(after.config[id]).toBe(before.config[id]);
    expect(after.snapshots[0].created_at).toBe(before.snapshots[0].created_at);
    expect(after.config).toMatchObject({ 'user.a': 'yes', 'limits.memory': '64MB' });
    expect(after.config['volatile.eth0.hwaddr']).toBe(before.config['volatile.eth0.hwaddr']);
    const [one, two] = await Promise.all([stat(join(root, 'd', 'one')), stat(join(root, 'two'))]);
    expect([one.mode, one.ino]).toEqual([0o104750, two.ino]);
    expect((await stat(join(root, 'holes'))).blocks).toBeLessThan(1000);
    expect(await readdir(join(root, 'd'))).toEqual(expect.arrayContaining(['after', 'one']));
    await daemon.ok('PUT', `/1.0/containers/${c}`, { restore: 's' });
    expect(await readdir(join(root, 'd'))).toEqual(['one']);
    await daemon.ok('PUT', `/1.0/containers/${c}/state`, { action: 'start' });
    await daemon.ok('PUT', `/1.0/containers/${c}/state`, { action: 'stop', force: true });
  });

  test('a backup restored next to its original becomes another machine: a new name and hardware address', async () => {
    const c = await fresh({ devices: { eth0: { type: 'nic', nictype: 'p2p' } } });
    await make(c, { name: 'b' });
    const bytes = await exported(c, 'b');
    const taken = await restore(bytes);
    expect(taken.status).toBe(409);
    const name = freshName();
    await restored(bytes, { 'x-svc-name': name });
    const [one, two] = await Promise.all([c, name].map((each) => daemon.get(`/1.0/containers/${each}`)));
    const key = 'volatile.eth0.hwaddr';
    expect(two.config[key]).toMatch(/^00:16:3e:/);
    expect(two.config[key]).not.toBe(one.config[key]);
    expect(await readdir(join(daemon.dir, 'backups', '.uploads'))).toEqual([]);
  });

  test('uses the requested pool, else that of the backup, else that of the default profile', async () => {
    for (const pool of ['here', 'gone']) await daemon.call('POST', '/1.0/storage-pools', { name: pool, driver: 'dir' });
    const root = (pool: string) => ({ root: { type: 'disk', path: '/', pool } });
    const c = await fresh({ devices: root('gone') });
    await daemon.ok('POST', `/1.0/containers/${c}/snapshots`, { name: 's' });
    await make(c, { name: 'b' });
    const bytes = await exported(c, 'b');
    await drop(c);
    const poolOf = async (name: string): Promise<string> =>
      (await daemon.get(`/1.0/containers/${name}`)).expanded_devices.root.pool as string;
    const [one, two, three] = [freshName(), freshName(), freshName()];
    await restored(bytes, { 'x-svc-name': one, 'x-svc-pool': 'here' });
    expect(await poolOf(one)).toBe('here');
    await restored(bytes, { 'x-svc-name': two });
    expect(await poolOf(two)).toBe('gone');
    await drop(two);
    await daemon.call('DELETE', '/1.0/storage-pools/gone');
    await restored(bytes, { 'x-svc-name': three });
    expect(await poolOf(three)).toBe('default');
    await daemon.ok('PUT', `/1.0/containers/${three}`, { restore: 's' });
    const missing = await restore(bytes, { 'x-svc-name': freshName(), 'x-svc-pool': 'none' });
    expect([missing.status, missing.bytes.toString()]).toEqual([404, expect.stringMatching(/storage pool none/)]);
  });

  test('restoring with missing profiles, volumes or networks fails with their names, and leaves nothing behind', async () => {
    await daemon.call('POST', '/1.0/profiles', { name: 'web', config: {} });
    const c = await fresh({ profiles: ['default', 'web'] });
    await make(c, { name: 'b' });
    const bytes = await exported(c, 'b');
    await drop(c);
    await daemon.call('DELETE', '/1.0/profiles/web');
    const answer = await restore(bytes);
    expect([answer.status, answer.bytes.toString()]).toEqual([400, expect.stringMatching(/there is no profile web/)]);
    expect((await daemon.call('GET', `/1.0/containers/${c}`)).status).toBe(404);
    expect(await readdir(join(daemon.dir, 'backups', '.uploads'))).toEqual([]);
  });
});

test('uploads and half-made files of a dead daemon are removed at the next start', async () => {
  const c = await fresh();
  await make(c, { name: 'b' });
  const kept = await exported(c, 'b');
  await daemon.restart(async () => {
    const dir = join(daemon.dir, 'backups');
    await mkdir(join(dir, '.uploads'), { recursive: true });
    await writeFile(join(dir, '.uploads', 'x'), 'half');
    await writeFile(join(dir, 'no-record'), 'half');
  });
  expect(await readdir(join(daemon.dir, 'backups'))).not.toContain('no-record');
  expect(await readdir(join(daemon.dir, 'backups'))).not.toContain('.uploads');
  expect((await exported(c, 'b')).equals(kept)).toBe(true);
});
