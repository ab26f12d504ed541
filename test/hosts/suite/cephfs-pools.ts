// Pools on a real CephFS: refused sources, snapshots across restores and renames, and a pool found by another daemon.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PoolSpec, SnapshotRef, VolumeRef } from '../../../server/drivers/storage/driver.ts';
import { codeOf } from '../../conformance/storage-world.ts';
import { mountsBelow } from '../../support/hosts/mounts.ts';
import { openCephfsFixture, type CephfsFixture } from '../../support/drivers/storage-cephfs.ts';

const never = new AbortController().signal;
const mebi = 1_048_576;
const custom = (name: string): VolumeRef => ({ type: 'custom', name });
const snapshotOf = (name: string, snapshot: string): SnapshotRef => ({ volume: custom(name), snapshot });

export function cephfsPools(): void {
  describe('pools of cephfs', () => {
    let fixture: CephfsFixture;
    let pool: PoolSpec;
    beforeAll(async () => {
      fixture = await openCephfsFixture();
      pool = await filled({});
      await fixture.storage.createPool(pool, never);
      await fixture.storage.mountPool(pool);
    });
    afterAll(() => fixture.close());

    async function filled(config: Readonly<Record<string, string>>): Promise<PoolSpec> {
      const spec = fixture.newPool();
      const asked = { ...spec, config: { ...spec.config, ...config } };
      return { ...asked, config: await fixture.storage.fillConfig(asked) };
    }
    const made = async (config: Readonly<Record<string, string>>): Promise<void> =>
      fixture.storage.createPool(await filled(config), never);
    const make = (name: string): Promise<void> =>
      fixture.storage.createVolume(pool, custom(name), { kind: 'empty' }, () => {}, never);
    const fileOf = (name: string, file = 'file'): string => join(fixture.storage.volumePath(pool, custom(name)), file);
    /** The CephFS as the host of the pool sees it. */
    const inside = (...path: readonly string[]): string =>
      join(fixture.base, 'state', 'storage-pools', pool.name, 'cephfs', ...path);

    test('a source that is no CephFS, a cluster that is not known and a path that differs are refused by their keys', async () => {
      for (const [key, value] of [
        ['source', ''],
        ['source', 'no-such-files'],
        ['source', 'files/../etc'],
        ['cephfs.cluster_name', 'no-such-cluster'],
        ['cephfs.user.name', 'nobody'],
        ['cephfs.path', 'files/elsewhere'],
      ] as const) {
        const refused: unknown = await made({ [key]: value }).catch((error: unknown) => error);
        expect(refused, key).toMatchObject({ code: 'Invalid' });
        expect(String(refused)).toMatch(key === 'cephfs.user.name' ? /client\.nobody/ : new RegExp(`config\\.${key}`));
      }
    });

    test('a directory that holds anything is refused and stays as it is; one of another pool is, too', async () => {
      await mkdir(inside('theirs'));
      await writeFile(inside('theirs', 'file'), 'kept');
      expect(await codeOf(made({ source: `${pool.config['source']}/theirs` }))).toBe('InUse');
      expect(await codeOf(made({ source: pool.config['source'] ?? '' }))).toBe('InUse');
      expect(await readdir(inside('theirs'))).toEqual(['file']);
      execFileSync('rm', ['-r', inside('theirs')]);
    });

    test('a restore keeps the other snapshots, also the newer ones, and a new name of the volume keeps all', async () => {
      await make('v');
      for (const content of ['one', 'two']) {
        await writeFile(fileOf('v'), content);
        await fixture.storage.createSnapshot(pool, snapshotOf('v', content), { kind: 'now' }, never);
      }
      await fixture.storage.restoreSnapshot(pool, snapshotOf('v', 'one'), never);
      await fixture.storage.renameVolume(pool, custom('v'), 'w');
      expect(await readFile(fileOf('w'), 'utf8')).toBe('one');
      expect(await fixture.storage.listSnapshots(pool, custom('w'))).toEqual(['one', 'two']);
      const path = fixture.storage.snapshotPath(pool, snapshotOf('w', 'two'));
      const read = (): Promise<string> => readFile(join(path, 'file'), 'utf8');
      expect(await fixture.storage.withFiles?.(path, read)).toBe('two');
      await expect(writeFile(inside('custom', 'w', '.snap', '@two', 'data', 'file'), 'x')).rejects.toThrow(/EROFS/);
    });

    test('a guest sees no snapshot that it could remove, and those that it makes go with its volume', async () => {
      await mkdir(fileOf('w', 'deep'));
      await mkdir(fileOf('w', 'deep/.snap/mine'));
      expect(await readdir(fileOf('w', '.snap'))).not.toContain('@one');
      for (const name of await readdir(fileOf('w', '.snap')))
        expect(() => execFileSync('rmdir', [fileOf('w', `.snap/${name}`)], { stdio: 'pipe' })).toThrow();
      await fixture.storage.deleteVolume(pool, custom('w'));
      expect(await readdir(inside('custom'))).toEqual([]);
      expect(await readdir(inside('tmp'))).toEqual([]);
    });

    test('a limit refuses what does not fit, counts no snapshots, and none is below what is used', async () => {
      await make('v');
      await fixture.storage.limitVolume(pool, custom('v'), 8 * mebi);
      expect((await fixture.storage.limitsIn?.(pool))?.(custom('v'))).toBe(8 * mebi);
      await writeFile(fileOf('v'), Buffer.alloc(4 * mebi, 1));
      await fixture.storage.createSnapshot(pool, snapshotOf('v', 's'), { kind: 'now' }, never);
      const fill = 'for each in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of="$1.$each" bs=1M count=4 conv=fsync; done';
      expect(() => execFileSync('sh', ['-e', '-c', fill, 'sh', fileOf('v')], { stdio: 'pipe' })).toThrow(
        /quota exceeded|No space/,
      );
      expect(await codeOf(fixture.storage.limitVolume(pool, custom('v'), mebi, { mustHold: true }))).toBe('Invalid');
      await fixture.storage.limitVolume(pool, custom('v'), undefined);
      expect((await fixture.storage.limitsIn?.(pool))?.(custom('v'))).toBeUndefined();
    });

    test('a daemon with a new state directory finds the pool, its records and its volumes, and removes what was half done', async () => {
      await writeFile(fileOf('v'), 'kept');
      await writeFile(join(fixture.storage.recordsPath(pool), 'record'), 'kept');
      await mkdir(inside('tmp', 'half'));
      await mkdir(inside('custom', 'v', '.snap', '~half'));
      execFileSync('ln', ['-s', '../custom/v/.snap/~half/data', inside('tmp', 'moment')]);
      const next = fixture.other('elsewhere');
      const config = await next.findPool({ ...pool, config: { ...pool.config } });
      expect(config['source']).toBe(pool.config['source']);
      const found = { ...pool, config };
      await next.mountPool(found);
      expect(await next.listVolumes(found)).toEqual([custom('v')]);
      expect(await next.listSnapshots(found, custom('v'))).toEqual(['s']);
      expect(await readFile(join(next.volumePath(found, custom('v')), 'file'), 'utf8')).toBe('kept');
      expect(await readFile(join(next.recordsPath(found), 'record'), 'utf8')).toBe('kept');
      expect([await readdir(inside('tmp')), await readdir(inside('custom', 'v', '.snap'))]).toEqual([[], ['@s']]);
      await next.deleteVolume(found, custom('v'));
      await next.deletePool(found);
      expect(mountsBelow(join(fixture.base, 'elsewhere'))).toEqual([]);
      expect(existsSync(join(fixture.base, 'elsewhere', 'storage-pools', pool.name))).toBe(false);
      expect(await codeOf(next.findPool(found))).toBe('NotFound');
    });
  });
}
