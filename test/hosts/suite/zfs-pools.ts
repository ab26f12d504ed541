// Pools on a real ZFS: which devices and datasets they accept, leftovers of a killed daemon or host, and clones of deleted volumes.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  PoolSpec,
  SnapshotRef,
  StorageDriver,
  TreeRef,
  VolumeRef,
} from '../../../server/drivers/storage/driver.ts';
import { openZfsStorage } from '../../../server/drivers/storage/zfs/zfs.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { codeOf } from '../../conformance/storage-world.ts';
import { unmountBelow } from '../../support/hosts/mounts.ts';

const never = new AbortController().signal;
const volume: VolumeRef = { type: 'custom', name: 'v' };
const snapshot: SnapshotRef = { volume, snapshot: 's' };
const mebi = 1_048_576;
const run = (...argv: readonly [string, ...string[]]): string =>
  execFileSync(argv[0], argv.slice(1), { encoding: 'utf8' }).trim();
const namesIn = (dataset: string): string[] =>
  run('zfs', 'list', '-H', '-o', 'name', '-t', 'all', '-r', dataset).split('\n');

/** What the driver sends of a tree by ZFS, whole or on top of the snapshot `parent`. */
async function streamOf(storage: StorageDriver, pool: PoolSpec, from: TreeRef, parent?: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const keep = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of bytes) chunks.push(chunk);
  };
  const form = { kind: 'native', ...(parent === undefined ? {} : { parent }) } as const;
  await storage.exportVolume(pool, from, form, keep, never);
  return Buffer.concat(chunks);
}

export function zfsPools(): void {
  describe('pools of zfs', () => {
    let base = '';
    let device = '';
    let storage: StorageDriver;
    const opened = (state = 'state'): StorageDriver =>
      openZfsStorage({
        root: join(base, state, 'storage-pools'),
        log: silentLog,
        unpackImage: () => Promise.reject(new Error('no image')),
      });
    beforeAll(async () => {
      base = await mkdtemp(join(tmpdir(), 'gantry-pools-'));
      for (const state of ['state', 'new']) await mkdir(join(base, state, 'storage-pools'), { recursive: true });
      storage = opened();
      run('truncate', '--size=256M', join(base, 'disk'));
      device = run('losetup', '--find', '--show', join(base, 'disk'));
    });
    afterAll(async () => {
      unmountBelow(base);
      run('losetup', '--detach', device);
      await rm(base, { recursive: true, force: true });
    });
    const fill = async (config: Record<string, string>): Promise<PoolSpec> => {
      const pool = { name: 'p', driver: 'zfs', config };
      return { ...pool, config: await storage.fillConfig(pool) };
    };
    const made = async (config: Record<string, string>): Promise<PoolSpec> => {
      const pool = await fill(config);
      await storage.createPool(pool, never);
      await storage.mountPool(pool);
      return pool;
    };
    const make = (pool: PoolSpec, from: VolumeRef = volume, name = 'v'): Promise<void> =>
      storage.createVolume(
        pool,
        { type: 'custom', name },
        name === 'v' ? { kind: 'empty' } : { kind: 'copy', from },
        () => {},
        never,
      );
    const fileIn = (pool: PoolSpec, name = 'v'): string =>
      join(storage.volumePath(pool, { type: 'custom', name }), 'file');

    test('a device that holds anything, and a dataset with anything in it, is refused and stays as it is', async () => {
      run('mkfs.ext4', '-q', device);
      expect(await codeOf(made({ source: device }))).toBe('InUse');
      expect(run('blkid', '--probe', '--output', 'value', '--match-tag', 'TYPE', device)).toBe('ext4');
      run('wipefs', '--all', '--quiet', device);
      run('zpool', 'create', '-m', join(base, 'tank'), 'tank', device);
      expect(await codeOf(made({ source: device }))).toBe('InUse');
      await writeFile(join(base, 'tank', 'theirs'), 'kept');
      expect(await codeOf(made({ source: 'tank' }))).toBe('InUse');
      run('zfs', 'create', 'tank/child');
      expect(await codeOf(made({ source: 'tank' }))).toBe('InUse');
      for (const source of ['no-such-pool', 'tank/no/such', 'tank@x', 'tank/..', '-rf', join(base, 'disk')])
        expect(await codeOf(made({ source }))).toBe('Invalid');
      expect(await readFile(join(base, 'tank', 'theirs'), 'utf8')).toBe('kept');
      expect(namesIn('tank')).toEqual(['tank', 'tank/child']);
      expect(existsSync(join(base, 'state', 'storage-pools', 'p'))).toBe(false);
    });

    test('a dataset in a pool of others is taken, and only what the pool made goes with it', async () => {
      run('zfs', 'create', 'tank/ours');
      for (const source of ['tank/ours', 'tank/new']) {
        const pool = await made({ source });
        await make(pool);
        expect(await codeOf(storage.deletePool(pool))).toBe('InUse');
        await storage.deleteVolume(pool, volume);
        await storage.deletePool(pool);
      }
      expect(namesIn('tank')).toEqual(['tank', 'tank/child', 'tank/ours']);
      run('zpool', 'destroy', 'tank');
      run('zpool', 'labelclear', '-f', device);
    });

    test('a pool on a device comes back after an export, with its records, is found from a new state directory, and goes from there', async () => {
      const pool = await made({ source: device });
      expect(pool.config).toMatchObject({ source: 'p', 'zfs.pool_name': 'p', 'volatile.initial_source': device });
      await make(pool);
      await writeFile(fileIn(pool), 'kept');
      await writeFile(join(storage.recordsPath(pool), 'record'), 'kept');
      unmountBelow(base);
      run('zpool', 'export', 'p');
      storage = opened('new');
      expect(await storage.findPool({ ...pool, config: { source: 'p' } })).toMatchObject({ 'zfs.pool_name': 'p' });
      await storage.mountPool(pool);
      expect(await readFile(fileIn(pool), 'utf8')).toBe('kept');
      expect(await readFile(join(storage.recordsPath(pool), 'record'), 'utf8')).toBe('kept');
      await storage.deleteVolume(pool, volume);
      await storage.deletePool(pool);
      expect(await codeOf(storage.findPool({ ...pool, config: { source: 'p' } }))).toBe('NotFound');
      storage = opened();
    });

    test('what is deleted before its clones holds nothing of its own, and goes with the last of them', async () => {
      const pool = await made({ size: '128MiB' });
      await make(pool);
      await storage.createSnapshot(pool, snapshot, { kind: 'now' }, never);
      await make(pool, volume, 'copy');
      await writeFile(fileIn(pool), randomBytes(8 * mebi));
      await storage.restoreSnapshot(pool, snapshot, never);
      await storage.deleteVolume(pool, volume);
      const used = async (): Promise<number> => (await storage.resources(pool)).space.used;
      expect(await used()).toBeLessThan(4 * mebi);
      expect(namesIn('p').filter((name) => name.startsWith('p/deleted/'))).not.toEqual([]);
      await storage.deleteVolume(pool, { type: 'custom', name: 'copy' });
      expect(namesIn('p').filter((name) => /^p\/(?:deleted|custom)\//.test(name))).toEqual([]);
      await storage.deletePool(pool);
    });

    test('a daemon that dies in the middle of a copy leaves nothing of it, and the next one keeps the snapshots of others', async () => {
      const pool = await made({ size: '128MiB' });
      await make(pool);
      const cut = `p/custom/v@${randomUUID()}`;
      for (const name of [cut, 'p/custom/v@theirs']) run('zfs', 'snapshot', name);
      run('zfs', 'clone', '-p', cut, 'p/tmp/half');
      run('zfs', 'rename', '-p', 'p/custom/v', 'p/replaced/custom:40v');
      unmountBelow(base);
      storage = opened();
      await storage.mountPool(pool);
      expect(namesIn('p').filter((name) => /@|\/tmp\/|\/replaced\//.test(name))).toEqual(['p/custom/v@theirs']);
      expect(await storage.listVolumes(pool)).toEqual([volume]);
      await storage.deleteVolume(pool, volume);
      await storage.deletePool(pool);
    });

    test('a full pool says so, keeps what it has, and grows while volumes are in use', async () => {
      const pool = await made({ size: '96MiB', 'zfs.clone_copy': 'false' });
      await make(pool);
      await writeFile(fileIn(pool), randomBytes(15 * mebi));
      await make(pool, volume, 'copy');
      expect(await codeOf(make(pool, volume, 'third'))).toBe('NoSpace');
      expect((await storage.listVolumes(pool)).map(({ name }) => name)).toEqual(['copy', 'v']);
      const larger = { ...pool, config: { ...pool.config, size: '192MiB' } };
      await storage.applyConfig(larger, pool);
      expect(await codeOf(storage.applyConfig(pool, larger))).toBe('Invalid');
      await make(larger, volume, 'third');
      const [whole] = run('zfs', 'get', '-H', '-o', 'value', 'origin', 'p/custom/third').split('\n');
      expect(whole).toBe('-');
      for (const { name } of await storage.listVolumes(pool))
        await storage.deleteVolume(pool, { type: 'custom', name });
      await storage.deletePool(larger);
    });

    test('a stream builds on a snapshot of its own volume only, is whole after a restore, and brings no device node of a stranger', async () => {
      const pool = await made({ size: '128MiB' });
      await make(pool);
      const [other, there] = ['other', 'there'].map((name): VolumeRef => ({ type: 'custom', name }));
      if (other === undefined || there === undefined) throw new Error('no volumes');
      const next: SnapshotRef = { volume, snapshot: 'next' };
      const take = (ref: SnapshotRef): Promise<void> => storage.createSnapshot(pool, ref, { kind: 'now' }, never);
      const sent = (from: TreeRef, parent?: string): Promise<Buffer> => streamOf(storage, pool, from, parent);
      const put = (to: TreeRef, bytes: Buffer, strange = false): Promise<void> =>
        storage.importVolume(pool, to, Readable.from([bytes]), { kind: 'native', strange }, never);

      await writeFile(fileIn(pool), randomBytes(4 * mebi));
      await take(snapshot);
      await take(next);
      const [first, second] = [await sent(snapshot), await sent(next, 's')];
      expect([first.length > 4 * mebi, second.length < mebi]).toEqual([true, true]);
      await put({ volume: there, snapshot: 's' }, first);
      expect(await codeOf(put({ volume: other, snapshot: 'next' }, second))).toBe('Failed');
      await put({ volume: there, snapshot: 'next' }, second);
      expect(await storage.streamId(pool, { volume: there, snapshot: 'next' })).toBe(
        await storage.streamId(pool, next),
      );

      await storage.restoreSnapshot(pool, snapshot, never);
      expect((await sent({ volume }, 'next')).length).toBeGreaterThan(4 * mebi);
      run('mknod', join(storage.volumePath(pool, volume), 'node'), 'b', '7', '0');
      const stranger = await sent({ volume });
      expect(await codeOf(put({ volume: other }, stranger, true))).toBe('Invalid');
      await put({ volume: other }, stranger);
      expect((await storage.listVolumes(pool)).map(({ name }) => name).toSorted()).toEqual(['other', 'v']);
      for (const each of [volume, other, there]) await storage.deleteVolume(pool, each);
      expect(namesIn('p').filter((name) => /^p\/(?:deleted|custom|custom-snapshots|tmp)\//.test(name))).toEqual([]);
      await storage.deletePool(pool);
    });

    test('zfs.use_refquota of a volume says whether its snapshots count', async () => {
      const pool = await made({ size: '128MiB' });
      await make(pool);
      for (const [withoutSnapshots, wanted] of [
        [true, '0\t16777216'],
        [false, '16777216\t0'],
      ] as const) {
        await storage.limitVolume(pool, volume, 16 * mebi, { withoutSnapshots });
        expect(run('zfs', 'list', '-H', '-p', '-o', 'quota,refquota', 'p/custom/v')).toBe(wanted);
        expect((await storage.limitsIn?.(pool))?.(volume)).toBe(16 * mebi);
      }
      await storage.deleteVolume(pool, volume);
      await storage.deletePool(pool);
    });

    test('block volumes stand beside datasets: they keep files, sizes, snapshots and copies, also after a kill, and travel to trusted pools only', async () => {
      const pool = await made({ size: '256MiB' });
      const block = (name: string, bytes?: number): VolumeRef => ({
        type: 'custom',
        name,
        shape: { isBlock: true, ...(bytes === undefined ? {} : { bytes }) },
      });
      const typeOf = (name: string): string => run('zfs', 'get', '-H', '-o', 'value', 'type', `p/custom/${name}`);
      const fileOf = (name: string): string => join(storage.volumePath(pool, { type: 'custom', name }), 'file');
      const create = (to: VolumeRef, from?: VolumeRef): Promise<void> =>
        storage.createVolume(
          pool,
          to,
          from === undefined ? { kind: 'empty' } : { kind: 'copy', from },
          () => {},
          never,
        );
      const sizeOf = (name: string): number =>
        Number(run('zfs', 'get', '-H', '-p', '-o', 'value', 'volsize', `p/custom/${name}`));

      await create(block('v', 32 * mebi));
      await create({ type: 'custom', name: 'plain' });
      expect([typeOf('v'), typeOf('plain'), sizeOf('v')]).toEqual(['volume', 'filesystem', 32 * mebi]);
      await writeFile(fileOf('v'), 'one');
      await storage.createSnapshot(pool, { volume, snapshot: 's' }, { kind: 'now' }, never);
      await writeFile(fileOf('v'), 'two');
      await create({ type: 'custom', name: 'same' }, volume);
      await create({ type: 'custom', name: 'files', shape: { isBlock: false } }, volume);
      await create(block('device', 32 * mebi), { type: 'custom', name: 'plain' });
      expect(['same', 'files', 'device'].map(typeOf)).toEqual(['volume', 'filesystem', 'volume']);
      expect(await readFile(fileOf('same'), 'utf8')).toBe('two');
      expect(await readFile(fileOf('files'), 'utf8')).toBe('two');

      await storage.limitVolume(pool, volume, 48 * mebi);
      expect(sizeOf('v')).toBe(48 * mebi);
      await storage.limitVolume(pool, volume, 24 * mebi);
      expect([sizeOf('v'), (await storage.limitsIn?.(pool))?.(volume)]).toEqual([24 * mebi, 24 * mebi]);
      await storage.restoreSnapshot(pool, snapshot, never);
      expect(await readFile(fileOf('v'), 'utf8')).toBe('one');

      run('zfs', 'set', 'gantry:resizing=yes', 'p/custom/v');
      unmountBelow(join(base, 'state'));
      const next = opened();
      await next.mountPool(pool);
      expect(await readFile(fileOf('v'), 'utf8')).toBe('one');
      expect(run('zfs', 'get', '-H', '-o', 'value', 'gantry:resizing', 'p/custom/v')).toBe('-');

      const stream = await streamOf(next, pool, { volume });
      const put = (name: string, strange: boolean): Promise<void> =>
        next.importVolume(
          pool,
          { volume: { type: 'custom', name } },
          Readable.from([stream]),
          { kind: 'native', strange },
          never,
        );
      expect(await codeOf(put('there', true))).toBe('Invalid');
      await put('there', false);
      expect([typeOf('there'), await readFile(fileOf('there'), 'utf8')]).toEqual(['volume', 'one']);
      for (const { name } of await next.listVolumes(pool)) await next.deleteVolume(pool, { type: 'custom', name });
      expect(namesIn('p').filter((name) => /^p\/(?:deleted|custom|custom-snapshots|tmp)\//.test(name))).toEqual([]);
      await next.deletePool(pool);
    });
  });
}
