// Streams of volumes between storage drivers.
import { spawnSync } from 'node:child_process';
import { link, lstat, mkdir, readdir, readFile, readlink, rmdir, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ChangingTree, ExportForm, ImportForm, PoolSpec, TreeRef } from '../../server/drivers/storage/driver.ts';
import { codeOf, container, custom, never, type StorageWorld } from './storage-world.ts';

export function streamTests(world: StorageWorld): void {
  const { make, madePool, namesOf } = world;

  describe('streams', () => {
    const chunksOf = async (pool: PoolSpec, from: TreeRef, form: ExportForm): Promise<readonly Buffer[]> => {
      const chunks: Buffer[] = [];
      const keep = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
        for await (const chunk of bytes) chunks.push(Buffer.from(chunk));
      };
      await world.storage.exportVolume(pool, from, form, keep, never);
      return chunks;
    };
    async function* streamOf(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
      yield* chunks;
    }
    const put = (pool: PoolSpec, to: TreeRef, chunks: readonly Buffer[], form: ImportForm): Promise<void> =>
      world.storage.importVolume(pool, to, streamOf(chunks), form, never);
    const rootOf = (pool: PoolSpec, name: string): string =>
      join(world.storage.volumePath(pool, container(name)), 'rootfs');
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
      if (world.fixture.hidesHoles !== true) expect(holes?.blocks).toBeLessThan(1024);
    };

    test('a volume exported as tar is imported completely, closed to others', async () => {
      const [from, to] = [await filled(), await madePool()];
      await put(to, { volume: container('new') }, await chunksOf(from, { volume: container('c') }, { kind: 'tar' }), {
        kind: 'tar',
      });
      await expectFilled(rootOf(to, 'new'));
      expect((await lstat(world.storage.volumePath(to, container('new')))).mode & 0o077).toBe(0);
      expect(await namesOf(to)).toEqual(['container/new']);
      await world.storage.mountPool(from);
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
      await world.storage.createSnapshot(from, { volume: container('c'), snapshot: 's' }, { kind: 'now' }, never);
      await writeFile(join(rootOf(from, 'c'), 'file'), 'two');
      const chunks = await chunksOf(from, { volume: container('c'), snapshot: 's' }, { kind: 'tar' });
      await put(to, { volume: container('c'), snapshot: 's' }, chunks, { kind: 'tar' });
      await make(to, container('c'), { kind: 'empty' });
      await world.storage.restoreSnapshot(to, { volume: container('c'), snapshot: 's' }, never);
      await expectFilled(rootOf(to, 'c'));
      expect(await readFile(join(rootOf(to, 'c'), 'file'), 'utf8')).toBe('one');
      expect(await world.storage.listSnapshots(to, container('c'))).toEqual(['s']);
    });

    test('native streams carry a volume on top of its snapshots; without them they are NotSupported', async () => {
      const [from, to] = [await filled(), await madePool()];
      const [one, two] = ['one', 'two'].map((snapshot) => ({ volume: container('c'), snapshot }));
      if (one === undefined || two === undefined) throw new Error('no snapshots');
      const whole: ExportForm = { kind: 'native' };
      if (world.storage.capabilities.nativeStreams === undefined) {
        expect(await codeOf(chunksOf(from, { volume: container('c') }, whole))).toBe('NotSupported');
        expect(await codeOf(put(to, { volume: container('c') }, [], { kind: 'native' }))).toBe('NotSupported');
        return;
      }
      await world.storage.createSnapshot(from, one, { kind: 'now' }, never);
      await writeFile(join(rootOf(from, 'c'), 'big'), Buffer.alloc(2 * 1_048_576, 7));
      await world.storage.createSnapshot(from, two, { kind: 'now' }, never);
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
      await world.storage.restoreSnapshot(to, one, never);
      expect((await readdir(rootOf(to, 'c'))).includes('big')).toBe(false);
      expect(await codeOf(chunksOf(from, two, { ...whole, parent: 'none' }))).toBe('NotFound');
    });

    test('damaged, truncated or broken streams make nothing, and a broken one throws its own error', async () => {
      const [from, to] = [await filled(), await madePool()];
      const native = world.storage.capabilities.nativeStreams === undefined ? [] : (['native'] as const);
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
        const work = world.storage.importVolume(to, { volume: container('c') }, broken(), { kind }, never);
        await expect(work).rejects.toBe(reason);
        expect(await namesOf(to)).toEqual([]);
        const reader = world.storage.exportVolume(
          from,
          { volume: container('c') },
          { kind },
          () => Promise.reject(reason),
          never,
        );
        await expect(reader).rejects.toBe(reason);
      }
    });

    test('a container whose root file system is no directory is Invalid, as a volume and as a snapshot', async () => {
      const leadOut = async ({ path }: Pick<ChangingTree, 'path'>): Promise<void> => {
        await rmdir(join(path, 'rootfs'));
        await symlink('/etc', join(path, 'rootfs'));
      };
      const pool = await madePool();
      for (const name of ['v', 'w']) await make(pool, custom(name), { kind: 'empty' });
      await symlink('/etc', join(world.storage.volumePath(pool, custom('w')), 'rootfs'));
      for (const name of ['v', 'w']) {
        const chunks = await chunksOf(pool, { volume: custom(name) }, { kind: 'tar' });
        const to = { volume: container('c') };
        for (const ref of [to, { ...to, snapshot: 's' }])
          expect(await codeOf(put(pool, ref, chunks, { kind: 'tar' }))).toBe('Invalid');
        await put(pool, { volume: custom('copy') }, chunks, { kind: 'tar' });
        await world.storage.deleteVolume(pool, custom('copy'));
      }
      if (world.storage.capabilities.nativeStreams !== undefined) {
        await make(pool, container('n'), { kind: 'empty' });
        await leadOut({ path: world.storage.volumePath(pool, container('n')) });
        const chunks = await chunksOf(pool, { volume: container('n') }, { kind: 'native' });
        for (const more of [{}, { snapshot: 's' }])
          expect(await codeOf(put(pool, { volume: container('c'), ...more }, chunks, { kind: 'native' }))).toBe(
            'Invalid',
          );
        await world.storage.deleteVolume(pool, container('n'));
      }
      await make(pool, container('d'), { kind: 'empty' });
      for (const more of [{}, { snapshot: 's' }]) {
        const derived = world.storage.deriveVolume(
          pool,
          { volume: container('d') },
          { volume: container('d'), ...more },
          leadOut,
          never,
        );
        expect(await codeOf(derived)).toBe('Invalid');
      }
      expect(await readdir(rootOf(pool, 'd'))).toEqual([]);
      expect(await world.storage.listSnapshots(pool, container('d'))).toEqual([]);
      expect(await namesOf(pool)).toEqual(['container/d', 'custom/v', 'custom/w']);
    });

    test('an existing volume is Exists, a missing one NotFound, and an abort throws its reason', async () => {
      const pool = await filled();
      const chunks = await chunksOf(pool, { volume: container('c') }, { kind: 'tar' });
      expect(await codeOf(put(pool, { volume: container('c') }, chunks, { kind: 'tar' }))).toBe('Exists');
      expect(await codeOf(chunksOf(pool, { volume: container('x') }, { kind: 'tar' }))).toBe('NotFound');
      expect(await codeOf(chunksOf(pool, { volume: container('c'), snapshot: 'x' }, { kind: 'tar' }))).toBe('NotFound');
      const reason = new Error('enough');
      const stop = new AbortController();
      async function* endless(): AsyncGenerator<Buffer> {
        yield* chunks;
        stop.abort(reason);
        await new Promise(() => {});
      }
      const form: ImportForm = { kind: 'tar' };
      await expect(
        world.storage.importVolume(pool, { volume: container('d') }, endless(), form, AbortSignal.abort(reason)),
      ).rejects.toBe(reason);
      const stalled = world.storage.exportVolume(
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
}
