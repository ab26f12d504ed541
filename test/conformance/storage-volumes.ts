// Pools and volumes of all storage drivers.
import { lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DriverError } from '../../server/drivers/driver-error.ts';
import type { VolumeRef } from '../../server/drivers/storage/driver.ts';
import { codeOf, container, custom, never, type StorageWorld } from './storage-world.ts';

export function volumeTests(world: StorageWorld): void {
  const { make, fromImage, freshPool, madePool, namesOf } = world;

  describe('pools', () => {
    test('the filled config names a source and filling it again changes nothing', async () => {
      const pool = world.fixture.newPool();
      const config = await world.storage.fillConfig(pool);
      expect(config['source']).toBeTruthy();
      expect(await world.storage.fillConfig({ ...pool, config })).toEqual(config);
    });

    test('creating an empty pool twice is the same as once', async () => {
      const pool = await madePool();
      await world.storage.createPool(pool, never);
      expect(await world.storage.listVolumes(pool)).toEqual([]);
    });

    test('a pool with volumes is not mistaken for a new one', async () => {
      const pool = await madePool();
      await make(pool, custom('v'), { kind: 'empty' });
      expect(await codeOf(world.storage.createPool(pool, never))).toBe('InUse');
      expect(await namesOf(pool)).toEqual(['custom/v']);
    });

    test('a pool with containers or custom volumes is not deleted', async () => {
      const pool = await madePool();
      await make(pool, container('c'), { kind: 'empty' });
      expect(await codeOf(world.storage.deletePool(pool))).toBe('InUse');
      expect(await world.storage.hasVolume(pool, container('c'))).toBe(true);
      await world.storage.deleteVolume(pool, container('c'));
      await world.storage.deletePool(pool);
    });

    test('images go with their pool, and deleting twice is the same as once', async () => {
      const pool = await freshPool();
      await make(pool, { type: 'image', name: world.fixture.image.fingerprint }, fromImage());
      await world.storage.deletePool(pool);
      await world.storage.deletePool(pool);
      await world.storage.createPool(pool, never);
      expect(await namesOf(pool)).toEqual([]);
    });

    test('mounting twice is the same as once and keeps the volumes', async () => {
      const pool = await madePool();
      await make(pool, container('c'), { kind: 'empty' });
      await world.storage.mountPool(pool);
      await world.storage.mountPool(pool);
      expect(await namesOf(pool)).toEqual(['container/c']);
    });

    test('resources report used and total space and inodes', async () => {
      const { space, inodes } = await world.storage.resources(await madePool());
      expect(space.total).toBeGreaterThan(0);
      for (const { used, total } of [space, inodes]) {
        expect(used).toBeGreaterThanOrEqual(0);
        expect(used).toBeLessThanOrEqual(total);
      }
    });

    test('two pools keep volumes of one name apart', async () => {
      const [one, two] = [await madePool(), await madePool()];
      await make(one, custom('v'), { kind: 'empty' });
      expect(await world.storage.hasVolume(two, custom('v'))).toBe(false);
      expect(world.storage.volumePath(one, custom('v'))).not.toBe(world.storage.volumePath(two, custom('v')));
    });
  });

  describe('volumes', () => {
    test('an empty container volume has a rootfs directory and is closed to others', async () => {
      const pool = await madePool();
      await make(pool, container('c'), { kind: 'empty' });
      const path = world.storage.volumePath(pool, container('c'));
      expect(await readdir(path)).toEqual(['rootfs']);
      expect((await lstat(path)).mode & 0o077).toBe(0);
      expect(await world.storage.hasVolume(pool, container('c'))).toBe(true);
    });

    test('an empty custom volume is empty', async () => {
      const pool = await madePool();
      await make(pool, custom('v'), { kind: 'empty' });
      expect(await readdir(world.storage.volumePath(pool, custom('v')))).toEqual([]);
    });

    test('a container volume of an image has its files and is closed to others', async () => {
      const pool = await madePool();
      await make(pool, container('c'), fromImage());
      const path = world.storage.volumePath(pool, container('c'));
      expect(await readdir(path)).toEqual(expect.arrayContaining(['metadata.yaml', 'rootfs']));
      const { imageFile } = world.fixture;
      expect(await readFile(join(path, 'rootfs', imageFile.path), 'utf8')).toBe(imageFile.content);
      expect((await lstat(path)).mode & 0o077).toBe(0);
    });

    test('a copy is complete and independent', async () => {
      const pool = await madePool();
      await make(pool, container('a'), fromImage());
      const [a, b] = [container('a'), container('b')].map((volume) =>
        join(world.storage.volumePath(pool, volume), 'rootfs'),
      );
      if (a === undefined || b === undefined) throw new Error('no paths');
      await writeFile(join(a, 'written'), 'one');
      await make(pool, container('b'), { kind: 'copy', from: container('a') });
      await writeFile(join(a, 'written'), 'two');
      expect(await readFile(join(b, 'written'), 'utf8')).toBe('one');
      expect((await readdir(b)).toSorted()).toEqual((await readdir(a)).toSorted());
      expect((await lstat(world.storage.volumePath(pool, container('b')))).mode & 0o077).toBe(0);
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
      await writeFile(join(world.storage.volumePath(pool, container('c')), 'rootfs', 'mine'), 'x');
      expect(await codeOf(make(pool, custom('v'), { kind: 'empty' }))).toBe('Exists');
      for (const source of [{ kind: 'empty' }, fromImage(), { kind: 'copy', from: container('c') }] as const)
        expect(await codeOf(make(pool, container('c'), source))).toBe('Exists');
      expect(await readdir(join(world.storage.volumePath(pool, container('c')), 'rootfs'))).toEqual(['mine']);
    });

    test('exactly one of many who create one volume at once succeeds', async () => {
      const pool = await madePool();
      const work = Array.from({ length: 8 }, () => codeOf(make(pool, custom('v'), { kind: 'empty' })));
      expect((await Promise.all(work)).toSorted()).toEqual([...Array.from({ length: 7 }, () => 'Exists'), 'none']);
    });

    test('many containers of one new image at once unpack it once', async () => {
      const pool = await freshPool();
      const before = world.fixture.unpacked();
      const names = Array.from({ length: 4 }, (_, index) => `c${index}`);
      await Promise.all(names.map((each) => make(pool, container(each), fromImage())));
      expect(world.fixture.unpacked() - before).toBeLessThanOrEqual(1);
      expect((await namesOf(pool)).filter((each) => each.startsWith('container/'))).toEqual(
        names.map((each) => `container/${each}`),
      );
    });

    test('deleting an image volume while containers are made of it fails none of them', async () => {
      const pool = await madePool();
      const image: VolumeRef = { type: 'image', name: world.fixture.image.fingerprint };
      await make(pool, container('first'), fromImage());
      const names = Array.from({ length: 4 }, (_, index) => `c${index}`);
      const made = names.map((each) => make(pool, container(each), fromImage()));
      await Promise.all([...made, world.storage.deleteVolume(pool, image), world.storage.deleteVolume(pool, image)]);
      for (const each of names) expect(await world.storage.hasVolume(pool, container(each))).toBe(true);
    });

    test('deleting is final, and twice is the same as once', async () => {
      const pool = await madePool();
      await make(pool, container('c'), fromImage());
      await world.storage.deleteVolume(pool, container('c'));
      await world.storage.deleteVolume(pool, container('c'));
      await world.storage.deleteVolume(pool, custom('was-never-there'));
      expect(await world.storage.hasVolume(pool, container('c'))).toBe(false);
      await make(pool, container('c'), { kind: 'empty' });
      expect(await readdir(join(world.storage.volumePath(pool, container('c')), 'rootfs'))).toEqual([]);
    });

    test('deleting never follows a symbolic link', async () => {
      const pool = await madePool();
      await make(pool, custom('kept'), { kind: 'empty' });
      await make(pool, custom('v'), { kind: 'empty' });
      const [kept, path] = [
        world.storage.volumePath(pool, custom('kept')),
        world.storage.volumePath(pool, custom('v')),
      ];
      await writeFile(join(kept, 'file'), 'x');
      await mkdir(join(path, 'd'));
      await symlink(kept, join(path, 'd', 'link'));
      await symlink(join(kept, 'file'), join(path, 'file-link'));
      await world.storage.deleteVolume(pool, custom('v'));
      expect(await readFile(join(kept, 'file'), 'utf8')).toBe('x');
    });

    test('a rename moves everything, and is idempotent', async () => {
      const pool = await madePool();
      await make(pool, container('a'), { kind: 'empty' });
      await writeFile(join(world.storage.volumePath(pool, container('a')), 'rootfs', 'file'), 'x');
      await world.storage.renameVolume(pool, container('a'), 'b');
      await world.storage.renameVolume(pool, container('a'), 'b');
      expect(await namesOf(pool)).toEqual(['container/b']);
      expect(await readFile(join(world.storage.volumePath(pool, container('b')), 'rootfs', 'file'), 'utf8')).toBe('x');
    });

    test('volumes of one name in two projects are two, and one follows a rename into another project', async () => {
      const pool = await madePool();
      const long = `${'p'.repeat(64)}%${'v'.repeat(64)}`;
      for (const name of ['v', 'red%v']) {
        await make(pool, custom(name), { kind: 'empty' });
        await writeFile(join(world.storage.volumePath(pool, custom(name)), 'file'), name);
      }
      await world.storage.createSnapshot(pool, { volume: custom('red%v'), snapshot: 's' }, { kind: 'now' }, never);
      await world.storage.renameVolume(pool, custom('red%v'), long);
      expect(await namesOf(pool)).toEqual([`custom/${long}`, 'custom/v']);
      await world.storage.restoreSnapshot(pool, { volume: custom(long), snapshot: 's' }, never);
      expect(await readFile(join(world.storage.volumePath(pool, custom(long)), 'file'), 'utf8')).toBe('red%v');
      expect(await world.storage.listSnapshots(pool, custom(long))).toEqual(['s']);
      expect(await world.storage.listSnapshots(pool, custom('v'))).toEqual([]);
    });

    test('a rename onto another volume is Exists, also when that one is empty', async () => {
      const pool = await madePool();
      await make(pool, custom('a'), { kind: 'empty' });
      await make(pool, custom('b'), { kind: 'empty' });
      expect(await codeOf(world.storage.renameVolume(pool, custom('a'), 'b'))).toBe('Exists');
      expect(await namesOf(pool)).toEqual(['custom/a', 'custom/b']);
    });

    test('a rename of a missing volume is NotFound', async () => {
      const pool = await madePool();
      expect(await codeOf(world.storage.renameVolume(pool, custom('a'), 'b'))).toBe('NotFound');
    });

    test('the list has volumes of all types and nothing else', async () => {
      const pool = await madePool();
      await make(pool, container('c'), fromImage());
      await make(pool, custom('v'), { kind: 'empty' });
      const others = (await namesOf(pool)).filter((each) => !each.startsWith('image/'));
      expect(others).toEqual(['container/c', 'custom/v']);
    });

    test('names with other characters, or too long, are Invalid everywhere', async () => {
      const pool = await madePool();
      await make(pool, container('a'), { kind: 'empty' });
      const tooLong = 'x'.repeat(65);
      for (const bad of ['', '.', '..', '../x', 'a/b', 'a b', 'a:b', 'a,b', 'a\0b', 'é', tooLong, `p%${tooLong}`]) {
        expect(await codeOf(make(pool, container(bad), { kind: 'empty' })), bad).toBe('Invalid');
        expect(await codeOf(world.storage.deleteVolume(pool, container(bad))), bad).toBe('Invalid');
        expect(await codeOf(world.storage.renameVolume(pool, container('a'), bad)), bad).toBe('Invalid');
        expect(await codeOf(world.storage.hasVolume(pool, container(bad))), bad).toBe('Invalid');
        expect(() => world.storage.volumePath(pool, container(bad)), bad).toThrow(DriverError);
      }
    });

    const oddNames = [
      '.tmp-x',
      '-rf',
      '--help',
      '$(id)',
      '~',
      '*',
      'x'.repeat(64),
      'p%..',
      `${'p'.repeat(64)}%${'x'.repeat(64)}`,
    ];
    test('odd names are like others', async () => {
      const pool = await madePool();
      for (const [index, odd] of oddNames.entries()) {
        // Those that a program or a shell could take for more than a name are also targets of a whole tree.
        await make(pool, container(odd), /^[-$]/.test(odd) ? fromImage() : { kind: 'empty' });
        await make(pool, container(`copy${index}`), { kind: 'copy', from: container(odd) });
      }
      await world.storage.mountPool(pool);
      const all = oddNames.flatMap((odd, index) => [`container/${odd}`, `container/copy${index}`]);
      expect((await namesOf(pool)).filter((name) => name.startsWith('container/')).toSorted()).toEqual(all.toSorted());
      for (const odd of oddNames) {
        await world.storage.deleteVolume(pool, container(odd));
        expect(await world.storage.hasVolume(pool, container(odd)), odd).toBe(false);
      }
    });
  });
}
