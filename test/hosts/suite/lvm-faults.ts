// LVM pools that are full, lose their device, or have an LVM program killed in the middle.
import { execFileSync, spawn } from 'node:child_process';
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
const custom = (name: string): VolumeRef => ({ type: 'custom', name });
const run = (...argv: readonly [string, ...string[]]): string =>
  execFileSync(argv[0], argv.slice(1), { encoding: 'utf8' }).trim();
const mebibyte = 1_048_576;
const offset = 2048;

/** A separate device under the volume group, which the test can remove and restore. */
const deviceName = 'lane-disk';
const device = `/dev/mapper/${deviceName}`;

export function lvmFaults(): void {
  describe('lvm faults', () => {
    let base = '';
    let loop = '';
    let table = '';
    let sectors = 0;
    let storage: StorageDriver;
    let pool: PoolSpec;
    beforeAll(async () => {
      base = await mkdtemp(join(tmpdir(), 'gantry-faults-'));
      const root = join(base, 'state', 'storage-pools');
      await mkdir(root, { recursive: true });
      storage = openLvmStorage({ root, log: silentLog, unpackImage: () => Promise.reject(new Error('no image')) });
      run('truncate', '--size=400M', join(base, 'disk'));
      loop = run('losetup', '--find', '--show', join(base, 'disk'));
      // The offset keeps the beginning of the loop device free, so that LVM finds only one label.
      sectors = Number(run('blockdev', '--getsz', loop)) - offset;
      table = `0 ${sectors} linear ${loop} ${offset}`;
      run('dmsetup', 'create', deviceName, '--table', table);
      const spec = { name: 'lane', driver: 'lvm', config: { source: device, 'volume.size': '200MiB' } };
      pool = { ...spec, config: await storage.fillConfig(spec) };
      await storage.createPool(pool, never);
      await storage.mountPool(pool);
    });
    afterAll(async () => {
      unmountBelow(base);
      run('sh', '-c', `vgremove --quiet --force --yes lane; dmsetup remove ${deviceName}; losetup --detach ${loop}`);
      await rm(base, { recursive: true, force: true });
    });
    const make = (name: string): Promise<void> =>
      storage.createVolume(pool, custom(name), { kind: 'empty' }, () => {}, never);
    const fileOf = (name: string): string => join(storage.volumePath(pool, custom(name)), 'file');
    const names = async (): Promise<readonly string[]> => (await storage.listVolumes(pool)).map(({ name }) => name);
    /** All logical volumes, including hidden ones. */
    const logicals = (): string =>
      run('lvs', '--noheadings', '--options', 'lv_name', '--select', 'lv_name=~tmp', 'lane');
    const swap = (to: string): void => {
      run('dmsetup', 'load', deviceName, '--table', to);
      run('dmsetup', 'suspend', '--noflush', '--nolockfs', deviceName);
      run('dmsetup', 'resume', deviceName);
    };

    test('a full thin pool refuses writes and new volumes; a deletion makes room again', async () => {
      for (const name of ['a', 'b', 'c', 'd']) await make(name);
      await writeFile(fileOf('a'), 'kept');
      run('sync', '-f', fileOf('a'));
      // Any two of them leave a few MiB, in which another empty volume has room.
      for (const name of ['b', 'c', 'd'])
        await writeFile(fileOf(name), Buffer.alloc(180 * mebibyte, 7))
          .then(() => run('sync', '-f', fileOf(name)))
          .catch(() => undefined);
      const { space } = await storage.resources(pool);
      expect(space.used / space.total).toBeGreaterThan(0.9);
      expect(await codeOf(make('e'))).toBe('NoSpace');
      expect([(await names()).toSorted(), logicals()]).toEqual([['a', 'b', 'c', 'd'], '']);
      for (const name of ['b', 'c', 'd']) await storage.deleteVolume(pool, custom(name));
      await make('e');
      await writeFile(fileOf('e'), Buffer.alloc(50 * mebibyte, 7));
      run('sync', '-f', fileOf('e'));
      expect(await readFile(fileOf('a'), 'utf8')).toBe('kept');
      await storage.deleteVolume(pool, custom('e'));
    });

    test('a kill of lvcreate in the middle fails the creation, and the next one succeeds with nothing left behind', async () => {
      for (let round = 0; round < 4; round += 1) {
        const hunter = spawn('sh', [
          '-c',
          `until pid=$(pgrep -n lvcreate); do :; done; sleep 0.${round * 3}; kill -9 "$pid"`,
        ]);
        const code = await codeOf(make('k'));
        hunter.kill();
        expect(['none', 'Failed']).toContain(code);
        await storage.mountPool(pool);
        expect(logicals()).toBe('');
        if (!(await names()).includes('k')) await make('k');
        await writeFile(fileOf('k'), 'whole');
        await storage.deleteVolume(pool, custom('k'));
      }
      expect(run('sh', '-c', 'dmsetup info --noheadings -c -o suspended,name | grep ^Suspended || true')).toBe('');
    });

    test('a device that is gone fails every change with an error, and what was on it is there when it is back', async () => {
      run('sync', '-f', fileOf('a'));
      swap(`0 ${sectors} error`);
      expect(await codeOf(make('e'))).toBe('Failed');
      expect(
        await codeOf(storage.createSnapshot(pool, { volume: custom('a'), snapshot: 's' }, { kind: 'now' }, never)),
      ).toBe('Failed');
      expect(await codeOf(storage.mountPool(pool))).toBe('Failed');
      swap(table);
      unmountBelow(base);
      run('vgchange', '--quiet', '--activate', 'n', 'lane');
      await storage.mountPool(pool);
      expect(await readFile(fileOf('a'), 'utf8')).toBe('kept');
      expect([await names(), logicals()]).toEqual([['a'], '']);
      await make('e');
    });
  });
}
