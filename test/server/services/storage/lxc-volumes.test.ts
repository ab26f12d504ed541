// Snapshots and custom volumes of real containers, on directories and on btrfs: files of root inside belong to 0:0 on disk, in every
// pool, and are restored.
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../../server/drivers/storage/btrfs/btrfs.ts';
import {
  createContainer,
  makeSeeded,
  realRuntimeMissing,
  setState,
  statusOf,
  type TestDaemon,
} from '../../../support/daemons/daemon.ts';
import { uploadBusybox } from '../../../support/images/busybox.ts';
import { loopsGone, mountsBelow } from '../../../support/hosts/mounts.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const missing =
  (await realRuntimeMissing()) ??
  (await btrfsMissing()) ??
  (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (missing !== undefined) console.log(`skipped: real containers on btrfs: ${missing}`);

describe.skipIf(missing !== undefined)('real containers', () => {
  let daemon: TestDaemon;
  let work = '';
  beforeAll(async () => {
    work = await realpath(tempFolder('gtya-real-'));
    daemon = await makeSeeded({ runtime: 'lxc' });
    await daemon.call('POST', '/1.0/storage-pools', { name: 'fast', driver: 'btrfs', config: { size: '512MiB' } });
    await uploadBusybox(daemon);
  });
  afterAll(async () => {
    await daemon?.cleanUp();
    await rm(work, { recursive: true, force: true });
    if (daemon === undefined) return;
    expect(mountsBelow(daemon.dir)).toEqual([]);
    await loopsGone(daemon.dir);
  });

  const run = async (name: string, script: string): Promise<string> => {
    const ended = await daemon.ok('POST', `/1.0/containers/${name}/exec`, {
      command: ['sh', '-c', script],
      'record-output': true,
    });
    const output = ended.metadata?.['output'] as Record<string, string>;
    return (await daemon.call('GET', output['1'] ?? '')).bytes.toString().trim();
  };

  test.each(['default', 'fast'])(
    'in pool %s: volumes of both pools, a snapshot while running, and its restore',
    async (pool) => {
      const c = `c-${pool}`;
      const devices: Record<string, object> = { root: { type: 'disk', path: '/', pool } };
      for (const other of ['default', 'fast']) {
        await daemon.call('POST', `/1.0/storage-pools/${other}/volumes/custom`, { name: c });
        devices[other] = { type: 'disk', path: `/mnt/${other}`, pool: other, source: c };
      }
      await createContainer(daemon, c, { source: { type: 'image', alias: 'busybox' }, devices });
      expect((await setState(daemon, c, 'start')).err).toBe('');
      await run(c, 'echo one > /root-file; for p in default fast; do echo $p > /mnt/$p/file; done');
      for (const other of ['default', 'fast']) {
        const { uid, gid } = statSync(join(daemon.dir, 'storage-pools', other, 'custom', c, 'file'));
        expect([other, uid, gid]).toEqual([other, 0, 0]);
      }
      await daemon.ok('POST', `/1.0/containers/${c}/snapshots`, { name: 's' });
      await run(c, 'echo two > /root-file; echo two > /mnt/fast/file');
      await daemon.ok('PUT', `/1.0/containers/${c}`, { restore: 's' });
      expect(await statusOf(daemon, c)).toBe('Running');
      // Volumes are no part of the container's snapshot.
      expect(await run(c, 'cat /root-file /mnt/default/file /mnt/fast/file')).toBe('one\ndefault\ntwo');
      expect(await run(c, 'stat -c %u:%g / /root-file /mnt/fast/file')).toBe('0:0\n0:0\n0:0');
      await createContainer(daemon, `${c}-then`, {
        source: { type: 'copy', source: `${c}/s` },
        devices: { default: { type: 'none' }, fast: { type: 'none' } },
      });
      expect((await setState(daemon, `${c}-then`, 'start')).err).toBe('');
      expect(await run(`${c}-then`, 'cat /root-file')).toBe('one');
      for (const name of [c, `${c}-then`]) {
        await setState(daemon, name, 'stop', { force: true });
        await daemon.ok('DELETE', `/1.0/containers/${name}`);
      }
      for (const other of ['default', 'fast'])
        expect((await daemon.call('DELETE', `/1.0/storage-pools/${other}/volumes/custom/${c}`)).status).toBe(200);
    },
  );

  test('the size of a root disk is enforced inside, also when it changes; a restart of the daemon keeps the pool, and the pool is deleted at the end', async () => {
    const devices = { root: { type: 'disk', path: '/', pool: 'fast', size: '16MiB' } };
    await createContainer(daemon, 'small', { source: { type: 'image', alias: 'busybox' }, devices });
    expect((await setState(daemon, 'small', 'start')).err).toBe('');
    expect(await run('small', 'dd if=/dev/zero of=/big bs=1M count=32 2>&1 | grep -c -i quota')).toBe('1');
    const resize = async (size: string): Promise<number> => {
      const body = { devices: { root: { ...devices.root, size } } };
      return (await daemon.call('PATCH', '/1.0/containers/small', body)).status;
    };
    const write = (name: string, count: number): Promise<string> =>
      run(name, `dd if=/dev/zero of=/big bs=1M count=${count} 2>&1 | grep -c -i quota; rm /big; sync`);
    expect(await write('small', 32)).toBe('1');
    expect(await resize('64MiB')).toBe(200);
    expect(await write('small', 32)).toBe('0');
    await run('small', 'dd if=/dev/urandom of=/held bs=1M count=24 2>/dev/null; sync');
    expect(await resize('16MiB')).toBe(400);
    expect(await run('small', 'rm /held; sync')).toBe('');
    expect(await resize('20MiB')).toBe(200);
    expect(await write('small', 32)).toBe('1');
    expect(await run('small', 'dd if=/dev/zero of=/big bs=1M count=32 2>&1 | grep -c -i quota')).toBe('1');
    await daemon.restart();
    expect(await statusOf(daemon, 'small')).toBe('Running');
    expect(await run('small', 'rm /big; sync; echo ok > /file; cat /file')).toBe('ok');
    await setState(daemon, 'small', 'stop', { force: true });
    await daemon.ok('DELETE', '/1.0/containers/small');
    expect((await daemon.call('DELETE', '/1.0/storage-pools/fast')).status).toBe(200);
    expect(execFileSync('losetup', ['--list'], { encoding: 'utf8' })).not.toContain(daemon.dir);
  });
});
