// Backups of custom volumes over the real daemon on the simulation: made, listed, fetched, imported, expired; and uploads by hand.
import { spawnSync } from 'node:child_process';
import { chmod, chown, lstat, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Answer, type Json } from '../../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../../support/daemons/file-daemon.ts';
import { testMinutes } from '../../../../support/daemons/clock.ts';
import { backupByHand, volumeBackupByHand } from '../../../../support/hostile/backups.ts';
import { until } from '../../../../support/until.ts';

const minutes = testMinutes('2026-03-01T10:30:30Z');
const daemon = await seededDaemon({ time: minutes.time });
const custom = '/1.0/storage-pools/default/volumes/custom';
const octets = { 'content-type': 'application/octet-stream' };
const isRoot = process.getuid?.() === 0;

let count = 0;
const freshName = (): string => `v${(count += 1)}`;
async function fresh(config: object = {}): Promise<string> {
  const name = freshName();
  await daemon.call('POST', custom, { name, config, description: 'of a volume' });
  return name;
}
const filesOf = (volume: string, ...rest: string[]): string =>
  join(daemon.dir, 'storage-pools', 'default', 'custom', volume, ...rest);
const path = (volume: string, backup = ''): string => `${custom}/${volume}/backups${backup === '' ? '' : `/${backup}`}`;
const make = (volume: string, body: object = {}) => daemon.ok('POST', path(volume), body);
const exported = async (volume: string, backup: string): Promise<Buffer> => {
  const answer = await daemon.call('GET', `${path(volume, backup)}/export`);
  expect(answer.status).toBe(200);
  return answer.bytes;
};
const upload = (bytes: Buffer, headers: Record<string, string> = {}, at = custom): Promise<Answer> =>
  daemon.call('POST', at, bytes, { ...octets, ...headers });
const imported = (bytes: Buffer, headers: Record<string, string> = {}) =>
  daemon.ok('POST', custom, bytes, { ...octets, ...headers });
const backupFiles = async (): Promise<string[]> =>
  (await readdir(join(daemon.dir, 'backups'))).filter((each) => !each.startsWith('.'));
const uploads = (): Promise<string[]> => readdir(join(daemon.dir, 'backups', '.uploads')).catch(() => []);

describe('a backup of a volume', () => {
  test('comes back with files, owners, config, description and snapshots, under its name or another', async () => {
    const v = await fresh({ 'user.a': 'b', 'snapshots.expiry': '3d' });
    await writeFile(filesOf(v, 'file'), 'then');
    await daemon.ok('POST', `${custom}/${v}/snapshots`, { name: 's', description: 'first' });
    await writeFile(filesOf(v, 'file'), 'now');
    await writeFile(filesOf(v, 'backup.yaml'), 'mine');
    await symlink('/etc/shadow', filesOf(v, 'link'));
    await chmod(filesOf(v), 0o750);
    if (isRoot) for (const each of ['', 'file']) await chown(filesOf(v, each), 1000, 1001);
    const operation = await make(v);
    expect(operation).toMatchObject({ metadata: { backup_name: 'backup0' } });
    expect(operation.resources).toEqual({ storage_volumes: [`${custom}/${v}`], backups: [path(v, 'backup0')] });
    const bytes = await exported(v, 'backup0');
    const before = await daemon.get(`${custom}/${v}`);
    await imported(bytes, { 'x-svc-name': `${v}x` });
    expect(await daemon.get(`${custom}/${v}x`)).toMatchObject({ config: before.config, description: 'of a volume' });
    const [snapshot] = (await daemon.get(`${custom}/${v}x/snapshots?recursion=1`)) as Json[];
    const [old] = (await daemon.get(`${custom}/${v}/snapshots?recursion=1`)) as Json[];
    expect(snapshot).toEqual({ ...old, name: `${v}x/s` });
    for (const [name, text] of [
      ['file', 'now'],
      ['backup.yaml', 'mine'],
    ] as const)
      expect(await readFile(filesOf(`${v}x`, name), 'utf8')).toBe(text);
    expect(await readlink(filesOf(`${v}x`, 'link'))).toBe('/etc/shadow');
    for (const each of ['', 'file']) {
      const [was, is] = [await lstat(filesOf(v, each)), await lstat(filesOf(`${v}x`, each))];
      expect([is.uid, is.gid, is.mode]).toEqual([was.uid, was.gid, was.mode]);
    }
    await daemon.call('PUT', `${custom}/${v}x`, { restore: 's' });
    expect(await readFile(filesOf(`${v}x`, 'file'), 'utf8')).toBe('then');
    expect((await upload(bytes)).status).toBe(409);
    await daemon.call('DELETE', `${custom}/${v}`);
    await imported(bytes);
    expect(await readFile(filesOf(v, 'file'), 'utf8')).toBe('now');
  });

  test('has the members and the index that LXD writes', async () => {
    const v = await fresh();
    await daemon.ok('POST', `${custom}/${v}/snapshots`, { name: 's' });
    await make(v, { name: 'b', compression_algorithm: 'none' });
    const bytes = await exported(v, 'b');
    const run = (...words: string[]): string =>
      spawnSync('tar', [...words, '--file=-'], { input: bytes, encoding: 'utf8' }).stdout;
    const members = run('--list').trim().split('\n');
    expect(members).toEqual(['backup/index.yaml', 'backup/volume-snapshots/s/', 'backup/volume/']);
    const index = spawnSync('tar', ['--extract', '--to-stdout', '--file=-', 'backup/index.yaml'], { input: bytes });
    expect(index.stdout.toString()).toMatch(
      new RegExp(
        `^name: ${v}\nbackend: dir\npool: default\nsnapshots:\n *- s\n.*type: custom\nconfig:\n  volume:\n`,
        's',
      ),
    );
  });

  test('is listed, read, renamed and deleted, also with its volume', async () => {
    const v = await fresh();
    await make(v, { name: 'b', volume_only: true, expires_at: '2030-01-01T00:00:00Z' });
    expect(await daemon.get(path(v))).toEqual([path(v, 'b')]);
    const backup = await daemon.get(path(v, 'b'));
    expect(Object.keys(backup)).toEqual(
      expect.arrayContaining(['name', 'created_at', 'expires_at', 'volume_only', 'optimized_storage']),
    );
    expect(backup).toMatchObject({ name: 'b', volume_only: true, expires_at: '2030-01-01T00:00:00Z' });
    expect(await daemon.get(`${path(v)}?recursion=1`)).toEqual([backup]);
    expect((await daemon.call('POST', path(v), { name: 'b' })).status).toBe(409);
    await daemon.ok('POST', path(v, 'b'), { name: 'c' });
    await daemon.call('POST', `${custom}/${v}`, { name: `${v}r` });
    expect(await daemon.get(path(`${v}r`))).toEqual([path(`${v}r`, 'c')]);
    await make(`${v}r`, { name: 'd' });
    const there = (await backupFiles()).length;
    await daemon.ok('DELETE', path(`${v}r`, 'c'));
    await daemon.call('DELETE', `${custom}/${v}r`);
    expect(await backupFiles()).toHaveLength(there - 2);
  });

  test('leaves its snapshots out with volume_only, and makes a volume without them', async () => {
    const v = await fresh();
    await daemon.ok('POST', `${custom}/${v}/snapshots`, { name: 's' });
    await make(v, { name: 'b', volume_only: true });
    await imported(await exported(v, 'b'), { 'x-svc-name': `${v}x` });
    expect(await daemon.get(`${custom}/${v}x/snapshots`)).toEqual([]);
  });

  test('is deleted at the full hour after its end', async () => {
    const v = await fresh();
    await make(v, { name: 'old', expires_at: '2026-03-01T10:45:00Z' });
    await make(v, { name: 'kept' });
    minutes.pass(Date.parse('2026-03-01T11:00:00Z') - minutes.now());
    await until(async () => ((await daemon.get(path(v))) as string[]).length === 1);
    expect(await daemon.get(path(v))).toEqual([path(v, 'kept')]);
  });

  test('is plain where the pool has no form of its own', async () => {
    const v = await fresh();
    await make(v, { name: 'b', optimized_storage: true });
    expect(await daemon.get(path(v, 'b'))).toMatchObject({ optimized_storage: false });
  });

  test.each([
    [{ name: 'a/b' }, 400, /must not contain/],
    [{ compression_algorithm: 'gzpi' }, 400, /did you mean gzip/],
    [{ expires_at: 'tomorrow' }, 400, /expires_at: must be an RFC 3339/],
  ])('is refused for %j with the reason', async (body, status, message) => {
    const v = await fresh();
    const answer = await daemon.call('POST', path(v), body);
    expect([answer.status, answer.bytes.toString()]).toEqual([status, expect.stringMatching(message)]);
    expect(await daemon.get(path(v))).toEqual([]);
  });

  test('is not made of a volume that is missing, or of a container', async () => {
    expect((await daemon.call('POST', path('none'), {})).status).toBe(404);
    expect((await daemon.call('GET', path('none'))).status).toBe(404);
    const ofContainer = await daemon.call('POST', '/1.0/storage-pools/default/volumes/container/c/backups', {});
    expect([ofContainer.status, ofContainer.bytes.toString()]).toEqual([
      400,
      expect.stringMatching(/of type container/),
    ]);
  });
});

describe('an upload that becomes no volume', () => {
  const plain = (name: string, flag?: string) => ({ name, ...(flag === undefined ? { content: 'x' } : { flag }) });
  const link = (name: string, flag: string, to: string) => ({ name, flag, link: to });
  const inside = 'backup/volume/';
  test.each<[string, Parameters<typeof volumeBackupByHand>[1], RegExp]>([
    ['a file above it', { files: [plain(`${inside}../../../x`)] }, /leads out|no part/],
    ['an absolute name', { files: [plain('/etc/x')] }, /no part of a backup/],
    ['a file through a link', { files: [link(`${inside}l`, '2', '/etc'), plain(`${inside}l/x`)] }, /passes through/],
    ['a hard link out of it', { files: [link(`${inside}l`, '1', 'backup/index.yaml')] }, /outside of its part/],
    ['a file twice', { files: [plain(`${inside}a`), plain(`${inside}a`)] }, /is there twice/],
    ['files of a container', { files: [plain('backup/container/rootfs/x')] }, /no part of a backup/],
    ['a snapshot that is not listed', { files: [plain('backup/volume-snapshots/t/', '5')] }, /not in its list/],
    ['a snapshot without files', { index: { snapshots: ['t'] } }, /has no description|are missing/],
    ['a snapshot with a bad name', { snapshots: ['..'] }, /Invalid snapshot name|no part/],
    ['a block volume', { volume: { content_type: 'block' } }, /content_type block/],
    ['a bad name', { name: 'a/b' }, /Invalid storage volume name/],
    ['an unknown key', { volume: { config: { 'security.nonsense': '1' } } }, /security\.nonsense: is not a config key/],
    ['a form of btrfs', { index: { optimized: true, backend: 'btrfs' } }, /form of the storage driver btrfs/],
    ['no config', { index: { config: null } }, /config\.volume/],
    ['a virtual machine', { index: { type: 'virtual-machine' } }, /of a virtual-machine/],
  ])('has %s: nothing is made, and the reason is said', async (_what, byHand, message) => {
    const name = freshName();
    const before = await readdir(filesOf(''));
    const answer = await upload(volumeBackupByHand(name, byHand));
    const why =
      answer.status === 202 ? (await daemon.wait(answer.body.operation as string)).err : answer.bytes.toString();
    expect(why).toMatch(message);
    expect((await daemon.call('GET', `${custom}/${name}`)).status).toBe(404);
    expect([await readdir(filesOf('')), await uploads()]).toEqual([before, []]);
  });

  test('is a backup of the other kind: the message says where it belongs', async () => {
    const v = await fresh();
    await make(v, { name: 'b' });
    const asContainer = await upload(await exported(v, 'b'), {}, '/1.0/containers');
    expect([asContainer.status, asContainer.bytes.toString()]).toEqual([
      400,
      expect.stringMatching(/of a storage volume/),
    ]);
    const asVolume = await upload(backupByHand('c', {}));
    expect([asVolume.status, asVolume.bytes.toString()]).toEqual([400, expect.stringMatching(/of a container/)]);
    expect(await uploads()).toEqual([]);
  });

  test('has no pool to go to, or a type that is not custom', async () => {
    const bytes = volumeBackupByHand(freshName(), {});
    expect((await upload(bytes, {}, '/1.0/storage-pools/none/volumes/custom')).status).toBe(404);
    expect((await upload(bytes, {}, '/1.0/storage-pools/default/volumes/image')).status).toBe(400);
  });
});

test('keys of other drivers are dropped, since a backup cannot be edited', async () => {
  const name = freshName();
  const config = { size: '10GiB', 'block.filesystem': 'xfs', 'volatile.idmap.last': '[]', 'user.a': 'b' };
  await imported(volumeBackupByHand(name, { volume: { config } }));
  expect((await daemon.get(`${custom}/${name}`)).config).toEqual({ 'user.a': 'b' });
});

test.runIf(isRoot)('device nodes are not restored unless the caller accepts the backup', async () => {
  const change = (header: Buffer): void => {
    header.write('0000001', 329);
    header.write('0000001', 337);
  };
  const node = { name: 'backup/volume/mem', flag: '3', change };
  for (const [trusted, there] of [
    ['false', false],
    ['true', true],
  ] as const) {
    const name = freshName();
    await imported(volumeBackupByHand(name, { files: [node] }), { 'x-svc-allow-host-access': trusted });
    expect((await readdir(filesOf(name))).includes('mem')).toBe(there);
  }
});
