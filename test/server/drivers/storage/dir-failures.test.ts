// Volumes of the dir storage driver that cannot be made: images that are not kept, unpacks and copies that fail or end early, full disks.
import { execFileSync, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { VolumeRef } from '../../../../server/drivers/storage/driver.ts';
import { recordsFolder } from '../../../../server/drivers/storage/layout.ts';
import { isRoomyWith } from '../../../../server/drivers/storage/trees/staging.ts';
import { type ProgramPlan, startProgramsBy } from '../../../../server/lib/start-program.ts';
import { codeOf } from '../../../conformance/storage-world.ts';
import {
  container,
  custom,
  type DirPlace,
  dirPlaces,
  image,
  isRoot,
  never,
} from '../../../support/drivers/dir-places.ts';
import { simpleUnpack } from '../../../support/drivers/storage-fixture.ts';
import { until } from '../../../support/until.ts';

const { base, place } = dirPlaces();

describe('the first container of an image', () => {
  const ofImage: VolumeRef = { type: 'image', name: image.fingerprint };
  const fork = (argv: readonly string[], { env, cwd, stdio }: ProgramPlan) =>
    spawn(argv[0] ?? '', argv.slice(1), { env, ...(cwd === undefined ? {} : { cwd }), stdio: [...stdio] });
  /** Syncs of the disk stand at a gate: they begin when the file is there, or fail when it says so. */
  const holdSyncs = (gate: string): void =>
    startProgramsBy({
      start: (plan) => {
        const wait = `until [ -s ${gate} ]; do sleep 0.01; done; [ "$(cat ${gate})" = open ] && exec "$@"`;
        return fork(plan.argv[0] === 'sync' ? ['sh', '-c', wait, 'sh', ...plan.argv] : plan.argv, plan);
      },
    });
  const make = ({ storage, pool }: DirPlace, name: string): Promise<void> =>
    storage.createVolume(pool, container(name), { kind: 'image', image }, () => {}, never);
  /** The first container is made, and the sync of its image waits at the gate. */
  async function makeFirst() {
    let calls = 0;
    const where = await place(async (...all) => {
      calls += 1;
      await simpleUnpack(...all);
    });
    const gate = join(where.state, 'gate');
    holdSyncs(gate);
    await make(where, 'a');
    return { where, gate, calls: () => calls };
  }
  afterEach(() => startProgramsBy(undefined));

  test('does not wait until the unpacked image is on the disk; the others do, and unpack nothing', async () => {
    const { where, gate, calls } = await makeFirst();
    expect(await readFile(join(where.storage.volumePath(where.pool, container('a')), 'rootfs/file'), 'utf8')).toBe(
      'content',
    );
    expect(await readdir(join(where.source, 'images'))).toEqual([]);
    const others = [make(where, 'b'), where.storage.hasVolume(where.pool, ofImage)];
    await writeFile(gate, 'open');
    expect(await Promise.all(others)).toEqual([undefined, true]);
    expect(calls()).toBe(1);
  });

  test('is there also when its image could not be kept: the next one unpacks it again', async () => {
    const { where, gate, calls } = await makeFirst();
    await writeFile(gate, 'fail');
    expect(await where.storage.hasVolume(where.pool, ofImage)).toBe(false);
    await where.storage.deleteVolume(where.pool, ofImage);
    expect(await readdir(join(where.source, 'tmp'))).toEqual([]);
    await writeFile(gate, 'open');
    await make(where, 'b');
    expect(calls()).toBe(2);
  });
});

describe('failures leave nothing behind', () => {
  const isClean = async ({ storage, pool, source }: DirPlace): Promise<void> => {
    expect(await storage.listVolumes(pool)).toEqual([]);
    expect(await readdir(join(source, 'tmp'))).toEqual([]);
  };

  test('an unpack that fails half way', async () => {
    let isBroken = true;
    const where = await place(async (...all) => {
      await simpleUnpack(...all);
      if (isBroken) throw new Error('bad disk');
    });
    const make = () =>
      where.storage.createVolume(where.pool, container('c'), { kind: 'image', image }, () => {}, never);
    expect(await codeOf(make())).toBe('Failed');
    await isClean(where);
    isBroken = false;
    await make();
  });

  test('an unpack that is aborted, while another waits for the same image', async () => {
    let calls = 0;
    const where = await place(async (files, target, options, signal) => {
      await simpleUnpack(files, target, options, signal);
      calls += 1;
      if (calls === 1) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
    const make = (name: string, stop: AbortController) =>
      where.storage.createVolume(where.pool, container(name), { kind: 'image', image }, () => {}, stop.signal);
    const outcomeOf = (work: Promise<void>): Promise<string> => work.then(() => 'made', String);
    const outcomes = [outcomeOf(make('a', first))];
    await until(() => calls === 1);
    outcomes.push(outcomeOf(make('b', second)), outcomeOf(make('c', third)));
    third.abort('third');
    expect(await outcomes[2]).toBe('third');
    expect(calls).toBe(1);
    first.abort('first');
    expect(await Promise.all(outcomes)).toEqual(['first', 'made', 'third']);
    expect(calls).toBe(2);
    expect(await where.storage.hasVolume(where.pool, { type: 'image', name: image.fingerprint })).toBe(true);
    expect(await readdir(join(where.source, 'tmp'))).toEqual([]);
  });

  test('a copy that is aborted in the middle', async () => {
    const where = await place();
    const { storage, pool, source } = where;
    await storage.createVolume(pool, custom('a'), { kind: 'empty' }, () => {}, never);
    for (const name of ['1', '2', '3'])
      await writeFile(join(storage.volumePath(pool, custom('a')), name), Buffer.alloc(64e6, 1));
    const stop = new AbortController();
    const work = storage.createVolume(pool, custom('b'), { kind: 'copy', from: custom('a') }, () => {}, stop.signal);
    const outcome = work.then(() => 'made', String);
    await until(async () => {
      const [temporary] = await readdir(join(source, 'tmp'));
      return temporary !== undefined && (await readdir(join(source, 'tmp', temporary))).length > 0;
    });
    stop.abort('enough');
    expect(await outcome).toBe('enough');
    expect(await storage.listVolumes(pool)).toEqual([custom('a')]);
    expect(await readdir(join(source, 'tmp'))).toEqual([]);
  });

  test('a creation that found the disk full is tried again if a removal ended before it failed', async ({ skip }) => {
    if (!isRoomyWith(await statfs(base)))
      skip('skipped: the disk is too full for removals that end after their answer');
    let tries = 0;
    const where = await place(async (one, target, options, signal) => {
      tries += 1;
      if (tries === 1) {
        await until(async () => (await readdir(join(where.source, 'tmp'))).length === 1);
        throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      }
      await simpleUnpack(one, target, options, signal);
    });
    const { storage, pool } = where;
    await storage.createVolume(pool, container('a'), { kind: 'empty' }, () => {}, never);
    await storage.deleteVolume(pool, container('a'));
    await storage.createVolume(pool, container('b'), { kind: 'image', image }, () => {}, never);
    expect(tries).toBe(2);
    expect(await storage.hasVolume(pool, container('b'))).toBe(true);
  });

  describe.skipIf(!isRoot)('a full disk', () => {
    let small = '';
    beforeAll(async () => {
      small = await mkdtemp(join(base, 'small-'));
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'gantry-test', small]);
    });
    afterAll(() => {
      execFileSync('umount', ['--lazy', small]);
    });

    test('is NoSpace for a copy, an unpack and a copy of an image, and frees what it took', async () => {
      const where = await place(async (_files, target) => {
        await mkdir(join(target, 'rootfs'));
        await writeFile(join(target, 'rootfs', 'big'), Buffer.alloc(3_000_000, 1));
      }, small);
      const { storage, pool } = where;
      const make = (name: string) =>
        codeOf(storage.createVolume(pool, container(name), { kind: 'image', image }, () => {}, never));
      expect(await make('a')).toBe('none');
      expect(await make('b')).toBe('NoSpace');
      const copy = storage.createVolume(pool, container('c'), { kind: 'copy', from: container('a') }, () => {}, never);
      expect(await codeOf(copy)).toBe('NoSpace');
      expect(await readdir(join(where.source, 'tmp'))).toEqual([]);
      await storage.deleteVolume(pool, container('a'));
      expect(await make('b')).toBe('none');
      const other = { ...image, fingerprint: 'b'.repeat(64) };
      const unpack = storage.createVolume(pool, container('d'), { kind: 'image', image: other }, () => {}, never);
      expect(await codeOf(unpack)).toBe('NoSpace');
      expect(await readdir(join(where.source, 'images'))).toEqual([image.fingerprint]);
    });

    test('is NoSpace for a snapshot and a restore, and leaves volume and snapshots as they were', async () => {
      const where = await place(simpleUnpack, small);
      const { storage, pool, source } = where;
      await storage.createVolume(pool, container('c'), { kind: 'empty' }, () => {}, never);
      const path = storage.volumePath(pool, container('c'));
      const snapshot = (name: string) => ({ volume: container('c'), snapshot: name });
      await writeFile(join(path, 'rootfs', 'file'), Buffer.alloc(500_000, 1));
      await storage.createSnapshot(pool, snapshot('s'), { kind: 'now' }, never);
      const { bavail, bsize } = await statfs(small);
      await writeFile(join(path, 'rootfs', 'more'), Buffer.alloc(bavail * bsize - 300_000, 2));
      expect(await codeOf(storage.createSnapshot(pool, snapshot('t'), { kind: 'now' }, never))).toBe('NoSpace');
      expect(await codeOf(storage.restoreSnapshot(pool, snapshot('s'), never))).toBe('NoSpace');
      expect((await readdir(join(path, 'rootfs'))).toSorted()).toEqual(['file', 'more']);
      expect(await storage.listSnapshots(pool, container('c'))).toEqual(['s']);
      for (const folder of ['tmp', 'replaced']) expect(await readdir(join(source, folder))).toEqual([]);
      await rm(join(path, 'rootfs', 'more'));
      await storage.restoreSnapshot(pool, snapshot('s'), never);
      await storage.deleteVolume(pool, container('c'));
    });
  });
});

test('a pool whose file system is not mounted is not used, and nothing of it counts as deleted', async () => {
  const { storage, pool, source, state } = await place();
  const [volume, away] = [custom('v'), join(state, 'away')];
  const snapshot = { volume, snapshot: 's' };
  await storage.createVolume(pool, volume, { kind: 'empty' }, () => {}, never);
  await storage.createSnapshot(pool, snapshot, { kind: 'now' }, never);
  await rename(source, away);
  await mkdir(source);
  await expect(storage.mountPool(pool)).rejects.toThrow(/has nothing of the pool: mount its file system there/);
  expect(await readdir(source)).toEqual([]);
  await expect(storage.deleteSnapshot(pool, snapshot)).rejects.toThrow(
    /its pool has no folder .*tmp; mount the file system/,
  );
  await expect(storage.deleteVolume(pool, volume)).rejects.toThrow(/or make that folder if its files are lost/);
  await rm(source, { recursive: true });
  await rename(away, source);
  await storage.mountPool(pool);
  expect(await storage.listSnapshots(pool, volume)).toEqual(['s']);
  await storage.deleteVolume(pool, volume);
  expect(await storage.listVolumes(pool)).toEqual([]);
  // What the message says for files that are lost.
  await rm(source, { recursive: true });
  await mkdir(join(source, recordsFolder), { recursive: true });
  await storage.mountPool(pool);
  await storage.deleteVolume(pool, volume);
});
