// File systems on block devices, as drivers of blocks share them: the suite of all drivers on loop devices, and what is special about sizes.
import { execFileSync } from 'node:child_process';
import { closeSync, constants, existsSync, openSync } from 'node:fs';
import { open, readFile, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PoolSpec, StorageDriver, VolumeRef } from '../../../../server/drivers/storage/driver.ts';
import { silentLog, type Log } from '../../../../server/lib/log.ts';
import { errorText } from '../../../../server/lib/shared/reason.ts';
import { storageConformance } from '../../../conformance/storage.ts';
import { codeOf } from '../../../conformance/storage-world.ts';
import { openBlocksFixture, openFileBlocks } from '../../../support/drivers/storage-blocks.ts';
import { unmountBelow } from '../../../support/hosts/mounts.ts';
import { busyboxMissing } from '../../../support/images/busybox-rootfs.ts';

const why =
  busyboxMissing() ??
  (process.getuid?.() === 0 ? undefined : 'root is needed to mount') ??
  (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (why !== undefined) console.log(`skipped: file systems on block devices: ${why}`);

if (why === undefined) {
  storageConformance('blocks, ext4', () => openBlocksFixture({ 'volume.size': '48MiB' }));
}

const never = new AbortController().signal;
const custom = (name: string): VolumeRef => ({ type: 'custom', name });
const mebi = 1_048_576;

describe.skipIf(why !== undefined)('volumes with file systems of their own', () => {
  let fixture: Awaited<ReturnType<typeof openBlocksFixture>>;
  beforeAll(async () => {
    fixture = await openBlocksFixture({ 'volume.size': '48MiB' });
  });
  afterAll(() => fixture.close());

  async function madePool(config: Readonly<Record<string, string>> = {}): Promise<PoolSpec> {
    const pool = fixture.newPool();
    const filled = { ...pool, config: { ...pool.config, ...config } };
    await fixture.storage.createPool(filled, never);
    return filled;
  }
  const make = (pool: PoolSpec, volume: VolumeRef, from?: VolumeRef): Promise<void> =>
    fixture.storage.createVolume(
      pool,
      volume,
      from === undefined ? { kind: 'empty' } : { kind: 'copy', from },
      () => {},
      never,
    );
  const fileOf = (pool: PoolSpec, volume: VolumeRef): string => join(fixture.storage.volumePath(pool, volume), 'file');
  const mountOf = (path: string): string =>
    execFileSync('findmnt', ['-rno', 'FSTYPE,OPTIONS', path], { encoding: 'utf8' }).trim();

  test.each(['xfs', 'btrfs'])(
    'a volume of %s is made, copied, kept in snapshots and made larger',
    async (fileSystem) => {
      const pool = await madePool({ 'volume.block.filesystem': fileSystem, 'volume.size': '320MiB' });
      await make(pool, custom('v'));
      await writeFile(fileOf(pool, custom('v')), 'one');
      await fixture.storage.createSnapshot(pool, { volume: custom('v'), snapshot: 's' }, { kind: 'now' }, never);
      await make(pool, custom('copy'), custom('v'));
      await writeFile(fileOf(pool, custom('v')), 'two');
      expect(await readFile(fileOf(pool, custom('copy')), 'utf8')).toBe('one');
      expect(mountOf(fixture.storage.volumePath(pool, custom('copy')))).toContain(fileSystem);
      const path = fixture.storage.snapshotPath(pool, { volume: custom('v'), snapshot: 's' });
      const kept = await fixture.storage.withFiles?.(path, () => readFile(join(path, 'file'), 'utf8'));
      expect(kept).toBe('one');
      await fixture.storage.limitVolume(pool, custom('copy'), 480 * mebi);
      expect((await statfs(fixture.storage.volumePath(pool, custom('copy')))).blocks * 4096).toBeGreaterThan(
        340 * mebi,
      );
      const smaller = fixture.storage.limitVolume(pool, custom('copy'), 330 * mebi);
      expect(await codeOf(smaller)).toBe(fileSystem === 'xfs' ? 'Invalid' : 'none');
      expect(await codeOf(fixture.storage.limitVolume(pool, custom('copy'), 160 * mebi))).toBe('Invalid');
      await fixture.storage.restoreSnapshot(pool, { volume: custom('v'), snapshot: 's' }, never);
      expect(await readFile(fileOf(pool, custom('v')), 'utf8')).toBe('one');
    },
  );

  test('a volume gets the size and file system that are asked for it, and one that is too small is refused', async () => {
    const pool = await madePool();
    await make(pool, { ...custom('v'), shape: { bytes: 320 * mebi, fileSystem: 'xfs' } });
    expect(mountOf(fixture.storage.volumePath(pool, custom('v')))).toMatch(/^xfs .*nouuid/);
    expect((await fixture.storage.limitsIn?.(pool))?.(custom('v'))).toBe(320 * mebi);
    const small = make(pool, { ...custom('small'), shape: { bytes: 8 * mebi, fileSystem: 'xfs' } });
    expect(await codeOf(small)).toBe('Invalid');
    expect(await fixture.storage.listVolumes(pool)).toEqual([custom('v')]);
  });

  test('a copy of another file system, or smaller than xfs can be made, is a copy of the files', async () => {
    const pool = await madePool();
    await make(pool, { ...custom('v'), shape: { bytes: 400 * mebi, fileSystem: 'xfs' } });
    await writeFile(fileOf(pool, custom('v')), 'one');
    for (const shape of [{ bytes: 320 * mebi }, { fileSystem: 'ext4', bytes: 32 * mebi }]) {
      await make(pool, { ...custom('copy'), shape }, custom('v'));
      expect(await readFile(fileOf(pool, custom('copy')), 'utf8')).toBe('one');
      expect((await fixture.storage.limitsIn?.(pool))?.(custom('copy'))).toBe(shape.bytes);
      await fixture.storage.deleteVolume(pool, custom('copy'));
    }
  });

  test('a copy smaller than the tables of a large ext4 gets a file system of its own, unless its files do not fit', async () => {
    const pool = await madePool();
    await make(pool, { ...custom('large'), shape: { bytes: 10_000_000_000 } });
    await writeFile(fileOf(pool, custom('large')), Buffer.alloc(8 * mebi, 'a'));
    await make(pool, { ...custom('small'), shape: { bytes: 32 * mebi } }, custom('large'));
    expect((await readFile(fileOf(pool, custom('small')))).equals(Buffer.alloc(8 * mebi, 'a'))).toBe(true);
    expect((await fixture.storage.limitsIn?.(pool))?.(custom('small'))).toBe(32 * mebi);
    await writeFile(fileOf(pool, custom('large')), Buffer.alloc(40 * mebi, 'a'));
    await expect(make(pool, { ...custom('full'), shape: { bytes: 32 * mebi } }, custom('large'))).rejects.toMatchObject(
      { code: 'Invalid', message: expect.stringContaining('need more than') },
    );
    expect((await fixture.storage.listVolumes(pool)).map(({ name }) => name).toSorted()).toEqual(['large', 'small']);
  });

  test('ext4 is made smaller while nobody uses it, stays as it is where its files do not fit, and says who is in the way', async () => {
    const pool = await madePool({ 'volume.size': '128MiB' });
    await make(pool, custom('v'));
    await writeFile(fileOf(pool, custom('v')), Buffer.alloc(20 * mebi));
    const limit = (bytes: number): Promise<void> => fixture.storage.limitVolume(pool, custom('v'), bytes);
    await expect(limit(16 * mebi)).rejects.toMatchObject({ code: 'Invalid' });
    const open_ = await open(fileOf(pool, custom('v')), 'r');
    expect(await codeOf(limit(96 * mebi))).toBe('InUse');
    await open_.close();
    await limit(96 * mebi);
    expect((await fixture.storage.limitsIn?.(pool))?.(custom('v'))).toBe(96 * mebi);
    expect((await stat(fileOf(pool, custom('v')))).size).toBe(20 * mebi);
  });

  test('a change of size waits until a program that has the device of ext4 open for itself has closed it', async () => {
    const pool = await madePool({ 'volume.size': '128MiB' });
    await make(pool, custom('v'));
    const device = await fixture.store.open(pool, 'custom/v');
    fixture.store.broken = (step) => {
      if (step !== 'begin') return;
      const opened = openSync(device, constants.O_RDONLY | constants.O_EXCL);
      setTimeout(() => closeSync(opened), 1500);
    };
    await fixture.storage.limitVolume(pool, custom('v'), 96 * mebi);
    fixture.store.broken = () => {};
    expect((await fixture.storage.limitsIn?.(pool))?.(custom('v'))).toBe(96 * mebi);
  });

  test('a snapshot that does not fit the size of the volume is not restored, one that fits gets that size', async () => {
    const pool = await madePool({ 'volume.size': '128MiB' });
    await make(pool, custom('v'));
    const write = (size: number): Promise<void> => writeFile(fileOf(pool, custom('v')), Buffer.alloc(size * mebi, 'a'));
    for (const [snapshot, size] of [
      ['big', 70],
      ['small', 10],
    ] as const) {
      await write(size);
      await fixture.storage.createSnapshot(pool, { volume: custom('v'), snapshot }, { kind: 'now' }, never);
    }
    await write(1);
    await fixture.storage.limitVolume(pool, custom('v'), 64 * mebi);
    const restore = (snapshot: string): Promise<void> =>
      fixture.storage.restoreSnapshot(
        pool,
        { volume: { ...custom('v'), shape: { bytes: 64 * mebi } }, snapshot },
        never,
      );
    const now = async (): Promise<readonly (number | undefined)[]> => [
      (await stat(fileOf(pool, custom('v')))).size / mebi,
      (await fixture.storage.limitsIn?.(pool))?.(custom('v')),
    ];
    expect(await codeOf(restore('big'))).toBe('Invalid');
    expect(await now()).toEqual([1, 64 * mebi]);
    await restore('small');
    expect(await now()).toEqual([10, 64 * mebi]);
  });

  test('a snapshot of files from elsewhere gets the size that it needs, also if the volume is smaller by now', async () => {
    const [from, to] = [await madePool({ 'volume.size': '128MiB' }), await madePool()];
    const storage = fixture.storage;
    for (const pool of [from, to]) await make(pool, custom('v'));
    await writeFile(fileOf(from, custom('v')), Buffer.alloc(70 * mebi, 'a'));
    const large = { volume: custom('v'), snapshot: 'large' };
    await storage.createSnapshot(from, large, { kind: 'now' }, never);
    const path = storage.snapshotPath(from, large);
    const volume = { ...custom('v'), shape: { minBytes: 128 * mebi } };
    const copied = (ref: VolumeRef, snapshot: string): Promise<void> =>
      storage.withFiles!(path, () =>
        storage.createSnapshot(to, { volume: ref, snapshot }, { kind: 'tree', path }, never),
      );
    expect(await codeOf(copied(custom('v'), 'copied'))).toBe('NoSpace');
    await copied(volume, 'copied');
    const imported = { volume, snapshot: 'imported' };
    await storage.exportVolume(
      from,
      large,
      { kind: 'tar' },
      (bytes) => storage.importVolume(to, imported, bytes, { kind: 'tar' }, never),
      never,
    );
    await storage.deriveVolume(
      to,
      { volume: custom('v') },
      { volume, snapshot: 'derived' },
      (tree) => writeFile(join(tree.path, 'file'), Buffer.alloc(70 * mebi, 'b')),
      never,
    );
    expect(await storage.listSnapshots(to, custom('v'))).toEqual(['copied', 'derived', 'imported']);
    expect((await storage.limitsIn?.(to))?.(custom('v'))).toBe(48 * mebi);
  });

  test('a copy that cannot be made reports why, also if its unfinished volume cannot be removed', async () => {
    const pool = await madePool({ 'volume.block.filesystem': 'btrfs', 'volume.size': '320MiB' });
    await make(pool, custom('v'));
    fixture.store.broken = (step) => {
      if (step === 'clone') throw new Error('no room');
      if (step === 'remove') throw new Error('no answer');
    };
    await expect(make(pool, custom('copy'), custom('v'))).rejects.toMatchObject({
      cause: expect.objectContaining({ message: 'no room' }) as unknown,
    });
    fixture.store.broken = () => {};
  });

  test('new mount options of the pool hold for volumes in use, and after the next mount', async () => {
    const pool = await madePool();
    await make(pool, custom('v'));
    const changed = { ...pool, config: { ...pool.config, 'volume.block.mount_options': 'noatime' } };
    await fixture.storage.applyConfig(changed, pool);
    expect(mountOf(fixture.storage.volumePath(changed, custom('v')))).toContain('noatime');
    unmountBelow(fixture.base);
    await fixture.storage.mountPool(changed);
    expect(mountOf(fixture.storage.volumePath(changed, custom('v')))).toContain('noatime');
  });

  test('a volume whose last writes find no room is deleted all the same', async () => {
    const pool = await madePool();
    await make(pool, custom('v'));
    await fixture.storage.deleteVolume(pool, custom('v'));
    const place = join(fixture.base, 'files', pool.name);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'none', place]);
    await make(pool, custom('v'));
    const ballast = join(place, 'ballast');
    await writeFile(fileOf(pool, custom('v')), Buffer.alloc(16 * mebi, 1));
    execFileSync('sh', ['-c', 'dd if=/dev/zero of="$1" bs=64k status=none || true', 'sh', ballast], {
      stdio: 'ignore',
    });
    // The names that the store keeps are in the same place here, which they are in no real store.
    fixture.store.broken = (step) => {
      if (step === 'rename') execFileSync('truncate', ['--size=-1M', ballast]);
    };
    await fixture.storage.deleteVolume(pool, custom('v'));
    fixture.store.broken = () => {};
    expect(await fixture.storage.hasVolume(pool, custom('v'))).toBe(false);
    await fixture.storage.deletePool(pool);
    execFileSync('umount', ['--lazy', place]);
  });

  test('a volume whose file system is damaged is left alone, and the others are mounted', async () => {
    const pool = await madePool();
    for (const name of ['bad', 'good']) await make(pool, custom(name));
    await writeFile(fileOf(pool, custom('good')), 'x');
    unmountBelow(fixture.base);
    execFileSync('wipefs', ['--all', '--force', '--quiet', await fixture.store.open(pool, 'custom/bad')]);
    await fixture.storage.mountPool(pool);
    expect(await readFile(fileOf(pool, custom('good')), 'utf8')).toBe('x');
    expect(await fixture.storage.listVolumes(pool)).toHaveLength(2);
  });

  describe('a daemon that dies before any step of a change', () => {
    const snapshot = { volume: custom('v'), snapshot: 's' };
    const changes: Readonly<Record<string, (storage: StorageDriver, pool: PoolSpec) => Promise<void>>> = {
      create: (storage, pool) => storage.createVolume(pool, custom('new'), { kind: 'empty' }, () => {}, never),
      'copy with another size': (storage, pool) =>
        storage.createVolume(
          pool,
          { ...custom('new'), shape: { bytes: 64 * mebi } },
          { kind: 'copy', from: custom('v') },
          () => {},
          never,
        ),
      snapshot: (storage, pool) =>
        storage.createSnapshot(pool, { volume: custom('v'), snapshot: 't' }, { kind: 'now' }, never),
      restore: (storage, pool) => storage.restoreSnapshot(pool, snapshot, never),
      rename: (storage, pool) => storage.renameVolume(pool, custom('v'), 'new'),
      delete: (storage, pool) => storage.deleteVolume(pool, custom('v')),
      enlarge: (storage, pool) => storage.limitVolume(pool, custom('v'), 64 * mebi),
      shrink: (storage, pool) => storage.limitVolume(pool, custom('v'), 44 * mebi),
    };

    test.each(Object.keys(changes))(
      '%s: leaves whole volumes only, and the same change works afterwards',
      async (name) => {
        const change = changes[name] ?? (() => Promise.reject(new Error(name)));
        for (let step = 0, isDone = false; !isDone; step += 1) {
          const pool = await madePool();
          await make(pool, custom('v'));
          await writeFile(fileOf(pool, custom('v')), 'kept');
          await fixture.storage.createSnapshot(pool, snapshot, { kind: 'now' }, never);
          const dying = openFileBlocks(fixture.base, fixture.store, () => Promise.reject(new Error('no image')));
          dying.volumePath(pool, custom('v'));
          let left = step;
          fixture.store.broken = () => {
            left -= 1;
            if (left < 0) throw new Error('killed');
          };
          isDone = await change(dying, pool).then(
            () => true,
            () => false,
          );
          fixture.store.broken = () => {};
          if (isDone && left >= 0) break;
          unmountBelow(fixture.base);
          const noImage = (): Promise<never> => Promise.reject(new Error('no image'));
          const problems: unknown[] = [];
          const warn: Log['warn'] = (...said) => void problems.push(said);
          const next = openFileBlocks(fixture.base, fixture.store, noImage, { ...silentLog, warn });
          await next.mountPool(pool);
          expect(problems).toEqual([]);
          for (const volume of await next.listVolumes(pool)) {
            expect(await readFile(fileOf(pool, volume), 'utf8').catch(() => 'kept')).toBe('kept');
            expect(
              (await fixture.store.list(pool)).filter(({ id, isResizing }) => isResizing || /^(tmp|replaced)/.test(id)),
            ).toEqual([]);
          }
          await change(next, pool).catch((error: unknown) => {
            const code = expect.stringMatching(/Exists|NotFound/) as unknown;
            expect(error, errorText(error)).toMatchObject({ code });
          });
          unmountBelow(fixture.base);
        }
      },
    );
  });
});
