// Pools on a real LVM: which devices and volume groups they accept, and renames while in use.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PoolSpec, StorageDriver, VolumeRef } from '../../../server/drivers/storage/driver.ts';
import { openLvmStorage } from '../../../server/drivers/storage/lvm/lvm.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { codeOf } from '../../conformance/storage-world.ts';
import { unmountBelow } from '../../support/hosts/mounts.ts';

const never = new AbortController().signal;
const volume: VolumeRef = { type: 'custom', name: 'v' };
const run = (...argv: readonly [string, ...string[]]): string =>
  execFileSync(argv[0], argv.slice(1), { encoding: 'utf8' }).trim();
const hasGroup = (name: string): boolean => run('vgs', '--noheadings', '--select', `vg_name=${name}`) !== '';

export function lvmPools(): void {
  describe('lvm pools', () => {
    let base = '';
    let device = '';
    let storage: StorageDriver;
    beforeAll(async () => {
      base = await mkdtemp(join(tmpdir(), 'gantry-pools-'));
      const root = join(base, 'state', 'storage-pools');
      await mkdir(root, { recursive: true });
      storage = openLvmStorage({ root, log: silentLog, unpackImage: () => Promise.reject(new Error('no image')) });
      run('truncate', '--size=1G', join(base, 'disk'));
      device = run('losetup', '--find', '--show', join(base, 'disk'));
    });
    afterAll(async () => {
      unmountBelow(base);
      run('losetup', '--detach', device);
      await rm(base, { recursive: true, force: true });
    });
    const fill = async (config: Record<string, string>): Promise<PoolSpec> => {
      const pool = { name: 'p', driver: 'lvm', config: { 'volume.size': '64MiB', ...config } };
      return { ...pool, config: await storage.fillConfig(pool) };
    };
    const made = async (config: Record<string, string>): Promise<PoolSpec> => {
      const pool = await fill(config);
      await storage.createPool(pool, never);
      await storage.mountPool(pool);
      return pool;
    };
    const make = (pool: PoolSpec): Promise<void> =>
      storage.createVolume(pool, volume, { kind: 'empty' }, () => {}, never);
    const fileIn = (pool: PoolSpec): string => join(storage.volumePath(pool, volume), 'file');

    test('a device that holds anything is refused and stays as it is', async () => {
      run('mkfs.ext4', '-q', device);
      expect(await codeOf(made({ source: device }))).toBe('InUse');
      expect(run('blkid', '--probe', '--output', 'value', '--match-tag', 'TYPE', device)).toBe('ext4');
      run('wipefs', '--all', '--quiet', device);
      run('vgcreate', '--quiet', 'other', device);
      expect(await codeOf(made({ source: device }))).toBe('InUse');
      run('lvcreate', '--quiet', '--size=8M', '--name=theirs', 'other');
      expect(await codeOf(made({ source: 'other' }))).toBe('InUse');
      expect(await codeOf(fill({ source: 'no-such-group' }))).toBe('Invalid');
      expect(await codeOf(fill({ source: join(base, 'disk') }))).toBe('Invalid');
      expect(run('lvs', '--noheadings', '--options', 'lv_name', 'other')).toBe('theirs');
      expect(existsSync(join(base, 'state', 'storage-pools', 'p'))).toBe(false);
    });

    test('lvm.vg.force_reuse shares a volume group, and only what the pool made goes with it', async () => {
      const pool = await made({ source: 'other', 'lvm.vg.force_reuse': 'true', 'lvm.use_thinpool': 'false' });
      await make(pool);
      await storage.deleteVolume(pool, volume);
      await storage.deletePool(pool);
      expect(run('lvs', '--noheadings', '--options', 'lv_name', 'other')).toBe('theirs');
      run('vgremove', '--quiet', '--yes', 'other');
      run('pvremove', '--quiet', device);
    });

    test('a pool renames its volume group and its thin pool while volumes are in use, and finds them again', async () => {
      const pool = await made({ source: device });
      expect(pool.config).toMatchObject({ source: 'p', 'volatile.initial_source': device });
      await make(pool);
      await writeFile(fileIn(pool), 'kept');
      const names = { 'lvm.vg_name': 'q-1', 'lvm.thinpool_name': 'thin' };
      const renamed = { ...pool, config: { ...pool.config, ...names } };
      await storage.applyConfig(renamed, pool);
      expect([hasGroup('p'), hasGroup('q-1')]).toEqual([false, true]);
      expect(await readFile(fileIn(renamed), 'utf8')).toBe('kept');
      unmountBelow(base);
      run('vgchange', '--quiet', '--activate', 'n', 'q-1');
      await storage.mountPool(renamed);
      expect(await readFile(fileIn(renamed), 'utf8')).toBe('kept');
      await storage.applyConfig(pool, renamed);
      await storage.deleteVolume(pool, volume);
      await storage.deletePool(pool);
      expect([hasGroup('p'), hasGroup('q-1')]).toEqual([false, false]);
      expect(() => run('blkid', '--probe', device)).toThrow();
    });
  });
}
