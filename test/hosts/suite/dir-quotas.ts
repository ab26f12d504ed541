// Dir pools on a real file system with project quotas: refused writes, and the quotas after copies, restores and removals.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDirStorage } from '../../../server/drivers/storage/dir.ts';
import type { PoolSpec, StorageDriver, VolumeRef } from '../../../server/drivers/storage/driver.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { codeOf } from '../../conformance/storage-world.ts';
import { mountQuotas, removeQuotas, type QuotaFileSystem } from '../../support/drivers/storage-quotas.ts';

const never = new AbortController().signal;
const mebibyte = 1_048_576;
const custom = (name: string): VolumeRef => ({ type: 'custom', name });
const pool: PoolSpec = { name: 'p', driver: 'dir', config: {} };

export function dirQuotas(fileSystem: QuotaFileSystem): void {
  describe(`dir quotas, ${fileSystem}`, () => {
    let base = '';
    let storage: StorageDriver;
    const open = (): StorageDriver =>
      openDirStorage({
        root: join(base, 'place', 'storage-pools'),
        ownership: 'keep',
        log: silentLog,
        unpackImage: () => Promise.reject(new Error('no image')),
      });
    beforeAll(async () => {
      base = await mountQuotas(fileSystem);
      await mkdir(join(base, 'place', 'storage-pools'));
      storage = open();
      await storage.createPool(pool, never);
    });
    afterAll(() => removeQuotas(base));
    const make = (name: string, from?: string): Promise<void> =>
      storage.createVolume(
        pool,
        custom(name),
        from === undefined ? { kind: 'empty' } : { kind: 'copy', from: custom(from) },
        () => {},
        never,
      );
    const pathOf = (name: string): string => storage.volumePath(pool, custom(name));
    const fill = (name: string, mebibytes: number, file = 'file'): Promise<void> =>
      writeFile(join(pathOf(name), file), Buffer.alloc(mebibytes * mebibyte, 1));
    const isRefused = async (write: Promise<void>): Promise<boolean> =>
      write.then(
        () => false,
        ({ code, errno }: NodeJS.ErrnoException) => code === 'ENOSPC' || errno === -122,
      );
    const usedBy = async (name: string): Promise<number> => (await storage.usedBytes?.(pool, custom(name))) ?? -1;
    const limits = async () => (await storage.limitsIn?.(pool)) ?? (() => undefined);

    test('the pool can limit, and says so again when it is mounted by the next daemon', async () => {
      expect(storage.canLimit?.(pool)).toBe(true);
      const next = open();
      await next.mountPool(pool);
      expect(next.canLimit?.(pool)).toBe(true);
    });

    test('a limit holds for one volume, not for its copy, its snapshots or its neighbour, and df shows it inside', async () => {
      await make('a');
      await fill('a', 4);
      await storage.limitVolume(pool, custom('a'), 8 * mebibyte);
      expect(await isRefused(fill('a', 6, 'more'))).toBe(true);
      expect(await usedBy('a')).toBeGreaterThan(4 * mebibyte - 1);
      const size = execFileSync('df', ['--output=size', '-B1', pathOf('a')], { encoding: 'utf8' });
      expect(Number(size.split('\n')[1])).toBe(8 * mebibyte);
      execFileSync('rm', ['-f', join(pathOf('a'), 'more')]);
      await storage.createSnapshot(pool, { volume: custom('a'), snapshot: 's' }, { kind: 'now' }, never);
      await make('b', 'a');
      await fill('b', 12);
      expect((await limits())(custom('b'))).toBeUndefined();
    });

    test('a restore has no limit until it is set again, and the old content does not count', async () => {
      await storage.restoreSnapshot(pool, { volume: custom('a'), snapshot: 's' }, never);
      expect((await limits())(custom('a'))).toBeUndefined();
      await storage.limitVolume(pool, custom('a'), 8 * mebibyte);
      expect(await isRefused(fill('a', 12, 'more'))).toBe(true);
      execFileSync('rm', ['-f', join(pathOf('a'), 'more')]);
      const used = await usedBy('a');
      expect([used >= 4 * mebibyte, used < 6 * mebibyte]).toEqual([true, true]);
    });

    test('a refreshed volume shares files with the old one, and has a limit again', async () => {
      const volume = custom('a');
      const change = async ({ path }: { readonly path: string }): Promise<void> => writeFile(join(path, 'new'), 'new');
      await storage.deriveVolume(pool, { volume }, { volume }, change, never);
      await storage.limitVolume(pool, volume, 8 * mebibyte);
      expect([await isRefused(fill('a', 12, 'more')), existsSync(join(pathOf('a'), 'new'))]).toEqual([true, true]);
      execFileSync('rm', ['-f', join(pathOf('a'), 'more')]);
    });

    test('a limit below what a volume holds is refused, and the one that it has stays', async () => {
      expect(await codeOf(storage.limitVolume(pool, custom('a'), mebibyte, { mustHold: true }))).toBe('Invalid');
      expect((await limits())(custom('a'))).toBe(8 * mebibyte);
    });

    test('a volume that is older than the quotas gets a limit, which counts what it holds', async () => {
      await mkdir(join(base, 'place', 'storage-pools', 'p', 'custom', 'old', 'deep'), { recursive: true });
      await fill('old', 4, 'deep/file');
      expect(await usedBy('old')).toBe(-1);
      await storage.limitVolume(pool, custom('old'), 8 * mebibyte);
      expect(await usedBy('old')).toBeGreaterThan(4 * mebibyte - 1);
      expect(await isRefused(fill('old', 6, 'deep/more'))).toBe(true);
    });

    test('a removed volume leaves no limit, and its project to the next one', async () => {
      for (const name of ['a', 'b', 'old']) await storage.deleteVolume(pool, custom(name));
      execFileSync('sync', ['-f', base]);
      await make('next');
      await fill('next', 24);
      expect((await limits())(custom('next'))).toBeUndefined();
      await storage.deleteVolume(pool, custom('next'));
      await storage.deletePool(pool);
    });

    test('a file system that counts and does not enforce cannot limit', async () => {
      const other = await mountQuotas(fileSystem, fileSystem === 'xfs' ? 'pqnoenforce' : 'noquota');
      try {
        const root = join(other, 'place', 'storage-pools');
        await mkdir(root);
        const plain = openDirStorage({
          root,
          ownership: 'keep',
          log: silentLog,
          unpackImage: () => Promise.reject(new Error('no image')),
        });
        await plain.createPool(pool, never);
        expect(plain.canLimit?.(pool)).toBe(false);
        await plain.createVolume(pool, custom('v'), { kind: 'empty' }, () => {}, never);
        expect(await codeOf(plain.limitVolume(pool, custom('v'), mebibyte))).toBe('NotSupported');
      } finally {
        await removeQuotas(other);
      }
    });
  });
}
