// Snapshots of pools that mount them only while somebody reads: their files are there for each reader, and the owners of a container's files
// are read meanwhile.
import { chownSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { PoolSpec, StorageDriver } from '../../../../server/drivers/storage/driver.ts';
import { MountedTrees, type Place } from '../../../../server/drivers/storage/mounted/trees.ts';
import type { TreeKind } from '../../../../server/drivers/storage/trees/kind.ts';
import { directoryNames } from '../../../../server/drivers/storage/trees/names.ts';
import { treeSnapshots } from '../../../../server/drivers/storage/trees/snapshots.ts';
import { openTreeStaging } from '../../../../server/drivers/storage/trees/staging.ts';
import { KeyedMutex } from '../../../../server/lib/keyed-mutex.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { ownersOf } from '../../../../server/services/transfer/migration/owners.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const pool: PoolSpec = { name: 'p', driver: 'zfs', config: {} };

/** Takes its time to unmount, as a slow host does. */
class SlowTrees extends MountedTrees {
  isThere = false;
  override async mount(): Promise<void> {
    await sleep(5);
    this.isThere = true;
  }
  override async unmount(): Promise<void> {
    await sleep(20);
    this.isThere = false;
  }
  protected override async mountUnlessMounted(place: Place): Promise<void> {
    if (!this.isThere) await this.mount();
    expect(place.pool).toBe(pool);
  }
}

test('a reader who comes during an unmount waits for it, and then has the files', async () => {
  const none = async (): Promise<never> => Promise.reject(new Error('not used'));
  const store = { list: none, has: none, rename: none, remove: none };
  const trees = new SlowTrees(store, { root: '/nowhere', log: silentLog });
  const path = join(trees.root(pool), 'containers-snapshots/c/s');
  const seen: boolean[] = [];
  const read = (): Promise<void> =>
    trees.withFiles(path, async () => {
      for (let times = 0; times < 5; times += 1) {
        seen.push(trees.isThere);
        await sleep(6);
      }
    });
  await read();
  const first = read();
  // The first one unmounts after 35 ms.
  await Promise.all([first, sleep(40).then(read), sleep(45).then(read), sleep(50).then(read)]);
  expect(seen.filter((isThere) => !isThere)).toEqual([]);
  expect(trees.isThere).toBe(false);
});

test.skipIf(process.getuid?.() !== 0)(
  'the owners of a snapshot are read while its files are there, where files are shifted on disk',
  async () => {
    const base = tempFolder('gantry-owners-');
    const [path, away] = [join(base, 'snapshot'), join(base, 'away')];
    mkdirSync(join(away, 'rootfs'), { recursive: true });
    chownSync(join(away, 'rootfs'), 100_000, 100_000);
    const driver = {
      snapshotPath: () => path,
      withFiles: async <T>(_path: string, use: () => Promise<T>): Promise<T> => {
        renameSync(away, path);
        return use().finally(() => renameSync(path, away));
      },
    } as unknown as StorageDriver;
    const map = [{ isuid: true, isgid: true, hostid: 100_000, nsid: 0, maprange: 65_536 }];
    const deps = {
      records: {
        containers: new Map([['c', { document: { lifecycle: 'ready', uuid: 'u', config: {} } }]]),
        snapshots: new Map(),
      },
      runtime: { rootfsIdmapped: false, probe: () => ({ status: 'stopped' }) },
      pools: { use: () => ({ driver, pool }) },
      idMaps: { filesOf: () => [map], unfinished: () => ({}) },
    } as unknown as Parameters<typeof ownersOf>[0];
    const ownerOf = await ownersOf(deps, 'p', { volume: { type: 'container', name: 'c' }, snapshot: 's' });
    expect([ownerOf?.('uid', 100_033), ownerOf?.('gid', 100_000)]).toEqual([33, 0]);
  },
);

describe('a failure that is followed by another one while it is undone', () => {
  const failing = (fails: (from: string) => Error | undefined) => {
    const logged: string[] = [];
    const none = async (): Promise<never> => Promise.reject(new Error('not used'));
    const rename = async (_pool: PoolSpec, from: string): Promise<void> => {
      const error = fails(from);
      if (error !== undefined) throw error;
    };
    const log = { ...silentLog, error: (text: string) => void logged.push(text) };
    return { store: { list: none, has: none, rename, remove: none }, log, logged };
  };

  test('a reader of a snapshot gets the error of its own work, and the log that of the unmount', async () => {
    class StuckTrees extends MountedTrees {
      override mount = async (): Promise<void> => {};
      override unmount = async (): Promise<void> => Promise.reject(new Error('target is busy'));
    }
    const { store, log, logged } = failing(() => undefined);
    const trees = new StuckTrees(store, { root: '/nowhere', log });
    const path = join(trees.root(pool), 'containers-snapshots/c/s');
    const read = trees.withFiles(path, async () => Promise.reject(new Error('the peer has gone')));
    await expect(read).rejects.toThrow('the peer has gone');
    expect(logged).toEqual([`Unmounting ${path} failed: target is busy`]);
    await expect(trees.withFiles(path, async () => 1)).rejects.toThrow('target is busy');
  });

  test('a volume that cannot be mounted under its new name reports that, and the log that it has not moved back', async () => {
    class UnmountableTrees extends MountedTrees {
      override mount = async (): Promise<void> => Promise.reject(new Error('bad superblock'));
      override unmount = async (): Promise<void> => {};
    }
    const { store, log, logged } = failing((from) => (from === 'custom/new' ? new Error('no answer') : undefined));
    const trees = new UnmountableTrees(store, { root: '/nowhere', log });
    const root = trees.root(pool);
    await expect(trees.move(join(root, 'custom/old'), join(root, 'custom/new'))).rejects.toThrow('bad superblock');
    expect(logged).toEqual(['Moving custom/new back to custom/old failed: no answer']);
  });

  test('a restored volume that cannot be put in its place reports that, and the log that the old one has not moved back', async () => {
    const logged: string[] = [];
    const log = { ...silentLog, error: (text: string) => void logged.push(text) };
    const move = async (from: string, to: string): Promise<void> => {
      if (from === '/fresh') throw new Error('no room');
      if (to.endsWith('custom/v')) throw new Error('no answer');
    };
    const kind = { names: { ...directoryNames, move, has: async () => false } } as unknown as TreeKind;
    const staging = openTreeStaging(kind, log);
    const { swapIn } = treeSnapshots({ kind, staging, mutex: new KeyedMutex(), log });
    await expect(swapIn('/pool', { type: 'custom', name: 'v' }, '/fresh')).rejects.toThrow('no room');
    expect(logged).toEqual([expect.stringMatching(/^Moving .* back to \/pool\/custom\/v failed: no answer$/)]);
  });
});
