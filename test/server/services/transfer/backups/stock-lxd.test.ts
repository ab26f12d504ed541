// Backups between this daemon and a stock LXD, where one is installed: each reads the backups of the other, as files and as btrfs
// streams.
import { readFileSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../../../server/drivers/storage/btrfs/btrfs.ts';
import { busyboxMissing } from '../../../../support/images/busybox-rootfs.ts';
import { makeSeeded, type TestDaemon } from '../../../../support/daemons/daemon.ts';
import { buildBusyboxImage } from '../../../../support/images/busybox.ts';
import { startStockLxd, stockLxdMissing, type StockLxd } from '../../../../support/hosts/stock-lxd.ts';
import { tempFolder } from '../../../../support/temp-folder.ts';

const missing = stockLxdMissing() ?? busyboxMissing() ?? (await btrfsMissing());
if (missing !== undefined) console.log(`skipped: backups between this daemon and a stock LXD, since ${missing}`);

const octets = { 'content-type': 'application/octet-stream' };
const pools = ['dir', 'btrfs'] as const;
/** Trees of files are the same from each kind of pool. */
const forms = [
  ['dir', false],
  ['btrfs', true],
] as const;
let folder = '';
let lxd: StockLxd;
let daemon: TestDaemon;
let fingerprint = '';

describe.skipIf(missing !== undefined)('a stock LXD', () => {
  beforeAll(async () => {
    folder = tempFolder('gantry-bk-');
    lxd = await startStockLxd();
    daemon = await makeSeeded();
    const image = await buildBusyboxImage(join(folder, 'image'), { busybox: { dhcp: false } });
    ({ fingerprint } = image);
    await lxd.ok('POST', '/1.0/images', readFileSync(image.metadataPath), octets);
    await daemon.ok('POST', '/1.0/images', readFileSync(image.metadataPath), octets);
    for (const pool of pools) {
      const config = pool === 'btrfs' ? { size: '256MiB' } : {};
      await lxd.ok('POST', '/1.0/storage-pools', { name: `bk${pool}`, driver: pool, config });
      const answer = await daemon.call('POST', '/1.0/storage-pools', { name: `bk${pool}`, driver: pool, config });
      expect(answer.status).toBeLessThan(300);
    }
  });
  afterAll(async () => {
    await daemon?.cleanUp();
    for (const pool of pools) {
      for (const url of (await lxd.get('/1.0/containers')) as string[]) await lxd.ok('DELETE', url);
      await lxd.call('DELETE', `/1.0/storage-pools/bk${pool}`);
    }
    await lxd?.cleanUp();
  });

  const root = (pool: string) => ({ root: { type: 'disk', path: '/', pool: `bk${pool}` } });
  const draft = (name: string, pool: string) => ({
    name,
    source: { type: 'image', fingerprint },
    profiles: [],
    config: { 'user.a': 'true' },
    devices: root(pool),
  });
  const inContainer = (pool: string, name: string, ...rest: string[]): string =>
    join(daemon.dir, 'storage-pools', `bk${pool}`, 'containers', name, ...rest);

  test.each(forms)('makes a backup on %s (optimized: %s) that becomes a container here', async (pool, optimized) => {
    const name = `from-lxd-${pool}-${String(optimized)}`;
    await lxd.ok('POST', '/1.0/containers', draft(name, pool));
    for (const snapshot of ['one', 'two'])
      await lxd.ok('POST', `/1.0/containers/${name}/snapshots`, { name: snapshot });
    await lxd.ok('POST', `/1.0/containers/${name}/backups`, { name: 'b', optimized_storage: optimized });
    const { bytes } = await lxd.call('GET', `/1.0/containers/${name}/backups/b/export`);
    await daemon.ok('POST', '/1.0/containers', bytes, { ...octets, 'x-svc-pool': `bk${pool}` });
    const made = await daemon.get(`/1.0/containers/${name}?recursion=1`);
    expect(made).toMatchObject({ name, profiles: [], config: { 'user.a': 'true', 'image.os': 'busybox' } });
    expect(made.snapshots.map((snapshot: { name: string }) => snapshot.name)).toEqual(['one', 'two']);
    const there = await lxd.get(`/1.0/containers/${name}/snapshots/one`);
    expect(Date.parse(made.snapshots[0].created_at)).toBe(Date.parse(there.created_at));
    expect(await readFile(inContainer(pool, name, 'rootfs', 'etc', 'hostname'), 'utf8')).toBe('busybox\n');
    expect((await readdir(inContainer(pool, name))).includes('metadata.yaml')).toBe(true);
    const { uid, mode } = await stat(inContainer(pool, name, 'rootfs'));
    expect([uid, mode & 0o777]).toEqual([0, 0o755]);
    // The imported container is exported again, once more.
    await daemon.ok('POST', `/1.0/containers/${name}/backups`, { name: 'again', optimized_storage: optimized });
    const again = (await daemon.call('GET', `/1.0/containers/${name}/backups/again/export`)).bytes;
    await daemon.ok('POST', '/1.0/containers', again, { ...octets, 'x-svc-name': `${name}-2` });
    await daemon.ok('PUT', `/1.0/containers/${name}-2`, { restore: 'one' });
    await lxd.ok('DELETE', `/1.0/containers/${name}`);
  });

  test.each(forms)('makes a container from a backup on %s (optimized: %s) of this daemon', async (pool, optimized) => {
    const name = `to-lxd-${pool}-${String(optimized)}`;
    await daemon.ok('POST', '/1.0/containers', draft(name, pool));
    await writeFile(inContainer(pool, name, 'rootfs', 'mine'), 'one');
    for (const snapshot of ['one', 'two'])
      await daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: snapshot });
    await daemon.ok('POST', `/1.0/containers/${name}/backups`, { name: 'b', optimized_storage: optimized });
    const { bytes } = await daemon.call('GET', `/1.0/containers/${name}/backups/b/export`);
    await lxd.ok('POST', '/1.0/containers', bytes, { ...octets, 'x-lxd-pool': `bk${pool}` });
    const made = await lxd.get(`/1.0/containers/${name}?recursion=1`);
    expect(made).toMatchObject({ name, config: { 'user.a': 'true', 'image.os': 'busybox' } });
    expect(made.snapshots.map((snapshot: { name: string }) => snapshot.name)).toEqual(['one', 'two']);
    const file = await lxd.call('GET', `/1.0/containers/${name}/files?path=/mine`);
    expect(file.bytes.toString()).toBe('one');
    await lxd.ok('DELETE', `/1.0/containers/${name}`);
  });

  const customOf = (pool: string): string => `/1.0/storage-pools/bk${pool}/volumes/custom`;

  test.each(forms)(
    'makes a backup of a volume on %s (optimized: %s) that becomes a volume here, and takes it back',
    async (pool, optimized) => {
      const at = customOf(pool);
      const name = `v-${pool}-${String(optimized)}`;
      await lxd.ok('POST', at, { name, config: { 'user.a': 'true' } });
      const there = join(lxd.dir, 'storage-pools', `bk${pool}`, 'custom', `default_${name}`);
      const here = join(daemon.dir, 'storage-pools', `bk${pool}`, 'custom', name);
      await writeFile(join(there, 'file'), 'then');
      await lxd.ok('POST', `${at}/${name}/snapshots`, { name: 'one' });
      await writeFile(join(there, 'file'), 'now');
      await lxd.ok('POST', `${at}/${name}/backups`, { name: 'b', optimized_storage: optimized });
      const { bytes } = await lxd.call('GET', `${at}/${name}/backups/b/export`);
      await daemon.ok('POST', at, bytes, octets);
      expect((await daemon.get(`${at}/${name}`)).config).toEqual({ 'user.a': 'true' });
      expect(await daemon.get(`${at}/${name}/snapshots`)).toHaveLength(1);
      expect(await readFile(join(here, 'file'), 'utf8')).toBe('now');
      expect((await stat(here)).mode & 0o777).toBe((await stat(there)).mode & 0o777);
      await daemon.ok('POST', `${at}/${name}/backups`, { name: 'again', optimized_storage: optimized });
      const again = (await daemon.call('GET', `${at}/${name}/backups/again/export`)).bytes;
      await lxd.ok('POST', at, again, { ...octets, 'x-lxd-name': `${name}-2` });
      expect((await lxd.get(`${at}/${name}-2`)).config).toEqual({ 'user.a': 'true' });
      expect(await readFile(`${there}-2/file`, 'utf8')).toBe('now');
      await lxd.ok('PUT', `${at}/${name}-2`, { restore: 'one' });
      expect(await readFile(`${there}-2/file`, 'utf8')).toBe('then');
      expect((await daemon.call('PUT', `${at}/${name}`, { restore: 'one' })).status).toBe(200);
      expect(await readFile(join(here, 'file'), 'utf8')).toBe('then');
      for (const each of [name, `${name}-2`]) await lxd.ok('DELETE', `${at}/${each}`);
    },
  );

  test('makes a backup of a volume of blocks, which is refused here with the reason', async () => {
    const at = customOf('dir');
    await lxd.ok('POST', at, { name: 'blk', content_type: 'block', config: { size: '1MiB' } });
    await lxd.ok('POST', `${at}/blk/backups`, { name: 'b' });
    const { bytes } = await lxd.call('GET', `${at}/blk/backups/b/export`);
    await lxd.ok('DELETE', `${at}/blk`);
    const answer = await daemon.call('POST', at, bytes, octets);
    expect([answer.status, answer.bytes.toString()]).toEqual([400, expect.stringMatching(/content_type block/)]);
  });
});
