// The suite of all storage drivers; a driver's own tests add only its specialities.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFile,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  symlink,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { DriverError, type DriverErrorCode } from '../../server/drivers/driver-error.ts';
import type {
  ChangingTree,
  ExportForm,
  ImageFiles,
  ImportForm,
  PoolSpec,
  SnapshotRef,
  StorageDriver,
  TreeRef,
  VolumeRef,
  VolumeSource,
} from '../../server/drivers/storage/driver.ts';

export interface StorageFixture {
  readonly storage: StorageDriver;
  /** A pool that does not exist yet; another one at each call. */
  readonly newPool: () => PoolSpec;
  /** Pools are slow to make: those of earlier tests are emptied and reused, with their images. */
  readonly reusesPools?: boolean;
  /** Clients learn of the use by others seconds later, and refuse writes no sooner (CephFS). */
  readonly limitsLate?: boolean;
  /** The file system counts holes of a file as blocks (CephFS). */
  readonly hidesHoles?: boolean;
  readonly image: ImageFiles;
  /** A file of the image's root file system, and what is in it. */
  readonly imageFile: { readonly path: string; readonly content: string };
  /** How often the driver has unpacked an image so far. */
  readonly unpacked: () => number;
  readonly close: () => Promise<void>;
}

const never = new AbortController().signal;
const container = (name: string): VolumeRef => ({ type: 'container', name });
const custom = (name: string): VolumeRef => ({ type: 'custom', name });

export async function codeOf(work: Promise<unknown>): Promise<DriverErrorCode | 'none'> {
  try {
    await work;
    return 'none';
  } catch (error) {
    if (error instanceof DriverError) return error.code;
    throw error;
  }
}

export function storageConformance(name: string, open: () => Promise<StorageFixture>): void {
  describe(`storage driver ${name}`, () => {
    let fixture: StorageFixture;
    let storage: StorageDriver;
    beforeAll(async () => {
      fixture = await open();
      storage = fixture.storage;
    });
    afterAll(() => fixture.close());

    const make = (pool: PoolSpec, volume: VolumeRef, source: VolumeSource, signal = never): Promise<void> =>
      storage.createVolume(pool, volume, source, () => {}, signal);
    const fromImage = (): VolumeSource => ({ kind: 'image', image: fixture.image });
    const freshPool = async (): Promise<PoolSpec> => {
      const pool = fixture.newPool();
      const filled = { ...pool, config: await storage.fillConfig(pool) };
      await storage.createPool(filled, never);
      await storage.mountPool(filled);
      return filled;
    };
    const [given, spare]: [PoolSpec[], PoolSpec[]] = [[], []];
    /** They may have an earlier test's image. */
    const reused = new Set<string>();
    beforeEach(() => {
      const before = given.splice(0);
      if (fixture.reusesPools === true) spare.push(...before);
    });
    const isEmptied = async (pool: PoolSpec): Promise<boolean> => {
      try {
        for (const volume of await storage.listVolumes(pool))
          if (volume.type !== 'image') await storage.deleteVolume(pool, volume);
        // Waits for background removals.
        await storage.resources(pool);
        reused.add(pool.name);
        return true;
      } catch {
        return false;
      }
    };
    const madePool = async (): Promise<PoolSpec> => {
      let pool = spare.pop();
      while (pool !== undefined && !(await isEmptied(pool))) pool = spare.pop();
      pool ??= await freshPool();
      given.push(pool);
      return pool;
    };
    /** Snapshots of some drivers are mounted only while in use. */
    const filesAt = <T>(path: string, use: () => Promise<T>): Promise<T> =>
      storage.withFiles === undefined ? use() : storage.withFiles(path, use);
    const namesOf = async (pool: PoolSpec): Promise<readonly string[]> =>
      (await storage.listVolumes(pool))
        .filter(({ type }) => type !== 'image' || !reused.has(pool.name))
        .map((volume) => `${volume.type}/${volume.name}`)
        .toSorted();

    describe('pools', () => {
      test('the filled config names a source and filling it again changes nothing', async () => {
        const pool = fixture.newPool();
        const config = await storage.fillConfig(pool);
        expect(config['source']).toBeTruthy();
        expect(await storage.fillConfig({ ...pool, config })).toEqual(config);
      });

      test('creating an empty pool twice is the same as once', async () => {
        const pool = await madePool();
        await storage.createPool(pool, never);
        expect(await storage.listVolumes(pool)).toEqual([]);
      });

      test('a pool with volumes is not mistaken for a new one', async () => {
        const pool = await madePool();
        await make(pool, custom('v'), { kind: 'empty' });
        expect(await codeOf(storage.createPool(pool, never))).toBe('InUse');
        expect(await namesOf(pool)).toEqual(['custom/v']);
      });

      test('a pool with containers or custom volumes is not deleted', async () => {
        const pool = await madePool();
        await make(pool, container('c'), { kind: 'empty' });
        expect(await codeOf(storage.deletePool(pool))).toBe('InUse');
        expect(await storage.hasVolume(pool, container('c'))).toBe(true);
        await storage.deleteVolume(pool, container('c'));
        await storage.deletePool(pool);
      });

      test('images go with their pool, and deleting twice is the same as once', async () => {
        const pool = await freshPool();
        await make(pool, { type: 'image', name: fixture.image.fingerprint }, fromImage());
        await storage.deletePool(pool);
        await storage.deletePool(pool);
        await storage.createPool(pool, never);
        expect(await namesOf(pool)).toEqual([]);
      });

      test('mounting twice is the same as once and keeps the volumes', async () => {
        const pool = await madePool();
        await make(pool, container('c'), { kind: 'empty' });
        await storage.mountPool(pool);
        await storage.mountPool(pool);
        expect(await namesOf(pool)).toEqual(['container/c']);
      });

      test('resources report used and total space and inodes', async () => {
        const { space, inodes } = await storage.resources(await madePool());
        expect(space.total).toBeGreaterThan(0);
        for (const { used, total } of [space, inodes]) {
          expect(used).toBeGreaterThanOrEqual(0);
          expect(used).toBeLessThanOrEqual(total);
        }
      });

      test('two pools keep volumes of one name apart', async () => {
        const [one, two] = [await madePool(), await madePool()];
        await make(one, custom('v'), { kind: 'empty' });
        expect(await storage.hasVolume(two, custom('v'))).toBe(false);
        expect(storage.volumePath(one, custom('v'))).not.toBe(storage.volumePath(two, custom('v')));
      });
    });

    describe('volumes', () => {
      test('an empty container volume has a rootfs directory and is closed to others', async () => {
        const pool = await madePool();
        await make(pool, container('c'), { kind: 'empty' });
        const path = storage.volumePath(pool, container('c'));
        expect(await readdir(path)).toEqual(['rootfs']);
        expect((await lstat(path)).mode & 0o077).toBe(0);
        expect(await storage.hasVolume(pool, container('c'))).toBe(true);
      });

      test('an empty custom volume is empty', async () => {
        const pool = await madePool();
        await make(pool, custom('v'), { kind: 'empty' });
        expect(await readdir(storage.volumePath(pool, custom('v')))).toEqual([]);
      });

      test('a container volume of an image has its files and is closed to others', async () => {
        const pool = await madePool();
        await make(pool, container('c'), fromImage());
        const path = storage.volumePath(pool, container('c'));
        expect(await readdir(path)).toEqual(expect.arrayContaining(['metadata.yaml', 'rootfs']));
        const { imageFile } = fixture;
        expect(await readFile(join(path, 'rootfs', imageFile.path), 'utf8')).toBe(imageFile.content);
        expect((await lstat(path)).mode & 0o077).toBe(0);
      });

      test('a copy is complete and independent', async () => {
        const pool = await madePool();
        await make(pool, container('a'), fromImage());
        const [a, b] = [container('a'), container('b')].map((volume) =>
          join(storage.volumePath(pool, volume), 'rootfs'),
        );
        if (a === undefined || b === undefined) throw new Error('no paths');
        await writeFile(join(a, 'written'), 'one');
        await make(pool, container('b'), { kind: 'copy', from: container('a') });
        await writeFile(join(a, 'written'), 'two');
        expect(await readFile(join(b, 'written'), 'utf8')).toBe('one');
        expect((await readdir(b)).toSorted()).toEqual((await readdir(a)).toSorted());
        expect((await lstat(storage.volumePath(pool, container('b')))).mode & 0o077).toBe(0);
      });

      test('copying a missing volume is NotFound and makes nothing', async () => {
        const pool = await madePool();
        expect(await codeOf(make(pool, container('b'), { kind: 'copy', from: container('a') }))).toBe('NotFound');
        expect(await namesOf(pool)).toEqual([]);
      });

      test('creating an existing volume is Exists and leaves it unchanged, whatever the source', async () => {
        const pool = await madePool();
        await make(pool, custom('v'), { kind: 'empty' });
        await make(pool, container('c'), { kind: 'empty' });
        await writeFile(join(storage.volumePath(pool, container('c')), 'rootfs', 'mine'), 'x');
        expect(await codeOf(make(pool, custom('v'), { kind: 'empty' }))).toBe('Exists');
        for (const source of [{ kind: 'empty' }, fromImage(), { kind: 'copy', from: container('c') }] as const)
          expect(await codeOf(make(pool, container('c'), source))).toBe('Exists');
        expect(await readdir(join(storage.volumePath(pool, container('c')), 'rootfs'))).toEqual(['mine']);
      });

      test('exactly one of many who create one volume at once succeeds', async () => {
        const pool = await madePool();
        const work = Array.from({ length: 8 }, () => codeOf(make(pool, custom('v'), { kind: 'empty' })));
        expect((await Promise.all(work)).toSorted()).toEqual([...Array.from({ length: 7 }, () => 'Exists'), 'none']);
      });

      test('many containers of one new image at once unpack it once', async () => {
        const pool = await freshPool();
        const before = fixture.unpacked();
        const names = Array.from({ length: 6 }, (_, index) => `c${index}`);
        await Promise.all(names.map((each) => make(pool, container(each), fromImage())));
        expect(fixture.unpacked() - before).toBeLessThanOrEqual(1);
        expect((await namesOf(pool)).filter((each) => each.startsWith('container/'))).toEqual(
          names.map((each) => `container/${each}`),
        );
      });

      test('deleting an image volume while containers are made of it fails none of them', async () => {
        const pool = await madePool();
        const image: VolumeRef = { type: 'image', name: fixture.image.fingerprint };
        await make(pool, container('first'), fromImage());
        const names = Array.from({ length: 6 }, (_, index) => `c${index}`);
        const made = names.map((each) => make(pool, container(each), fromImage()));
        await Promise.all([...made, storage.deleteVolume(pool, image), storage.deleteVolume(pool, image)]);
        for (const each of names) expect(await storage.hasVolume(pool, container(each))).toBe(true);
      });

      test('deleting is final, and twice is the same as once', async () => {
        const pool = await madePool();
        await make(pool, container('c'), fromImage());
        await storage.deleteVolume(pool, container('c'));
        await storage.deleteVolume(pool, container('c'));
        await storage.deleteVolume(pool, custom('was-never-there'));
        expect(await storage.hasVolume(pool, container('c'))).toBe(false);
        await make(pool, container('c'), { kind: 'empty' });
        expect(await readdir(join(storage.volumePath(pool, container('c')), 'rootfs'))).toEqual([]);
      });

      test('deleting never follows a symbolic link', async () => {
        const pool = await madePool();
        await make(pool, custom('kept'), { kind: 'empty' });
        await make(pool, custom('v'), { kind: 'empty' });
        const [kept, path] = [storage.volumePath(pool, custom('kept')), storage.volumePath(pool, custom('v'))];
        await writeFile(join(kept, 'file'), 'x');
        await mkdir(join(path, 'd'));
        await symlink(kept, join(path, 'd', 'link'));
        await symlink(join(kept, 'file'), join(path, 'file-link'));
        await storage.deleteVolume(pool, custom('v'));
        expect(await readFile(join(kept, 'file'), 'utf8')).toBe('x');
      });

      test('a rename moves everything, and is idempotent', async () => {
        const pool = await madePool();
        await make(pool, container('a'), { kind: 'empty' });
        await writeFile(join(storage.volumePath(pool, container('a')), 'rootfs', 'file'), 'x');
        await storage.renameVolume(pool, container('a'), 'b');
        await storage.renameVolume(pool, container('a'), 'b');
        expect(await namesOf(pool)).toEqual(['container/b']);
        expect(await readFile(join(storage.volumePath(pool, container('b')), 'rootfs', 'file'), 'utf8')).toBe('x');
      });

      test('volumes of one name in two projects are two, and one follows a rename into another project', async () => {
        const pool = await madePool();
        const long = `${'p'.repeat(64)}%${'v'.repeat(64)}`;
        for (const name of ['v', 'red%v']) {
          await make(pool, custom(name), { kind: 'empty' });
          await writeFile(join(storage.volumePath(pool, custom(name)), 'file'), name);
        }
        await storage.createSnapshot(pool, { volume: custom('red%v'), snapshot: 's' }, { kind: 'now' }, never);
        await storage.renameVolume(pool, custom('red%v'), long);
        expect(await namesOf(pool)).toEqual([`custom/${long}`, 'custom/v']);
        await storage.restoreSnapshot(pool, { volume: custom(long), snapshot: 's' }, never);
        expect(await readFile(join(storage.volumePath(pool, custom(long)), 'file'), 'utf8')).toBe('red%v');
        expect(await storage.listSnapshots(pool, custom(long))).toEqual(['s']);
        expect(await storage.listSnapshots(pool, custom('v'))).toEqual([]);
      });

      test('a rename onto another volume is Exists, also when that one is empty', async () => {
        const pool = await madePool();
        await make(pool, custom('a'), { kind: 'empty' });
        await make(pool, custom('b'), { kind: 'empty' });
        expect(await codeOf(storage.renameVolume(pool, custom('a'), 'b'))).toBe('Exists');
        expect(await namesOf(pool)).toEqual(['custom/a', 'custom/b']);
      });

      test('a rename of a missing volume is NotFound', async () => {
        const pool = await madePool();
        expect(await codeOf(storage.renameVolume(pool, custom('a'), 'b'))).toBe('NotFound');
      });

      test('the list has volumes of all types and nothing else', async () => {
        const pool = await madePool();
        await make(pool, container('c'), fromImage());
        await make(pool, custom('v'), { kind: 'empty' });
        const others = (await namesOf(pool)).filter((each) => !each.startsWith('image/'));
        expect(others).toEqual(['container/c', 'custom/v']);
      });

      test.each([
        '',
        '.',
        '..',
        '../x',
        'a/b',
        'a b',
        'a:b',
        'a,b',
        'a\0b',
        'é',
        'x'.repeat(65),
        `p%${'x'.repeat(65)}`,
      ])('the name %j is Invalid everywhere', async (bad) => {
        const pool = await madePool();
        expect(await codeOf(make(pool, container(bad), { kind: 'empty' }))).toBe('Invalid');
        expect(await codeOf(storage.deleteVolume(pool, container(bad)))).toBe('Invalid');
        await make(pool, container('a'), { kind: 'empty' });
        expect(await codeOf(storage.renameVolume(pool, container('a'), bad))).toBe('Invalid');
        expect(await codeOf(storage.hasVolume(pool, container(bad)))).toBe('Invalid');
        expect(() => storage.volumePath(pool, container(bad))).toThrow(DriverError);
      });

      test.each([
        '.tmp-x',
        '-rf',
        '--help',
        '$(id)',
        '~',
        '*',
        'x'.repeat(64),
        'p%..',
        `${'p'.repeat(64)}%${'x'.repeat(64)}`,
      ])('the name %j is one like others', async (odd) => {
        const pool = await madePool();
        await make(pool, container(odd), fromImage());
        await make(pool, container('copy'), { kind: 'copy', from: container(odd) });
        await storage.mountPool(pool);
        expect(await namesOf(pool)).toEqual(expect.arrayContaining([`container/${odd}`, 'container/copy']));
        await storage.deleteVolume(pool, container(odd));
        expect(await storage.hasVolume(pool, container(odd))).toBe(false);
      });
    });

    describe('snapshots', () => {
      const snap = (snapshot: string, volume = container('c')): SnapshotRef => ({ volume, snapshot });
      const take = (pool: PoolSpec, snapshot: SnapshotRef): Promise<void> =>
        storage.createSnapshot(pool, snapshot, { kind: 'now' }, never);
      const fileOf = (path: string): string => join(path, 'rootfs', 'file');
      const write = (pool: PoolSpec, text: string, name = 'c'): Promise<void> =>
        writeFile(fileOf(storage.volumePath(pool, container(name))), text);
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
          expect(await read(storage.snapshotPath(pool, snap('s')))).toBe('one');
          await storage.restoreSnapshot(pool, snap('s'), never);
          expect(await read(storage.volumePath(pool, container('c')))).toBe('one');
        }
        expect(await storage.listSnapshots(pool, container('c'))).toEqual(['s']);
        expect((await lstat(storage.volumePath(pool, container('c')))).mode & 0o077).toBe(0);
      });

      test('restoring a snapshot keeps those that are newer', async () => {
        const pool = await withContainer();
        await take(pool, snap('old'));
        await write(pool, 'two');
        await take(pool, snap('new'));
        await storage.restoreSnapshot(pool, snap('old'), never);
        expect(await read(storage.volumePath(pool, container('c')))).toBe('one');
        expect(await read(storage.snapshotPath(pool, snap('new')))).toBe('two');
        await storage.restoreSnapshot(pool, snap('new'), never);
        expect(await read(storage.volumePath(pool, container('c')))).toBe('two');
        expect(await storage.listSnapshots(pool, container('c'))).toEqual(['new', 'old']);
      });

      test('files made after a snapshot are gone after restoring it, files deleted are back', async () => {
        const pool = await withContainer();
        const path = storage.volumePath(pool, container('c'));
        await take(pool, snap('s'));
        await writeFile(join(path, 'rootfs', 'new'), 'x');
        await unlink(fileOf(path));
        await storage.restoreSnapshot(pool, snap('s'), never);
        expect(await readdir(join(path, 'rootfs'))).toEqual(['file']);
      });

      test('snapshots are no volumes, also over a mount', async () => {
        const pool = await withContainer();
        await take(pool, snap('s'));
        await storage.mountPool(pool);
        expect(await namesOf(pool)).toEqual(['container/c']);
        expect(await storage.listSnapshots(pool, container('c'))).toEqual(['s']);
        expect(await storage.listSnapshots(pool, container('other'))).toEqual([]);
      });

      test('the files of a snapshot are there for each reader while others come and go', async () => {
        const pool = await withContainer();
        await take(pool, snap('s'));
        const path = storage.snapshotPath(pool, snap('s'));
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
        expect(await read(storage.snapshotPath(pool, snap('s')))).toBe('one');
        expect(await codeOf(take(pool, snap('s', container('x'))))).toBe('NotFound');
        expect(await codeOf(storage.restoreSnapshot(pool, snap('t'), never))).toBe('NotFound');
        expect(await read(storage.volumePath(pool, container('c')))).toBe('two');
      });

      test('deleting a snapshot is final, and twice is the same as once', async () => {
        const pool = await withContainer();
        for (const name of ['a', 'b']) await take(pool, snap(name));
        await storage.deleteSnapshot(pool, snap('a'));
        await storage.deleteSnapshot(pool, snap('a'));
        expect(await storage.listSnapshots(pool, container('c'))).toEqual(['b']);
      });

      test('a rename of a snapshot is idempotent, onto another one it is Exists, of a missing one NotFound', async () => {
        const pool = await withContainer();
        await take(pool, snap('a'));
        await storage.renameSnapshot(pool, snap('a'), 'b');
        await storage.renameSnapshot(pool, snap('a'), 'b');
        expect(await read(storage.snapshotPath(pool, snap('b')))).toBe('one');
        await take(pool, snap('a'));
        expect(await codeOf(storage.renameSnapshot(pool, snap('a'), 'b'))).toBe('Exists');
        expect(await codeOf(storage.renameSnapshot(pool, snap('x'), 'y'))).toBe('NotFound');
        expect(await storage.listSnapshots(pool, container('c'))).toEqual(['a', 'b']);
      });

      test('snapshots follow their volume: renamed with it there and back, deleted with it', async () => {
        const pool = await withContainer();
        await take(pool, snap('s'));
        await storage.renameVolume(pool, container('c'), 'd');
        expect(await storage.listSnapshots(pool, container('d'))).toEqual(['s']);
        expect(await storage.listSnapshots(pool, container('c'))).toEqual([]);
        await storage.renameVolume(pool, container('d'), 'c');
        await storage.deleteVolume(pool, container('c'));
        expect(await storage.listSnapshots(pool, container('c'))).toEqual([]);
        await make(pool, container('c'), { kind: 'empty' });
        expect(await storage.listSnapshots(pool, container('c'))).toEqual([]);
      });

      test('a volume is made of a snapshot, and a snapshot of another volume is copied', async () => {
        const pool = await withContainer();
        await take(pool, snap('s'));
        await write(pool, 'two');
        await make(pool, container('d'), { kind: 'copy', from: container('c'), snapshot: 's' });
        expect(await read(storage.volumePath(pool, container('d')))).toBe('one');
        await write(pool, 'changed', 'd');
        expect(await read(storage.snapshotPath(pool, snap('s')))).toBe('one');
        const copied = snap('s', container('d'));
        await storage.createSnapshot(pool, copied, { kind: 'copy', from: snap('s') }, never);
        expect(await read(storage.snapshotPath(pool, copied))).toBe('one');
        expect(await codeOf(make(pool, container('e'), { kind: 'copy', from: container('c'), snapshot: 'x' }))).toBe(
          'NotFound',
        );
      });

      test('volumes and snapshots are copied from another pool', async () => {
        const [from, to] = [await withContainer(), await madePool()];
        await take(from, snap('s'));
        await write(from, 'two');
        await make(to, container('c'), { kind: 'tree', path: storage.volumePath(from, container('c')) });
        const source = { kind: 'tree', path: storage.snapshotPath(from, snap('s')) } as const;
        await filesAt(source.path, () => storage.createSnapshot(to, snap('s'), source, never));
        expect(await read(storage.volumePath(to, container('c')))).toBe('two');
        await storage.restoreSnapshot(to, snap('s'), never);
        expect(await read(storage.volumePath(to, container('c')))).toBe('one');
        await storage.deleteVolume(to, container('c'));
        expect(await namesOf(to)).toEqual([]);
      });

      test('custom volumes have snapshots, images have none', async () => {
        const pool = await madePool();
        await make(pool, custom('v'), { kind: 'empty' });
        const path = storage.volumePath(pool, custom('v'));
        await writeFile(join(path, 'file'), 'one');
        await take(pool, snap('s', custom('v')));
        await writeFile(join(path, 'file'), 'two');
        await storage.restoreSnapshot(pool, snap('s', custom('v')), never);
        expect(await readFile(join(path, 'file'), 'utf8')).toBe('one');
        const image: VolumeRef = { type: 'image', name: fixture.image.fingerprint };
        await make(pool, image, fromImage());
        expect(await codeOf(take(pool, snap('s', image)))).toBe('Invalid');
      });

      test('a pool whose volume has snapshots is not deleted, and goes once the volume is gone', async () => {
        const pool = await withContainer();
        await take(pool, snap('s'));
        expect(await codeOf(storage.deletePool(pool))).toBe('InUse');
        await storage.deleteVolume(pool, container('c'));
        await storage.deletePool(pool);
      });

      test.each(['', '.', '..', '../x', 'a/b', 'a b', 'a\0b', 'é', 'x'.repeat(65)])(
        'the snapshot name %j is Invalid everywhere',
        async (bad) => {
          const pool = await withContainer();
          expect(await codeOf(take(pool, snap(bad)))).toBe('Invalid');
          expect(await codeOf(storage.deleteSnapshot(pool, snap(bad)))).toBe('Invalid');
          expect(await codeOf(storage.restoreSnapshot(pool, snap(bad), never))).toBe('Invalid');
          await take(pool, snap('s'));
          expect(await codeOf(storage.renameSnapshot(pool, snap('s'), bad))).toBe('Invalid');
          expect(() => storage.snapshotPath(pool, snap(bad))).toThrow(DriverError);
        },
      );

      test('an aborted snapshot or restore throws the reason and changes nothing', async () => {
        const pool = await withContainer();
        const reason = new Error('enough');
        const gone = AbortSignal.abort(reason);
        await expect(storage.createSnapshot(pool, snap('s'), { kind: 'now' }, gone)).rejects.toBe(reason);
        expect(await storage.listSnapshots(pool, container('c'))).toEqual([]);
        await take(pool, snap('s'));
        await write(pool, 'two');
        await expect(storage.restoreSnapshot(pool, snap('s'), gone)).rejects.toBe(reason);
        expect(await read(storage.volumePath(pool, container('c')))).toBe('two');
      });

      test('a held volume can be exported, frozen if the driver says so, whatever happens to the original', async () => {
        const pool = await withContainer();
        await write(pool, 'before');
        let seen = '';
        await storage.holdStill(
          pool,
          container('c'),
          async ({ from, path, isStill }) => {
            if (isStill) {
              await write(pool, 'after');
              await storage.deleteVolume(pool, container('c'));
            }
            seen = await read(path);
            const keep = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
              const all: Buffer[] = [];
              for await (const chunk of bytes) all.push(chunk);
              expect(Buffer.concat(all).includes('before')).toBe(true);
              expect(Buffer.concat(all).includes('after')).toBe(false);
            };
            await storage.exportVolume(pool, from, { kind: 'tar' }, keep, never);
          },
          never,
        );
        expect(seen).toBe('before');
      });

      test('holding a volume leaves nothing, even if its user fails; a missing one is reported', async () => {
        const pool = await withContainer();
        const failing = storage.holdStill(pool, container('c'), () => Promise.reject(new Error('as wished')), never);
        await expect(failing).rejects.toThrow('as wished');
        const absent = storage.holdStill(pool, container('absent'), () => Promise.resolve(), never);
        await expect(absent).rejects.toMatchObject({ code: 'NotFound' });
        expect(await namesOf(pool)).toEqual(['container/c']);
      });
    });

    describe('streams', () => {
      const chunksOf = async (pool: PoolSpec, from: TreeRef, form: ExportForm): Promise<readonly Buffer[]> => {
        const chunks: Buffer[] = [];
        const keep = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
          for await (const chunk of bytes) chunks.push(Buffer.from(chunk));
        };
        await storage.exportVolume(pool, from, form, keep, never);
        return chunks;
      };
      async function* streamOf(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
        yield* chunks;
      }
      const put = (pool: PoolSpec, to: TreeRef, chunks: readonly Buffer[], form: ImportForm): Promise<void> =>
        storage.importVolume(pool, to, streamOf(chunks), form, never);
      const rootOf = (pool: PoolSpec, name: string): string =>
        join(storage.volumePath(pool, container(name)), 'rootfs');
      const filled = async (): Promise<PoolSpec> => {
        const pool = await madePool();
        await make(pool, container('c'), { kind: 'empty' });
        const root = rootOf(pool, 'c');
        await mkdir(join(root, 'd'.repeat(90), 'e'.repeat(90)), { recursive: true });
        await writeFile(join(root, 'd'.repeat(90), 'e'.repeat(90), 'deep'), 'deep');
        await writeFile(join(root, 'file'), 'one', { mode: 0o640 });
        await link(join(root, 'file'), join(root, 'hard'));
        await symlink('/etc/passwd', join(root, 'soft'));
        await writeFile(join(root, 'holes'), '');
        await truncate(join(root, 'holes'), 8 * 1_048_576);
        return pool;
      };
      const expectFilled = async (root: string): Promise<void> => {
        expect(await readFile(join(root, 'd'.repeat(90), 'e'.repeat(90), 'deep'), 'utf8')).toBe('deep');
        const [file, hard, holes] = await Promise.all(['file', 'hard', 'holes'].map((each) => lstat(join(root, each))));
        expect(file?.mode).toBe(0o100640);
        expect(hard?.ino).toBe(file?.ino);
        expect(await readlink(join(root, 'soft'))).toBe('/etc/passwd');
        expect(holes?.size).toBe(8 * 1_048_576);
        if (fixture.hidesHoles !== true) expect(holes?.blocks).toBeLessThan(1024);
      };

      test('a volume exported as tar is imported completely, closed to others', async () => {
        const [from, to] = [await filled(), await madePool()];
        await put(to, { volume: container('new') }, await chunksOf(from, { volume: container('c') }, { kind: 'tar' }), {
          kind: 'tar',
        });
        await expectFilled(rootOf(to, 'new'));
        expect((await lstat(storage.volumePath(to, container('new')))).mode & 0o077).toBe(0);
        expect(await namesOf(to)).toEqual(['container/new']);
        await storage.mountPool(from);
        expect(await namesOf(from)).toEqual(['container/c']);
      });

      test('exported members have any requested prefix, and lose it on import', async () => {
        const [from, to] = [await filled(), await madePool()];
        const prefix = 'backup/a&b,c\\d.*';
        const chunks = await chunksOf(from, { volume: container('c') }, { kind: 'tar', prefix });
        expect(Buffer.concat([...chunks]).includes(`${prefix}/rootfs/file`)).toBe(true);
        await put(to, { volume: container('new') }, chunks, { kind: 'tar', prefix });
        await expectFilled(rootOf(to, 'new'));
        expect((await readdir(rootOf(to, 'new'))).length).toBe(5);
      });

      test('parts follow each other in one archive, with the owner ids of the receiver', async () => {
        const pool = await filled();
        const part = { kind: 'tar', isPart: true, ownerOf: (_kind: string, id: number) => id + 70_000 } as const;
        const chunks = [
          ...(await chunksOf(pool, { volume: container('c') }, { ...part, prefix: 'a' })),
          ...(await chunksOf(pool, { volume: container('c') }, { ...part, prefix: 'b' })),
          Buffer.alloc(1024),
        ];
        const list = spawnSync('tar', ['--list', '--verbose', '--numeric-owner', '--file=-'], {
          input: Buffer.concat(chunks),
          encoding: 'utf8',
        });
        expect(list.status).toBe(0);
        const lines = list.stdout.trim().split('\n');
        expect(lines).toHaveLength(2 * 9);
        const own = `${(process.geteuid?.() ?? 0) + 70_000}/${(process.getegid?.() ?? 0) + 70_000}`;
        expect(lines.filter((line) => line.includes(` ${own} `))).toHaveLength(lines.length);
        expect(lines.filter((line) => line.includes('link to b/rootfs/'))).toHaveLength(1);
      });

      test('a snapshot is exported, and imported before its volume', async () => {
        const [from, to] = [await filled(), await madePool()];
        await storage.createSnapshot(from, { volume: container('c'), snapshot: 's' }, { kind: 'now' }, never);
        await writeFile(join(rootOf(from, 'c'), 'file'), 'two');
        const chunks = await chunksOf(from, { volume: container('c'), snapshot: 's' }, { kind: 'tar' });
        await put(to, { volume: container('c'), snapshot: 's' }, chunks, { kind: 'tar' });
        await make(to, container('c'), { kind: 'empty' });
        await storage.restoreSnapshot(to, { volume: container('c'), snapshot: 's' }, never);
        await expectFilled(rootOf(to, 'c'));
        expect(await readFile(join(rootOf(to, 'c'), 'file'), 'utf8')).toBe('one');
        expect(await storage.listSnapshots(to, container('c'))).toEqual(['s']);
      });

      test('native streams carry a volume on top of its snapshots; without them they are NotSupported', async () => {
        const [from, to] = [await filled(), await madePool()];
        const [one, two] = ['one', 'two'].map((snapshot) => ({ volume: container('c'), snapshot }));
        if (one === undefined || two === undefined) throw new Error('no snapshots');
        const whole: ExportForm = { kind: 'native' };
        if (storage.capabilities.nativeStreams === undefined) {
          expect(await codeOf(chunksOf(from, { volume: container('c') }, whole))).toBe('NotSupported');
          expect(await codeOf(put(to, { volume: container('c') }, [], { kind: 'native' }))).toBe('NotSupported');
          return;
        }
        await storage.createSnapshot(from, one, { kind: 'now' }, never);
        await writeFile(join(rootOf(from, 'c'), 'big'), Buffer.alloc(2 * 1_048_576, 7));
        await storage.createSnapshot(from, two, { kind: 'now' }, never);
        await writeFile(join(rootOf(from, 'c'), 'last'), 'last');
        const streams = [
          [one, await chunksOf(from, one, whole)],
          [two, await chunksOf(from, two, { ...whole, parent: 'one' })],
          [{ volume: container('c') }, await chunksOf(from, { volume: container('c') }, { ...whole, parent: 'two' })],
        ] as const;
        expect(Buffer.concat([...streams[2][1]]).length).toBeLessThan(1_048_576);
        for (const [ref, chunks] of streams) await put(to, ref, chunks, { kind: 'native' });
        await expectFilled(rootOf(to, 'c'));
        expect(await readFile(join(rootOf(to, 'c'), 'last'), 'utf8')).toBe('last');
        await writeFile(join(rootOf(to, 'c'), 'is-writable'), '');
        await storage.restoreSnapshot(to, one, never);
        expect((await readdir(rootOf(to, 'c'))).includes('big')).toBe(false);
        expect(await codeOf(chunksOf(from, two, { ...whole, parent: 'none' }))).toBe('NotFound');
      });

      test('damaged, truncated or broken streams make nothing, and a broken one throws its own error', async () => {
        const [from, to] = [await filled(), await madePool()];
        const native = storage.capabilities.nativeStreams === undefined ? [] : (['native'] as const);
        for (const kind of ['tar', ...native] as const) {
          const chunks = await chunksOf(from, { volume: container('c') }, { kind });
          const bytes = Buffer.concat([...chunks]);
          const cut = [bytes.subarray(0, bytes.length / 2)];
          expect(await codeOf(put(to, { volume: container('c') }, cut, { kind }))).toBe('Failed');
          expect(await codeOf(put(to, { volume: container('c') }, [Buffer.from('nonsense')], { kind }))).toBe('Failed');
          const reason = new Error('the line is down');
          async function* broken(): AsyncGenerator<Buffer> {
            yield bytes.subarray(0, bytes.length / 2);
            throw reason;
          }
          const work = storage.importVolume(to, { volume: container('c') }, broken(), { kind }, never);
          await expect(work).rejects.toBe(reason);
          expect(await namesOf(to)).toEqual([]);
          const reader = storage.exportVolume(
            from,
            { volume: container('c') },
            { kind },
            () => Promise.reject(reason),
            never,
          );
          await expect(reader).rejects.toBe(reason);
        }
      });

      test('an existing volume is Exists, a missing one NotFound, and an abort throws its reason', async () => {
        const pool = await filled();
        const chunks = await chunksOf(pool, { volume: container('c') }, { kind: 'tar' });
        expect(await codeOf(put(pool, { volume: container('c') }, chunks, { kind: 'tar' }))).toBe('Exists');
        expect(await codeOf(chunksOf(pool, { volume: container('x') }, { kind: 'tar' }))).toBe('NotFound');
        expect(await codeOf(chunksOf(pool, { volume: container('c'), snapshot: 'x' }, { kind: 'tar' }))).toBe(
          'NotFound',
        );
        const reason = new Error('enough');
        const stop = new AbortController();
        async function* endless(): AsyncGenerator<Buffer> {
          yield* chunks;
          stop.abort(reason);
          await new Promise(() => {});
        }
        const form: ImportForm = { kind: 'tar' };
        await expect(
          storage.importVolume(pool, { volume: container('d') }, endless(), form, AbortSignal.abort(reason)),
        ).rejects.toBe(reason);
        const stalled = storage.exportVolume(
          pool,
          { volume: container('c') },
          { kind: 'tar' },
          async (bytes) => {
            for await (const _ of bytes) stop.abort(reason);
          },
          stop.signal,
        );
        await expect(stalled).rejects.toBe(reason);
        expect(await namesOf(pool)).toEqual(['container/c']);
      });
    });

    describe('derived trees', () => {
      const pathOf = (pool: PoolSpec, snapshot?: string): string => {
        const volume = container('c');
        return snapshot === undefined
          ? storage.volumePath(pool, volume)
          : storage.snapshotPath(pool, { volume, snapshot });
      };
      const file = (pool: PoolSpec): string => join(pathOf(pool), 'rootfs', 'file');
      const read = (pool: PoolSpec, snapshot?: string): Promise<string> => {
        const path = pathOf(pool, snapshot);
        return filesAt(path, () => readFile(join(path, 'rootfs', 'file'), 'utf8'));
      };
      const before = async (): Promise<PoolSpec> => {
        const pool = await madePool();
        await make(pool, container('c'), { kind: 'empty' });
        await writeFile(file(pool), 'one');
        await storage.createSnapshot(pool, { volume: container('c'), snapshot: 's1' }, { kind: 'now' }, never);
        return pool;
      };
      const tree = (snapshot?: string): TreeRef => ({
        volume: container('c'),
        ...(snapshot === undefined ? {} : { snapshot }),
      });
      const rewrite =
        (text: string) =>
        async ({ path }: ChangingTree): Promise<void> => {
          await unlink(join(path, 'rootfs/file'));
          await writeFile(join(path, 'rootfs/file'), text);
        };

      test('a snapshot derives from another one and a change, the volume from itself, and none shares later writes', async () => {
        const pool = await before();
        await storage.deriveVolume(pool, tree('s1'), tree('s2'), rewrite('two'), never);
        await storage.deriveVolume(pool, tree(), tree(), rewrite('three'), never);
        expect(await Promise.all([read(pool), read(pool, 's1'), read(pool, 's2')])).toEqual(['three', 'one', 'two']);
        await storage.deriveVolume(pool, tree('s2'), tree(), async () => {}, never);
        await writeFile(file(pool), 'in place', { flag: 'r+' });
        expect(await read(pool, 's2')).toBe('two');
        expect((await lstat(storage.volumePath(pool, container('c')))).mode & 0o077).toBe(0);
        await storage.restoreSnapshot(pool, { volume: container('c'), snapshot: 's2' }, never);
        await storage.mountPool(pool);
        expect(await storage.listSnapshots(pool, container('c'))).toEqual(['s1', 's2']);
      });

      test('a change that fails, or is aborted, changes nothing', async () => {
        const pool = await before();
        const broken = async (given: ChangingTree): Promise<void> => {
          await rewrite('half')(given);
          throw new Error('the other side went away');
        };
        for (const to of [tree(), tree('s2')])
          await expect(storage.deriveVolume(pool, tree(), to, broken, never)).rejects.toThrow(/cannot make/);
        const reason = new Error('enough');
        await expect(storage.deriveVolume(pool, tree(), tree(), broken, AbortSignal.abort(reason))).rejects.toBe(
          reason,
        );
        expect(await codeOf(storage.deriveVolume(pool, tree(), tree('s1'), broken, never))).toBe('Exists');
        expect(await codeOf(storage.deriveVolume(pool, tree('none'), tree('s2'), broken, never))).toBe('NotFound');
        expect(await readFile(file(pool), 'utf8')).toBe('one');
        expect(await storage.listSnapshots(pool, container('c'))).toEqual(['s1']);
      });

      test('a stream replaces a volume atomically', async () => {
        const pool = await before();
        const chunks: Buffer[] = [];
        const keep = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
          for await (const chunk of bytes) chunks.push(Buffer.from(chunk));
        };
        await storage.exportVolume(pool, tree('s1'), { kind: 'tar' }, keep, never);
        await rewrite('later')({ path: storage.volumePath(pool, container('c')), unpack: async () => {} });
        const form = { kind: 'tar', replace: true } as const;
        const cut = [Buffer.concat(chunks).subarray(0, 2000)];
        const put = (pieces: readonly Buffer[]): Promise<void> =>
          storage.importVolume(pool, tree(), Readable.from(pieces), form, never);
        expect(await codeOf(put(cut))).toBe('Failed');
        expect(await readFile(file(pool), 'utf8')).toBe('later');
        await put(chunks);
        expect(await readFile(file(pool), 'utf8')).toBe('one');
      });

      test('only drivers with native streams identify snapshots', async () => {
        const pool = await before();
        const id = await storage.streamId(pool, { volume: container('c'), snapshot: 's1' });
        expect(id !== undefined).toBe(storage.capabilities.nativeStreams !== undefined);
        expect(await storage.streamId(pool, { volume: container('c'), snapshot: 'none' })).toBeUndefined();
      });
    });

    describe('limits', () => {
      /** Incompressible bytes. */
      const mebibytes = (count: number): Buffer => randomBytes(count * 1_048_576);

      test('a limit applies at once, can be raised and lifted, and a driver without limits says so', async () => {
        const pool = await madePool();
        await make(pool, container('c'), { kind: 'empty' });
        const limit = (bytes: number | undefined): Promise<void> => storage.limitVolume(pool, container('c'), bytes);
        if (!(storage.canLimit?.(pool) ?? storage.capabilities.quotas)) {
          expect(await codeOf(limit(1))).toBe('NotSupported');
          await limit(undefined);
          return;
        }
        const file = join(storage.volumePath(pool, container('c')), 'rootfs', 'big');
        const bytes = (await storage.limitsIn?.(pool))?.(container('c'));
        // A block volume has a size from the start and cannot shrink.
        if (bytes !== undefined) {
          await expect(writeFile(file, Buffer.alloc(bytes))).rejects.toMatchObject({ code: 'ENOSPC' });
          await limit(2 * bytes);
          await writeFile(file, Buffer.alloc(bytes));
          await limit(undefined);
          expect((await storage.limitsIn?.(pool))?.(container('c'))).toBe(2 * bytes);
          expect(await codeOf(limit(bytes))).toBe('Invalid');
          expect((await lstat(file)).size).toBe(bytes);
          return;
        }
        await limit(8 * 1_048_576);
        // On xfs an exceeded project quota looks like a full disk.
        const more = (): Promise<NodeJS.ErrnoException | undefined> =>
          appendFile(file, mebibytes(12), { flush: true }).then(
            () => undefined,
            (error: NodeJS.ErrnoException) => error,
          );
        let refused = await more();
        if (fixture.limitsLate === true) await until(async () => (refused ??= await more()) !== undefined);
        expect(['ENOSPC', -122]).toContain(refused?.code === 'ENOSPC' ? refused.code : refused?.errno);
        await limit(24 * 1_048_576);
        const write = (): Promise<void> => writeFile(file, mebibytes(12));
        // What was cut off counts for seconds.
        if (fixture.limitsLate === true)
          await until(() =>
            write().then(
              () => true,
              () => false,
            ),
          );
        else await write();
        const less = storage.limitVolume(pool, container('c'), 4 * 1_048_576, { mustHold: true });
        expect(await codeOf(less)).toBe('Invalid');
        expect((await storage.limitsIn?.(pool))?.(container('c'))).toBe(24 * 1_048_576);
        await limit(4 * 1_048_576);
        await limit(undefined);
        expect((await storage.limitsIn?.(pool))?.(container('c'))).toBeUndefined();
        await writeFile(file, mebibytes(32));
      });
    });

    describe('cancellation', () => {
      test('an aborted create throws the reason and makes nothing', async () => {
        const pool = await madePool();
        const reason = new Error('enough');
        for (const source of [{ kind: 'empty' }, fromImage()] as const)
          await expect(make(pool, container('c'), source, AbortSignal.abort(reason))).rejects.toBe(reason);
        expect((await namesOf(pool)).filter((each) => each.startsWith('container/'))).toEqual([]);
      });

      test('an abort at any moment of a create leaves nothing or a complete volume, and the next create works', async () => {
        const pool = await freshPool();
        const { imageFile } = fixture;
        for (const delayMs of [0, 1, 2, 4, 8, 16, 32, 64]) {
          const stop = new AbortController();
          const timer = setTimeout(() => stop.abort(new Error('enough')), delayMs);
          await make(pool, container('c'), fromImage(), stop.signal).catch((error: unknown) => {
            if (!stop.signal.aborted) throw error;
          });
          clearTimeout(timer);
          if (await storage.hasVolume(pool, container('c'))) {
            const path = join(storage.volumePath(pool, container('c')), 'rootfs', imageFile.path);
            expect(await readFile(path, 'utf8')).toBe(imageFile.content);
            await storage.deleteVolume(pool, container('c'));
          }
        }
        await make(pool, container('c'), fromImage());
      });
    });
  });
}
