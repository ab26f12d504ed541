// The suite of all storage drivers; a driver's own tests add only its specialities.
import { randomBytes } from 'node:crypto';
import { appendFile, lstat, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { ChangingTree, PoolSpec, TreeRef } from '../../server/drivers/storage/driver.ts';
import { until } from '../support/until.ts';
import { refreshTests } from './storage-refresh.ts';
import { snapshotTests } from './storage-snapshots.ts';
import { streamTests } from './storage-streams.ts';
import { volumeTests } from './storage-volumes.ts';
import { codeOf, container, never, storageWorld, type StorageFixture, type StorageWorld } from './storage-world.ts';

export function storageConformance(name: string, open: () => Promise<StorageFixture>): void {
  describe(`storage driver ${name}`, () => {
    const world = storageWorld(open);
    volumeTests(world);
    snapshotTests(world);
    streamTests(world);
    refreshTests(world);
    otherTests(world);
  });
}

function otherTests(world: StorageWorld): void {
  const { make, fromImage, freshPool, madePool, filesAt, namesOf } = world;

  describe('derived trees', () => {
    const pathOf = (pool: PoolSpec, snapshot?: string): string => {
      const volume = container('c');
      return snapshot === undefined
        ? world.storage.volumePath(pool, volume)
        : world.storage.snapshotPath(pool, { volume, snapshot });
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
      await world.storage.createSnapshot(pool, { volume: container('c'), snapshot: 's1' }, { kind: 'now' }, never);
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
      await world.storage.deriveVolume(pool, tree('s1'), tree('s2'), rewrite('two'), never);
      await world.storage.deriveVolume(pool, tree(), tree(), rewrite('three'), never);
      expect(await Promise.all([read(pool), read(pool, 's1'), read(pool, 's2')])).toEqual(['three', 'one', 'two']);
      await world.storage.deriveVolume(pool, tree('s2'), tree(), async () => {}, never);
      await writeFile(file(pool), 'in place', { flag: 'r+' });
      expect(await read(pool, 's2')).toBe('two');
      expect((await lstat(world.storage.volumePath(pool, container('c')))).mode & 0o077).toBe(0);
      await world.storage.restoreSnapshot(pool, { volume: container('c'), snapshot: 's2' }, never);
      await world.storage.mountPool(pool);
      expect(await world.storage.listSnapshots(pool, container('c'))).toEqual(['s1', 's2']);
    });

    test('a change that fails, or is aborted, changes nothing', async () => {
      const pool = await before();
      const broken = async (given: ChangingTree): Promise<void> => {
        await rewrite('half')(given);
        throw new Error('the other side went away');
      };
      for (const to of [tree(), tree('s2')])
        await expect(world.storage.deriveVolume(pool, tree(), to, broken, never)).rejects.toThrow(/cannot make/);
      const reason = new Error('enough');
      await expect(world.storage.deriveVolume(pool, tree(), tree(), broken, AbortSignal.abort(reason))).rejects.toBe(
        reason,
      );
      expect(await codeOf(world.storage.deriveVolume(pool, tree(), tree('s1'), broken, never))).toBe('Exists');
      expect(await codeOf(world.storage.deriveVolume(pool, tree('none'), tree('s2'), broken, never))).toBe('NotFound');
      expect(await readFile(file(pool), 'utf8')).toBe('one');
      expect(await world.storage.listSnapshots(pool, container('c'))).toEqual(['s1']);
    });

    test('a stream replaces a volume atomically', async () => {
      const pool = await before();
      const chunks: Buffer[] = [];
      const keep = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
        for await (const chunk of bytes) chunks.push(Buffer.from(chunk));
      };
      await world.storage.exportVolume(pool, tree('s1'), { kind: 'tar' }, keep, never);
      await rewrite('later')({ path: world.storage.volumePath(pool, container('c')), unpack: async () => {} });
      const form = { kind: 'tar', replace: true } as const;
      const cut = [Buffer.concat(chunks).subarray(0, 2000)];
      const put = (pieces: readonly Buffer[]): Promise<void> =>
        world.storage.importVolume(pool, tree(), Readable.from(pieces), form, never);
      expect(await codeOf(put(cut))).toBe('Failed');
      expect(await readFile(file(pool), 'utf8')).toBe('later');
      await put(chunks);
      expect(await readFile(file(pool), 'utf8')).toBe('one');
    });

    test('only drivers with native streams identify snapshots', async () => {
      const pool = await before();
      const id = await world.storage.streamId(pool, { volume: container('c'), snapshot: 's1' });
      expect(id !== undefined).toBe(world.storage.capabilities.nativeStreams !== undefined);
      expect(await world.storage.streamId(pool, { volume: container('c'), snapshot: 'none' })).toBeUndefined();
    });
  });

  describe('limits', () => {
    /** Incompressible bytes. */
    const mebibytes = (count: number): Buffer => randomBytes(count * 1_048_576);

    test('a limit applies at once, can be raised and lifted, and a driver without limits says so', async () => {
      const pool = await madePool();
      await make(pool, container('c'), { kind: 'empty' });
      const limit = (bytes: number | undefined): Promise<void> =>
        world.storage.limitVolume(pool, container('c'), bytes);
      if (!(world.storage.canLimit?.(pool) ?? world.storage.capabilities.quotas)) {
        expect(await codeOf(limit(1))).toBe('NotSupported');
        await limit(undefined);
        return;
      }
      const file = join(world.storage.volumePath(pool, container('c')), 'rootfs', 'big');
      const bytes = (await world.storage.limitsIn?.(pool))?.(container('c'));
      // A block volume has a size from the start and cannot shrink.
      if (bytes !== undefined) {
        await expect(writeFile(file, Buffer.alloc(bytes))).rejects.toMatchObject({ code: 'ENOSPC' });
        await limit(2 * bytes);
        await writeFile(file, Buffer.alloc(bytes));
        await limit(undefined);
        expect((await world.storage.limitsIn?.(pool))?.(container('c'))).toBe(2 * bytes);
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
      if (world.fixture.limitsLate === true) await until(async () => (refused ??= await more()) !== undefined);
      expect(['ENOSPC', -122]).toContain(refused?.code === 'ENOSPC' ? refused.code : refused?.errno);
      await limit(24 * 1_048_576);
      const write = (): Promise<void> => writeFile(file, mebibytes(12));
      // What was cut off counts for seconds.
      if (world.fixture.limitsLate === true)
        await until(() =>
          write().then(
            () => true,
            () => false,
          ),
        );
      else await write();
      const less = world.storage.limitVolume(pool, container('c'), 4 * 1_048_576, { mustHold: true });
      expect(await codeOf(less)).toBe('Invalid');
      expect((await world.storage.limitsIn?.(pool))?.(container('c'))).toBe(24 * 1_048_576);
      await limit(4 * 1_048_576);
      await limit(undefined);
      expect((await world.storage.limitsIn?.(pool))?.(container('c'))).toBeUndefined();
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
      const { imageFile } = world.fixture;
      for (const delayMs of [0, 2, 8, 32]) {
        const stop = new AbortController();
        const timer = setTimeout(() => stop.abort(new Error('enough')), delayMs);
        await make(pool, container('c'), fromImage(), stop.signal).catch((error: unknown) => {
          if (!stop.signal.aborted) throw error;
        });
        clearTimeout(timer);
        if (await world.storage.hasVolume(pool, container('c'))) {
          const path = join(world.storage.volumePath(pool, container('c')), 'rootfs', imageFile.path);
          expect(await readFile(path, 'utf8')).toBe(imageFile.content);
          await world.storage.deleteVolume(pool, container('c'));
        }
      }
      await make(pool, container('c'), fromImage());
    });
  });
}
