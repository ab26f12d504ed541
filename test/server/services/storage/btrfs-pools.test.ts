// Pools of driver btrfs over the real daemon on the simulation: sizes of root disks, snapshots, restarts, leftovers.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../../server/drivers/storage/btrfs/btrfs.ts';
import { createContainer, makeDaemon, type TestDaemon } from '../../../support/daemons/daemon.ts';
import { loopsGone, mountsBelow } from '../../../support/hosts/mounts.ts';
import { until } from '../../../support/until.ts';

const why = (await btrfsMissing()) ?? (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (why !== undefined) console.log(`skipped: btrfs pools of a daemon: ${why}`);

describe.skipIf(why !== undefined)('a btrfs pool', () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await makeDaemon();
    await daemon.call('POST', '/1.0/storage-pools', { name: 'fast', driver: 'btrfs', config: { size: '256MiB' } });
    const root = { type: 'disk', path: '/', pool: 'fast' };
    await daemon.call('PUT', '/1.0/profiles/default', { devices: { root } });
  });
  afterAll(async () => {
    await daemon.cleanUp();
    expect(mountsBelow(daemon.dir)).toEqual([]);
    await loopsGone(daemon.dir);
  });

  const volume = (name: string): string => join(daemon.dir, 'storage-pools', 'fast', 'containers', name);
  const fill = (name: string, mebibytes: number): string => {
    try {
      writeFileSync(join(volume(name), 'rootfs', 'big'), Buffer.alloc(mebibytes * 1_048_576, 1));
      return 'fits';
    } catch (error) {
      return String((error as NodeJS.ErrnoException).errno);
    }
  };
  const full = '-122';
  const size = (value: string) => ({ devices: { root: { type: 'disk', path: '/', pool: 'fast', size: value } } });

  test('has its source and its size', async () => {
    const pool = await daemon.get('/1.0/storage-pools/fast');
    expect(pool).toMatchObject({
      driver: 'btrfs',
      config: { size: '256MiB', source: join(daemon.dir, 'disks/fast.img') },
    });
    expect((await daemon.get('/1.0')).environment.storage).toMatch(/btrfs/);
    const { space } = await daemon.get('/1.0/storage-pools/fast/resources');
    expect(space.total).toBe(256 * 1_048_576);
  });

  test('gives new custom volumes the size volume.size, unless they have their own', async () => {
    const to = async (value: string) =>
      daemon.call('PATCH', '/1.0/storage-pools/fast', { config: { 'volume.size': value } });
    expect((await to('8MiB')).status).toBe(200);
    const volumes = '/1.0/storage-pools/fast/volumes/custom';
    await daemon.call('POST', volumes, { name: 'usual' });
    await daemon.call('POST', volumes, { name: 'own', config: { size: '16MiB' } });
    expect((await daemon.get(`${volumes}/usual`)).config).toEqual({ size: '8MiB' });
    expect((await daemon.get(`${volumes}/own`)).config).toEqual({ size: '16MiB' });
    for (const name of ['usual', 'own']) await daemon.call('DELETE', `${volumes}/${name}`);
    expect((await to('')).status).toBe(200);
  });

  test('enforces the size of a root disk: at creation, changed, of a copy and one of a snapshot, after a restore, from the profile', async () => {
    await createContainer(daemon, 'c', size('8MiB'));
    expect(fill('c', 12)).toBe(full);
    await daemon.call('PATCH', '/1.0/containers/c', size('24MiB'));
    expect(fill('c', 12)).toBe('fits');
    await createContainer(daemon, 'd', { source: { type: 'copy', source: 'c' } });
    expect(fill('d', 32)).toBe(full);
    await daemon.ok('POST', '/1.0/containers/c/snapshots', { name: 's' });
    await daemon.ok('PUT', '/1.0/containers/c', { restore: 's' });
    expect(fill('c', 32)).toBe(full);
    await createContainer(daemon, 'e', { source: { type: 'copy', source: 'c/s' } });
    expect(fill('e', 32)).toBe(full);
    await daemon.call('PATCH', '/1.0/containers/c', size(''));
    await daemon.ok('PUT', '/1.0/containers/c', { profiles: ['default'] });
    expect(fill('c', 32)).toBe('fits');
    expect(fill('c', 4)).toBe('fits');
    expect((await daemon.call('PATCH', '/1.0/profiles/default', size('16MiB'))).status).toBe(200);
    expect(fill('c', 48)).toBe(full);
    const { devices } = await daemon.get('/1.0/profiles/default');
    await daemon.call('PUT', '/1.0/profiles/default', { devices: { root: { ...devices.root, size: '' } } });
    for (const name of ['c', 'd', 'e']) await daemon.ok('DELETE', `/1.0/containers/${name}`);
  });

  test('a size below the used space is refused, of root disks and volumes alike, and changes nothing; a full one can get more', async () => {
    await createContainer(daemon, 'e', size('32MiB'));
    expect(fill('e', 12)).toBe('fits');
    const refused = await daemon.call('PATCH', '/1.0/containers/e', size('8MiB'));
    expect([refused.status, refused.body.metadata.message]).toEqual([
      400,
      expect.stringMatching(/e of pool fast.*it holds/),
    ]);
    expect((await daemon.get('/1.0/containers/e')).devices.root.size).toBe('32MiB');
    expect(fill('e', 28)).toBe('fits');
    const small = { name: 'f', source: { type: 'copy', source: 'e' }, ...size('8MiB') };
    expect((await daemon.run('POST', '/1.0/containers', small)).err).toMatch(/it holds/);
    expect((await daemon.call('GET', '/1.0/containers/f')).status).toBe(404);

    const custom = '/1.0/storage-pools/fast/volumes/custom';
    await daemon.call('POST', custom, { name: 'v', config: { size: '32MiB' } });
    const file = join(daemon.dir, 'storage-pools', 'fast', 'custom', 'v', 'big');
    const write = (mebibytes: number): void => writeFileSync(file, Buffer.alloc(mebibytes * 1_048_576, 1));
    write(12);
    const less = await daemon.call('PATCH', `${custom}/v`, { config: { size: '8MiB' } });
    expect([less.status, less.body.metadata.message]).toEqual([
      400,
      expect.stringMatching(/volume v of pool fast.*it holds/),
    ]);
    expect((await daemon.get(`${custom}/v`)).config).toEqual({ size: '32MiB' });
    expect(() => write(40)).toThrow();
    expect((await daemon.call('PATCH', `${custom}/v`, { config: { size: '64MiB' } })).status).toBe(200);
    write(40);
  });

  test('the next start repairs a size after a daemon died between the limit and its record', async () => {
    const path = (...names: string[]): string => join(daemon.dir, 'storage-pools', 'fast', ...names);
    const limit = (bytes: string, ...names: string[]): Buffer =>
      execFileSync('btrfs', ['qgroup', 'limit', bytes, path(...names)]);
    const limitOf = (...names: string[]): string | undefined =>
      execFileSync('btrfs', ['qgroup', 'show', '--raw', '-re', '-f', path(...names)], { encoding: 'utf8' })
        .split('\n')
        .at(2)
        ?.split(/ +/)
        .at(3);
    await daemon.call('POST', '/1.0/storage-pools/fast/volumes/custom', { name: 'w' });
    await daemon.restart(() => {
      limit('100000000', 'containers', 'e');
      limit('100000000', 'custom', 'v');
      limit('100000000', 'custom', 'w');
    });
    expect(limitOf('containers', 'e')).toBe(String(32 * 1_048_576));
    expect(limitOf('custom', 'v')).toBe(String(64 * 1_048_576));
    expect(limitOf('custom', 'w')).toBe('none');
    await daemon.ok('DELETE', '/1.0/containers/e');
    for (const name of ['v', 'w']) await daemon.call('DELETE', `/1.0/storage-pools/fast/volumes/custom/${name}`);
  });

  test('a size of a volume is refused where the pool cannot limit, that of a root disk taken as with LXD', async () => {
    await daemon.call('POST', '/1.0/storage-pools', { name: 'plain', driver: 'dir' });
    const volume = { name: 'v', type: 'custom', config: { size: '1GiB' } };
    const refused = await daemon.call('POST', '/1.0/storage-pools/plain/volumes', volume);
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([400, expect.stringMatching(/prjquota/)]);
    const devices = { root: { type: 'disk', path: '/', pool: 'plain', size: '1GiB' } };
    await daemon.ok('POST', '/1.0/containers', { name: 'x', source: { type: 'none' }, devices });
    await daemon.ok('DELETE', '/1.0/containers/x');
  });

  test('mount options change while it is in use; wrong ones answer 400 and are not recorded', async () => {
    const patch = (options: string) =>
      daemon.call('PATCH', '/1.0/storage-pools/fast', { config: { 'btrfs.mount_options': options } });
    expect((await patch('noatime,user_subvol_rm_allowed')).status).toBe(200);
    expect((await patch('nonsense')).status).toBe(400);
    expect((await daemon.get('/1.0/storage-pools/fast')).config['btrfs.mount_options']).toMatch(/^noatime/);
    expect(
      (await daemon.call('PATCH', '/1.0/storage-pools/fast', { config: { 'rsync.bwlimit': '10MB' } })).status,
    ).toBe(200);
  });

  test('containers and snapshots exist after a restart of daemon and host', async () => {
    await createContainer(daemon, 'c');
    writeFileSync(join(volume('c'), 'rootfs', 'file'), 'one');
    await daemon.ok('POST', '/1.0/containers/c/snapshots', { name: 's' });
    await daemon.restart();
    await daemon.restart(() => {
      execFileSync('umount', [join(daemon.dir, 'storage-pools', 'fast')]);
    });
    writeFileSync(join(volume('c'), 'rootfs', 'file'), 'two');
    await daemon.ok('PUT', '/1.0/containers/c', { restore: 's' });
    expect(readFileSync(join(volume('c'), 'rootfs', 'file'), 'utf8')).toBe('one');
    await createContainer(daemon, 'to-dir', {
      source: { type: 'copy', source: 'c' },
      devices: { root: { type: 'disk', path: '/', pool: 'plain' } },
    });
    const there = join(daemon.dir, 'storage-pools', 'plain');
    expect(readFileSync(join(there, 'containers-snapshots', 'to-dir', 's', 'rootfs', 'file'), 'utf8')).toBe('one');
    for (const name of ['c', 'to-dir']) await daemon.ok('DELETE', `/1.0/containers/${name}`);
  });

  test('a copy that does not fit fails with the reason and leaves nothing behind', async () => {
    await createContainer(daemon, 'big', { devices: { root: { type: 'disk', path: '/', pool: 'plain' } } });
    writeFileSync(
      join(daemon.dir, 'storage-pools', 'plain', 'containers', 'big', 'rootfs', 'data'),
      randomBytes(300_000_000),
    );
    const ended = await daemon.run('POST', '/1.0/containers', {
      name: 'toobig',
      source: { type: 'copy', source: 'big' },
      devices: { root: { type: 'disk', path: '/', pool: 'fast' } },
    });
    expect([ended.status, ended.err]).toEqual(['Failure', expect.stringMatching(/no space is left/)]);
    expect((await daemon.call('GET', '/1.0/containers/toobig')).status).toBe(404);
    await until(() => readdirSync(join(daemon.dir, 'storage-pools', 'fast', 'tmp')).length === 0);
    await daemon.ok('DELETE', '/1.0/containers/big');
  });

  test('is deleted with its mount and file when it has no users', async () => {
    expect((await daemon.call('DELETE', '/1.0/storage-pools/fast')).status).toBe(400);
    await daemon.call('PUT', '/1.0/profiles/default', { devices: {} });
    expect((await daemon.call('DELETE', '/1.0/storage-pools/fast')).status).toBe(200);
    expect(mountsBelow(daemon.dir)).toEqual([]);
    expect(readdirSync(join(daemon.dir, 'disks'))).toEqual([]);
  });
});
