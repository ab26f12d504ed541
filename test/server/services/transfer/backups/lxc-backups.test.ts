// Backups of running containers on the real runtime: files keep their owners inside the container, and restored containers run.
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../../../server/drivers/storage/btrfs/btrfs.ts';
import { makeSeeded, realRuntimeMissing, statusOf, type TestDaemon } from '../../../../support/daemons/daemon.ts';
import { buildBusyboxImage } from '../../../../support/images/busybox.ts';
import { until } from '../../../../support/until.ts';
import { tempFolder } from '../../../../support/temp-folder.ts';

const missing = await realRuntimeMissing();
const noBtrfs = (await btrfsMissing()) ?? (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (missing === undefined && noBtrfs !== undefined) console.log(`skipped: backups of containers on btrfs: ${noBtrfs}`);

const has = (program: string): boolean => {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};
const octets = { 'content-type': 'application/octet-stream', 'x-svc-allow-host-access': 'true' };

describe.skipIf(missing !== undefined)('a running container', () => {
  let daemon: TestDaemon;
  const folder = tempFolder('gantry-bkreal-');
  let fingerprint = '';
  beforeAll(async () => {
    daemon = await makeSeeded({ runtime: 'lxc' });
    const image = await buildBusyboxImage(join(folder, 'image'), { busybox: { dhcp: false } });
    ({ fingerprint } = image);
    await daemon.ok('POST', '/1.0/images', readFileSync(image.metadataPath), octets);
    if (noBtrfs === undefined)
      await daemon.call('POST', '/1.0/storage-pools', { name: 'bt', driver: 'btrfs', config: { size: '256MiB' } });
  });
  afterAll(() => daemon?.cleanUp());

  test.each([
    ['default', false, false],
    ['default', false, true],
    ['bt', false, false],
    ['bt', true, false],
  ] as const)(
    'in pool %s (optimized: %s, privileged: %s) is restored completely and runs',
    async (pool, optimized, privileged) => {
      if (pool === 'bt' && noBtrfs !== undefined) return;
      const name = `live-${pool}-${String(optimized)}-${String(privileged)}`;
      const url = `/1.0/containers/${name}`;
      const root = { type: 'disk', path: '/', pool };
      await daemon.ok('POST', '/1.0/containers', {
        name,
        source: { type: 'image', fingerprint },
        devices: { root },
        config: { 'security.privileged': String(privileged) },
      });
      const rootfs = join(daemon.dir, 'storage-pools', pool, 'containers', name, 'rootfs');
      await daemon.ok('PUT', `${url}/state`, { action: 'start' });
      // Ids of the container, as its own programs would see them.
      for (const [path, uid, mode] of [
        ['/home-of-1000', 1000, 0o644],
        ['/setuid', 0, 0o4755],
      ] as const) {
        const headers = {
          ...octets,
          'x-svc-uid': String(uid),
          'x-svc-gid': String(uid),
          'x-svc-mode': mode.toString(8),
        };
        expect((await daemon.call('POST', `${url}/files?path=${path}`, Buffer.from(path), headers)).status).toBe(200);
      }
      const owner = lstatSync(join(rootfs, 'home-of-1000')).uid;
      const on = (path: string): string => join(rootfs, path);
      writeFileSync(on('attributes'), 'x');
      if (has('setfattr')) execFileSync('setfattr', ['-n', 'trusted.test', '-v', 'kept', on('attributes')]);
      if (has('setfacl')) execFileSync('setfacl', ['-m', 'u:1234:r', on('attributes')]);
      if (has('setcap')) execFileSync('setcap', ['cap_net_raw+ep', on('attributes')]);
      execFileSync('mknod', [on('whiteout'), 'c', '0', '0']);
      if (privileged) execFileSync('mknod', [on('node'), 'c', '1', '3']);
      writeFileSync(on('changing'), 'x');
      chmodSync(on('changing'), 0o666);
      const busy = 'while true; do echo more >> /changing; rm -f /gone; echo x > /gone; sleep 0.01; done';
      const exec = {
        command: ['sh', '-c', busy],
        'wait-for-websocket': false,
        'record-output': false,
        environment: {},
      };
      const running = await daemon.call('POST', `${url}/exec`, exec);
      expect(running.status).toBe(202);
      await daemon.ok('POST', `${url}/snapshots`, { name: 's' });
      await daemon.ok('POST', `${url}/backups`, {
        name: 'b',
        optimized_storage: optimized,
        compression_algorithm: optimized ? 'zstd' : 'none',
      });
      expect(await statusOf(daemon, name)).toBe('Running');
      const { bytes } = await daemon.call('GET', `${url}/backups/b/export`);
      if (!optimized) {
        const file = join(folder, `${name}.tar`);
        writeFileSync(file, bytes);
        const listed = execFileSync('tar', ['--numeric-owner', '-tvf', file], { encoding: 'utf8' });
        expect(listed).toMatch(/ 1000\/1000 .* backup\/container\/rootfs\/home-of-1000\n/);
        expect(listed).toMatch(/-rwsr-xr-x 0\/0 .* backup\/container\/rootfs\/setuid\n/);
      }
      await daemon.ok('PUT', `${url}/state`, { action: 'stop', force: true });
      await daemon.ok('DELETE', url);
      await daemon.ok('POST', '/1.0/containers', bytes, octets);
      expect(lstatSync(on('home-of-1000')).uid).toBe(owner);
      expect(lstatSync(on('setuid')).mode).toBe(0o104755);
      if (has('getfattr'))
        expect(
          execFileSync('getfattr', ['--only-values', '-n', 'trusted.test', on('attributes')], { encoding: 'utf8' }),
        ).toBe('kept');
      if (has('getfacl'))
        expect(execFileSync('getfacl', ['-p', '-n', on('attributes')], { encoding: 'utf8' })).toContain(
          'user:1234:r--',
        );
      if (has('getcap'))
        expect(execFileSync('getcap', [on('attributes')], { encoding: 'utf8' })).toContain('cap_net_raw');
      expect(lstatSync(on('whiteout')).isCharacterDevice()).toBe(true);
      if (privileged) expect(lstatSync(on('node')).rdev).toBe(0x103);
      await daemon.ok('PUT', `${url}/state`, { action: 'start' });
      await until(async () => (await statusOf(daemon, name)) === 'Running');
      const file = await daemon.call('GET', `${url}/files?path=/home-of-1000`);
      expect([file.bytes.toString(), file.headers['x-svc-uid']]).toEqual(['/home-of-1000', '1000']);
      await daemon.ok('PUT', `${url}/state`, { action: 'stop', force: true });
      await daemon.ok('PUT', url, { restore: 's' });
      await daemon.ok('DELETE', url);
    },
  );

  test.each([
    ['no device node from a backup made elsewhere', 'false', false],
    ['its device nodes when the import allows access to the host', 'true', true],
  ] as const)('a container that is unprivileged gets %s', async (_what, allowed, isThere) => {
    const work = join(folder, `strange-${allowed}`);
    execFileSync('mkdir', ['-p', join(work, 'backup/container/rootfs/dev')]);
    const config = { container: { architecture: 'x86_64', profiles: ['default'] } };
    writeFileSync(join(work, 'backup/index.yaml'), JSON.stringify({ name: 'strange', pool: 'default', config }));
    execFileSync('mknod', [join(work, 'backup/container/rootfs/dev/mem'), 'c', '1', '1']);
    chownSync(join(work, 'backup/container/rootfs/dev/mem'), 1000, 1000);
    const bytes = execFileSync('tar', ['-C', work, '-cf', '-', 'backup/index.yaml', 'backup/container'], {
      maxBuffer: 10_000_000,
    });
    await daemon.ok('POST', '/1.0/containers', bytes, { ...octets, 'x-svc-allow-host-access': allowed });
    const rootfs = join(daemon.dir, 'storage-pools/default/containers/strange/rootfs');
    expect([existsSync(join(rootfs, 'dev')), existsSync(join(rootfs, 'dev/mem'))]).toEqual([true, isThere]);
    await daemon.ok('DELETE', '/1.0/containers/strange');
  });
});
