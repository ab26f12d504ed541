// Copies that are brought up to date, of containers and of custom volumes, as the server does it on all storage drivers.
import { lstat, mkdir, readdir, readFile, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { PoolSpec, TreeRef, VolumeRef } from '../../server/drivers/storage/driver.ts';
import {
  applyChanges,
  changedMembers,
  listTree,
  removedNames,
} from '../../server/services/transfer/migration/tree-changes.ts';
import { codeOf, container, custom, never, type StorageWorld } from './storage-world.ts';

export function refreshTests(world: StorageWorld): void {
  const { make, madePool, filesAt, namesOf } = world;

  /** `rest`: what does not depend on the kind of volume. */
  const refreshed = (of: (name: string) => VolumeRef, rest: boolean): void => {
    const [origin, copy] = [of('origin'), of('copy')];
    const pathOf = (pool: PoolSpec, { volume, snapshot }: TreeRef): string =>
      snapshot === undefined
        ? world.storage.volumePath(pool, volume)
        : world.storage.snapshotPath(pool, { volume, snapshot });
    const inTree = (path: string, ...rest: string[]): string =>
      join(path, ...(origin.type === 'container' ? ['rootfs'] : []), ...rest);
    const at = (pool: PoolSpec, volume: VolumeRef, ...rest: string[]): string =>
      inTree(world.storage.volumePath(pool, volume), ...rest);
    const take = (pool: PoolSpec, volume: VolumeRef, snapshot: string): Promise<void> =>
      world.storage.createSnapshot(pool, { volume, snapshot }, { kind: 'now' }, never);
    /** Each file with its content, directories and links by name. */
    const seen = (pool: PoolSpec, tree: TreeRef): Promise<readonly string[]> => {
      const path = pathOf(pool, tree);
      return filesAt(path, async () => {
        const entries = await readdir(inTree(path), { recursive: true, withFileTypes: true });
        const lines = entries
          .filter((one) => one.name !== 'lost+found')
          .map(async (one) => {
            const full = join(one.parentPath, one.name);
            const content = one.isFile() ? await readFile(full, 'latin1') : one.isDirectory() ? 'folder' : 'link';
            return `${full.slice(path.length)} ${content} ${((await lstat(full)).mode & 0o777).toString(8)}`;
          });
        return (await Promise.all(lines)).toSorted();
      });
    };
    /** What differs comes as a stream, as from another pool or server. */
    const refresh = (
      [from, source]: readonly [PoolSpec, TreeRef],
      [pool, base, to]: readonly [PoolSpec, TreeRef, TreeRef],
      damage = (bytes: AsyncIterable<Buffer>): AsyncIterable<Buffer> => bytes,
    ): Promise<void> =>
      listTree(world.storage, pool, base, never).then((listing) =>
        world.storage.deriveVolume(
          pool,
          base,
          to,
          async (tree) => {
            const names = new Set<string>();
            await world.storage.exportVolume(
              from,
              source,
              { kind: 'tar' },
              (archive) =>
                applyChanges(tree, listing, damage(changedMembers(archive, listing, names)), () =>
                  Promise.resolve(removedNames(listing, names)),
                ),
              never,
            );
          },
          never,
        ),
      );

    /** An original with a snapshot, a copy of both, and later changes of the original. */
    const evolved = async (from: PoolSpec, to: PoolSpec): Promise<void> => {
      await make(from, origin, { kind: 'empty' });
      await mkdir(at(from, origin, 'folder'));
      for (const name of ['folder/in', 'stays', 'changes', 'goes']) await writeFile(at(from, origin, name), name);
      await symlink('stays', at(from, origin, 'link'));
      await take(from, origin, 's0');
      const tree = { kind: 'tree', path: world.storage.volumePath(from, origin) } as const;
      await make(to, copy, from === to ? { kind: 'copy', from: origin } : tree);
      await take(to, copy, 's0');
      await writeFile(at(to, copy, 'stray'), 'stray');
      await rm(at(from, origin, 'folder'), { recursive: true });
      await writeFile(at(from, origin, 'folder'), 'a file where a folder was');
      await unlink(at(from, origin, 'goes'));
      await writeFile(at(from, origin, 'changes'), 'changed', { mode: 0o600 });
      await take(from, origin, 's1');
      await mkdir(at(from, origin, 'new'));
      await writeFile(at(from, origin, 'new/big'), randomBytes(2 * 1_048_576).toString('hex'));
    };

    test('what differs is added as a snapshot and as the volume, and the rest stays', async () => {
      const [from, to] = [await madePool(), await madePool()];
      await evolved(from, to);
      const before = await seen(to, { volume: copy, snapshot: 's0' });
      const [s1, now] = [{ volume: copy, snapshot: 's1' }, { volume: copy }];
      await refresh([from, { volume: origin, snapshot: 's1' }], [to, { volume: copy, snapshot: 's0' }, s1]);
      await refresh([from, { volume: origin }], [to, now, now]);
      for (const snapshot of [undefined, 's1']) {
        const more = snapshot === undefined ? {} : { snapshot };
        expect(await seen(to, { volume: copy, ...more })).toEqual(await seen(from, { volume: origin, ...more }));
      }
      expect(await seen(to, { volume: copy, snapshot: 's0' })).toEqual(before);
      // The original goes on alone.
      await writeFile(at(from, origin, 'stays'), 'later');
      expect(await readFile(at(to, copy, 'stays'), 'utf8')).toBe('stays');
      await world.storage.mountPool(to);
      expect(await world.storage.listSnapshots(to, copy)).toEqual(['s0', 's1']);
      expect(await namesOf(to)).toEqual([`${copy.type}/copy`]);
      await world.storage.restoreSnapshot(to, { volume: copy, snapshot: 's0' }, never);
      expect(await seen(to, now)).toEqual(before);
    });

    if (!rest) return;
    test('a stream that breaks off leaves the copy as it was', async () => {
      const [from, to] = [await madePool(), await madePool()];
      await evolved(from, to);
      const before = await seen(to, { volume: copy });
      async function* broken(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
        yield* bytes;
        throw new Error('the other side went away');
      }
      for (const more of [{}, { snapshot: 's1' }]) {
        const made = refresh([from, { volume: origin }], [to, { volume: copy }, { volume: copy, ...more }], broken);
        await expect(made).rejects.toThrow(/the other side went away|cannot make/);
      }
      expect(await seen(to, { volume: copy })).toEqual(before);
      expect(await world.storage.listSnapshots(to, copy)).toEqual(['s0']);
      await world.storage.deleteVolume(to, copy);
      await world.storage.resources(to);
      expect(await namesOf(to)).toEqual([]);
    });

    test('a copy in the same pool is made of the trees of its original, which may then be deleted', async () => {
      const pool = await madePool();
      await evolved(pool, pool);
      const wanted = [await seen(pool, { volume: origin }), await seen(pool, { volume: origin, snapshot: 's1' })];
      const nothing = (): Promise<void> => Promise.resolve();
      const s1 = { volume: copy, snapshot: 's1' };
      await world.storage.deriveVolume(pool, { volume: origin, snapshot: 's1' }, s1, nothing, never);
      await world.storage.deriveVolume(pool, { volume: origin }, { volume: copy }, nothing, never);
      expect(await codeOf(world.storage.deriveVolume(pool, { volume: origin }, s1, nothing, never))).toBe('Exists');
      await world.storage.deleteVolume(pool, origin);
      await world.storage.mountPool(pool);
      expect([await seen(pool, { volume: copy }), await seen(pool, s1)]).toEqual(wanted);
      await world.storage.deleteSnapshot(pool, s1);
      await world.storage.deleteVolume(pool, copy);
      await world.storage.resources(pool);
      expect(await namesOf(pool)).toEqual([]);
    });

    test('native streams bring a copy up to date on top of a snapshot that both have', async () => {
      const { nativeStreams } = world.storage.capabilities;
      const [from, to] = [await madePool(), await madePool()];
      await make(from, origin, { kind: 'empty' });
      await writeFile(at(from, origin, 'stays'), randomBytes(1_048_576));
      await take(from, origin, 's0');
      const pass = async (source: TreeRef, parent: string | undefined, target: TreeRef, replace = false) => {
        const chunks: Buffer[] = [];
        const keep = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
          for await (const chunk of bytes) chunks.push(Buffer.from(chunk));
        };
        const form = { kind: 'native', ...(parent === undefined ? {} : { parent }) } as const;
        await world.storage.exportVolume(from, source, form, keep, never);
        async function* sent(): AsyncGenerator<Buffer> {
          yield* chunks;
        }
        await world.storage.importVolume(to, target, sent(), { kind: 'native', replace }, never);
        return Buffer.concat(chunks).length;
      };
      const s0 = { snapshot: 's0' };
      if (nativeStreams === undefined) {
        expect(await codeOf(pass({ volume: origin, ...s0 }, undefined, { volume: copy, ...s0 }))).toBe('NotSupported');
        return;
      }
      await pass({ volume: origin, ...s0 }, undefined, { volume: copy, ...s0 });
      await pass({ volume: origin }, 's0', { volume: copy });
      const idOf = (pool: PoolSpec, volume: VolumeRef) => world.storage.streamId(pool, { volume, snapshot: 's0' });
      expect(await idOf(to, copy)).toBe(await idOf(from, origin));
      await writeFile(at(to, copy, 'stray'), 'stray');
      await writeFile(at(from, origin, 'changes'), 'changed');
      await take(from, origin, 's1');
      expect(await pass({ volume: origin, snapshot: 's1' }, 's0', { volume: copy, snapshot: 's1' })).toBeLessThan(
        500_000,
      );
      expect(await pass({ volume: origin }, 's1', { volume: copy }, true)).toBeLessThan(500_000);
      expect(await seen(to, { volume: copy })).toEqual(await seen(from, { volume: origin }));
      expect(await world.storage.listSnapshots(to, copy)).toEqual(['s0', 's1']);
      await world.storage.mountPool(to);
      expect(await namesOf(to)).toEqual([`${copy.type}/copy`]);
    });
  };

  describe('refreshed copies of custom volumes', () => refreshed(custom, true));
  describe('refreshed copies of containers', () => refreshed(container, false));
}
