// Pools of driver lvm over the real daemon. This host may have no device mapper: the volumes are those of the driver, on loop devices in files.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, realpath, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lvmMissing } from '../../../../server/drivers/storage/lvm/lvm.ts';
import { createContainer, makeDaemon, type TestDaemon } from '../../../support/daemons/daemon.ts';
import { fileBlocks, openFileBlocks, removeFileBlocks } from '../../../support/drivers/storage-blocks.ts';

const noLvm = await lvmMissing();
const why =
  process.getuid?.() === 0 && existsSync('/dev/loop-control') ? undefined : 'root and loop devices are needed';
if (why !== undefined) console.log(`skipped: lvm pools of a daemon: ${why}`);

test.skipIf(noLvm === undefined)(
  'a host that cannot have lvm pools says why, and does not list the driver',
  async () => {
    const daemon = await makeDaemon();
    const answer = await daemon.call('POST', '/1.0/storage-pools', { name: 'p', driver: 'lvm' });
    expect(JSON.stringify(answer.body)).toContain(noLvm);
    const { storage_supported_drivers: drivers } = (await daemon.get('/1.0')).environment;
    expect(JSON.stringify(drivers)).not.toContain('lvm');
    await daemon.cleanUp();
  },
);

describe.skipIf(why !== undefined)('an lvm pool of a daemon', () => {
  let base = '';
  let daemon: TestDaemon;
  beforeAll(async () => {
    base = await realpath(await mkdtemp(join(tmpdir(), 'gantry-lvm-')));
    const store = fileBlocks(join(base, 'files'), true);
    const driver = openFileBlocks(base, store, () => Promise.reject(new Error('no image')));
    const lvm = { ...driver, name: 'lvm' };
    daemon = await makeDaemon({ adapt: (host) => ({ ...host, storage: { ...host.storage, lvm } }) });
    await daemon.call('PATCH', '/1.0', { config: { 'storage.lvm_mount_options': 'noatime' } });
    const config = { 'volume.size': '48MiB' };
    await daemon.call('POST', '/1.0/storage-pools', { name: 'thin', driver: 'lvm', config });
  });
  afterAll(async () => {
    await daemon.cleanUp();
    removeFileBlocks(base);
    await rm(base, { recursive: true, force: true });
  });

  const pathOf = (folder: string, name: string): string => join(base, 'state/storage-pools/thin', folder, name);
  const mountOf = (folder: string, name: string): string =>
    execFileSync('findmnt', ['-rno', 'FSTYPE,OPTIONS', pathOf(folder, name)], { encoding: 'utf8' }).trim();
  const sizeOf = async (folder: string, name: string): Promise<number> => {
    const { blocks, bsize } = await statfs(pathOf(folder, name));
    return (blocks * bsize) / 1_048_576;
  };

  test('has the mount options of storage.lvm_mount_options, as its own say nothing else', async () => {
    const { config } = await daemon.get('/1.0/storage-pools/thin');
    expect(config['volume.block.mount_options']).toBe('noatime');
    await daemon.call('POST', '/1.0/storage-pools/thin/volumes/custom', { name: 'plain' });
    expect(mountOf('custom', 'plain')).toMatch(/^ext4 .*noatime/);
  });

  test('makes a volume as its config says, changes it while it is there, and mounts it so after a restart', async () => {
    const url = '/1.0/storage-pools/thin/volumes/custom';
    const config = { size: '320MiB', 'block.filesystem': 'xfs', 'block.mount_options': 'nodiratime' };
    const made = await daemon.call('POST', url, { name: 'data', config });
    expect(made.status).toBe(200);
    expect(mountOf('custom', 'data')).toMatch(/^xfs .*nodiratime/);
    const put = (more: object) => daemon.call('PUT', `${url}/data`, { config: { ...config, ...more } });
    expect((await put({ size: '400MiB', 'block.mount_options': 'noatime,nodiratime' })).status).toBe(200);
    expect(await sizeOf('custom', 'data')).toBeGreaterThan(330);
    expect((await put({ size: '320MiB' })).status).toBe(400);
    expect((await put({ size: '400MiB', 'block.mount_options': 'no-such-option' })).status).toBe(400);
    execFileSync('umount', [pathOf('custom', 'data')]);
    await daemon.restart();
    expect(mountOf('custom', 'data')).toMatch(/^xfs .*noatime.*nodiratime/);
  });

  test('gives a container the size of its root disk, and makes it larger', async () => {
    const root = (size: string) => ({ devices: { root: { type: 'disk', path: '/', pool: 'thin', size } } });
    await createContainer(daemon, 'c', root('64MiB'));
    expect(await sizeOf('containers', 'c')).toBeGreaterThan(48);
    await daemon.call('PATCH', '/1.0/containers/c', root('128MiB'));
    expect(await sizeOf('containers', 'c')).toBeGreaterThan(100);
    await daemon.ok('POST', '/1.0/containers/c/snapshots', { name: 's' });
    await createContainer(daemon, 'd', { source: { type: 'copy', source: 'c' } });
    expect(await sizeOf('containers', 'd')).toBeGreaterThan(100);
    for (const name of ['c', 'd']) await daemon.ok('DELETE', `/1.0/containers/${name}`);
    expect(existsSync(pathOf('containers', 'c'))).toBe(false);
  });
});
