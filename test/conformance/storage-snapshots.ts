// Snapshots of all storage drivers.
import { lstat, readdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { DriverError } from '../../server/drivers/driver-error.ts';
import type { PoolSpec, SnapshotRef, VolumeRef } from '../../server/drivers/storage/driver.ts';
import { codeOf, container, custom, never, type StorageWorld } from './storage-world.ts';

export function snapshotTests(world: StorageWorld): void {
  const { make, fromImage, madePool, filesAt, namesOf } = world;

  describe('snapshots', () => {
    const snap = (snapshot: string, volume = container('c')): SnapshotRef => ({ volume, snapshot });
    const take = (pool: PoolSpec, snapshot: SnapshotRef): Promise<void> =>
      world.storage.createSnapshot(pool, snapshot, { kind: 'now' }, never);
    const fileOf = (path: string): string => join(path, 'rootfs', 'file');
    const write = (pool: PoolSpec, text: string, name = 'c'): Promise<void> =>
      writeFile(fileOf(world.storage.volumePath(pool, container(name))), text);
    const read = (path: string): Promise<string> => filesAt(path, () => readFile(fileOf(path), 'utf8'));
    const withContainer = async (): Promise<PoolSpec> => {
      const pool = await madePool();
      await make(pool, container('c'), { kind: 'empty' });
      await write(pool, 'one');
      return pool;
    };

    test('a snapshot keeps the content, and can be restored repeatedly', async () => {
      const pool = await withContainer();
      await take(pool, snap('s'));
      for (const text of ['two', 'three']) {
        await write(pool, text);
        expect(await read(world.storage.snapshotPath(pool, snap('s')))).toBe('one');
        await world.storage.restoreSnapshot(pool, snap('s'), never);
        expect(await read(world.storage.volumePath(pool, container('c')))).toBe('one');
      }
      expect(await world.storage.listSnapshots(pool, container('c'))).toEqual(['s']);
      expect((await lstat(world.storage.volumePath(pool, container('c')))).mode & 0o077).toBe(0);
    });

    test('restoring a snapshot keeps those that are newer', async () => {
      const pool = await withContainer();
      await take(pool, snap('old'));
      await write(pool, 'two');
      await take(pool, snap('new'));
      await world.storage.restoreSnapshot(pool, snap('old'), never);
      expect(await read(world.storage.volumePath(pool, container('c')))).toBe('one');
      expect(await read(world.storage.snapshotPath(pool, snap('new')))).toBe('two');
      await world.storage.restoreSnapshot(pool, snap('new'), never);
      expect(await read(world.storage.volumePath(pool, container('c')))).toBe('two');
      expect(await world.storage.listSnapshots(pool, container('c'))).toEqual(['new', 'old']);
    });

    test('files made after a snapshot are gone after restoring it, files deleted are back', async () => {
      const pool = await withContainer();
      const path = world.storage.volumePath(pool, container('c'));
      await take(pool, snap('s'));
      await writeFile(join(path, 'rootfs', 'new'), 'x');
      await unlink(fileOf(path));
      await world.storage.restoreSnapshot(pool, snap('s'), never);
      expect(await readdir(join(path, 'rootfs'))).toEqual(['file']);
    });

    test('snapshots are no volumes, also over a mount', async () => {
      const pool = await withContainer();
      await take(pool, snap('s'));
      await world.storage.mountPool(pool);
      expect(await namesOf(pool)).toEqual(['container/c']);
      expect(await world.storage.listSnapshots(pool, container('c'))).toEqual(['s']);
      expect(await world.storage.listSnapshots(pool, container('other'))).toEqual([]);
    });

    test('the files of a snapshot are there for each reader while others come and go', async () => {
      const pool = await withContainer();
      await take(pool, snap('s'));
      const path = world.storage.snapshotPath(pool, snap('s'));
      const readSlowly = async (): Promise<string> => {
        await sleep(3);
        return readFile(fileOf(path), 'utf8');
      };
      const readOften = async (): Promise<void> => {
        for (let times = 0; times < 10; times += 1) expect(await filesAt(path, readSlowly)).toBe('one');
      };
      await Promise.all([0, 7, 19].map((delayMs) => sleep(delayMs).then(readOften)));
    });

    test('taking an existing snapshot is Exists, one of a missing volume NotFound, restoring a missing one NotFound', async () => {
      const pool = await withContainer();
      await take(pool, snap('s'));
      await write(pool, 'two');
      expect(await codeOf(take(pool, snap('s')))).toBe('Exists');
      expect(await read(world.storage.snapshotPath(pool, snap('s')))).toBe('one');
      expect(await codeOf(take(pool, snap('s', container('x'))))).toBe('NotFound');
      expect(await codeOf(world.storage.restoreSnapshot(pool, snap('t'), never))).toBe('NotFound');
      expect(await read(world.storage.volumePath(pool, container('c')))).toBe('two');
    });

    test('deleting a snapshot is final, and twice is the same as once', async () => {
      const pool = await withContainer();
      for (const name of ['a', 'b']) await take(pool, snap(name));
      await world.storage.deleteSnapshot(pool, snap('a'));
      await world.storage.deleteSnapshot(pool, snap('a'));
      expect(await world.storage.listSnapshots(pool, container('c'))).toEqual(['b']);
    });

    test('a rename of a snapshot is idempotent, onto another one it is Exists, of a missing one NotFound', async () => {
      const pool = await withContainer();
      await take(pool, snap('a'));
      await world.storage.renameSnapshot(pool, snap('a'), 'b');
      await world.storage.renameSnapshot(pool, snap('a'), 'b');
      expect(await read(world.storage.snapshotPath(pool, snap('b')))).toBe('one');
      await take(pool, snap('a'));
      expect(await codeOf(world.storage.renameSnapshot(pool, snap('a'), 'b'))).toBe('Exists');
      expect(await codeOf(world.storage.renameSnapshot(pool, snap('x'), 'y'))).toBe('NotFound');
      expect(await world.storage.listSnapshots(pool, container('c'))).toEqual(['a', 'b']);
    });

    test('snapshots follow their volume: renamed with it there and back, deleted with it', async () => {
      const pool = await withContainer();
      await take(pool, snap('s'));
      await world.storage.renameVolume(pool, container('c'), 'd');
      expect(await world.storage.listSnapshots(pool, container('d'))).toEqual(['s']);
      expect(await world.storage.listSnapshots(pool, container('c'))).toEqual([]);
      await world.storage.renameVolume(pool, container('d'), 'c');
      await world.storage.deleteVolume(pool, container('c'));
      expect(await world.storage.listSnapshots(pool, container('c'))).toEqual([]);
      await make(pool, container('c'), { kind: 'empty' });
      expect(await world.storage.listSnapshots(pool, container('c'))).toEqual([]);
    });

    test('a volume is made of a snapshot, and a snapshot of another volume is copied', async () => {
      const pool = await withContainer();
      await take(pool, snap('s'));
      await write(pool, 'two');
      await make(pool, container('d'), { kind: 'copy', from: container('c'), snapshot: 's' });
      expect(await read(world.storage.volumePath(pool, container('d')))).toBe('one');
      await write(pool, 'changed', 'd');
      expect(await read(world.storage.snapshotPath(pool, snap('s')))).toBe('one');
      const copied = snap('s', container('d'));
      await world.storage.createSnapshot(pool, copied, { kind: 'copy', from: snap('s') }, never);
      expect(await read(world.storage.snapshotPath(pool, copied))).toBe('one');
      expect(await codeOf(make(pool, container('e'), { kind: 'copy', from: container('c'), snapshot: 'x' }))).toBe(
        'NotFound',
      );
    });

    test('volumes and snapshots are copied from another pool', async () => {
      const [from, to] = [await withContainer(), await madePool()];
      await take(from, snap('s'));
      await write(from, 'two');
      await make(to, container('c'), { kind: 'tree', path: world.storage.volumePath(from, container('c')) });
      const source = { kind: 'tree', path: world.storage.snapshotPath(from, snap('s')) } as const;
      await filesAt(source.path, () => world.storage.createSnapshot(to, snap('s'), source, never));
      expect(await read(world.storage.volumePath(to, container('c')))).toBe('two');
      await world.storage.restoreSnapshot(to, snap('s'), never);
      expect(await read(world.storage.volumePath(to, container('c')))).toBe('one');
      await world.storage.deleteVolume(to, container('c'));
      expect(await namesOf(to)).toEqual([]);
    });

    test('custom volumes have snapshots, images have none', async () => {
      const pool = await madePool();
      await make(pool, custom('v'), { kind: 'empty' });
      const path = world.storage.volumePath(pool, custom('v'));
      await writeFile(join(path, 'file'), 'one');
      await take(pool, snap('s', custom('v')));
      await writeFile(join(path, 'file'), 'two');
      await world.storage.restoreSnapshot(pool, snap('s', custom('v')), never);
      expect(await readFile(join(path, 'file'), 'utf8')).toBe('one');
      const image: VolumeRef = { type: 'image', name: world.fixture.image.fingerprint };
      await make(pool, image, fromImage());
      expect(await codeOf(take(pool, snap('s', image)))).toBe('Invalid');
    });

    test('a pool whose volume has snapshots is not deleted, and goes once the volume is gone', async () => {
      const pool = await withContainer();
      await take(pool, snap('s'));
      expect(await codeOf(world.storage.deletePool(pool))).toBe('InUse');
      await world.storage.deleteVolume(pool, container('c'));
      await world.storage.deletePool(pool);
    });

    test('snapshot names with other characters, or too long, are Invalid everywhere', async () => {
      const pool = await withContainer();
      await take(pool, snap('s'));
      for (const bad of ['', '.', '..', '../x', 'a/b', 'a b', 'a\0b', 'é', 'x'.repeat(65)]) {
        expect(await codeOf(take(pool, snap(bad))), bad).toBe('Invalid');
        expect(await codeOf(world.storage.deleteSnapshot(pool, snap(bad))), bad).toBe('Invalid');
        expect(await codeOf(world.storage.restoreSnapshot(pool, snap(bad), never)), bad).toBe('Invalid');
        expect(await codeOf(world.storage.renameSnapshot(pool, snap('s'), bad)), bad).toBe('Invalid');
        expect(() => world.storage.snapshotPath(pool, snap(bad)), bad).toThrow(DriverError);
      }
    });

    test('an aborted snapshot or restore throws the reason and changes nothing', async () => {
      const pool = await withContainer();
      const reason = new Error('enough');
      const gone = AbortSignal.abort(reason);
      await expect(world.storage.createSnapshot(pool, snap('s'), { kind: 'now' }, gone)).rejects.toBe(reason);
      expect(await world.storage.listSnapshots(pool, container('c'))).toEqual([]);
      await take(pool, snap('s'));
      await write(pool, 'two');
      await expect(world.storage.restoreSnapshot(pool, snap('s'), gone)).rejects.toBe(reason);
      expect(await read(world.storage.volumePath(pool, container('c')))).toBe('two');
    });

    test('a held volume can be exported, frozen if the driver says so, whatever happens to the original', async () => {
      const pool = await withContainer();
      await write(pool, 'before');
      let seen = '';
      await world.storage.holdStill(
        pool,
        container('c'),
        async ({ from, path, isStill }) => {
          if (isStill) {
            await write(pool, 'after');
            await world.storage.deleteVolume(pool, container('c'));
          }
          seen = await read(path);
          const keep = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
            const all: Buffer[] = [];
            for await (const chunk of bytes) all.push(chunk);
            expect(Buffer.concat(all).includes('before')).toBe(true);
            expect(Buffer.concat(all).includes('after')).toBe(false);
          };
          await world.storage.exportVolume(pool, from, { kind: 'tar' }, keep, never);
        },
        never,
      );
      expect(seen).toBe('before');
    });

    test('holding a volume leaves nothing, even if its user fails; a missing one is reported', async () => {
      const pool = await withContainer();
      const failing = world.storage.holdStill(
        pool,
        container('c'),
        () => Promise.reject(new Error('as wished')),
        never,
      );
      await expect(failing).rejects.toThrow('as wished');
      const absent = world.storage.holdStill(pool, container('absent'), () => Promise.resolve(), never);
      await expect(absent).rejects.toMatchObject({ code: 'NotFound' });
      expect(await namesOf(pool)).toEqual(['container/c']);
    });
  });
}
