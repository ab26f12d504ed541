// The dir storage driver: the suite of all drivers as root, and what is special about directories.
import { createHook } from 'node:async_hooks';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  statfs,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isRoomyWith } from '../../../../server/drivers/storage/trees/staging.ts';
import { storageConformance } from '../../../conformance/storage.ts';
import { codeOf } from '../../../conformance/storage-world.ts';
import { busyboxMissing } from '../../../support/images/busybox-rootfs.ts';
import {
  container,
  custom,
  type DirPlace,
  dirPlaces,
  image,
  isRoot,
  never,
} from '../../../support/drivers/dir-places.ts';
import { openDirFixture } from '../../../support/drivers/storage-dir.ts';
import { simpleUnpack } from '../../../support/drivers/storage-fixture.ts';
import { until } from '../../../support/until.ts';

const noBusybox = busyboxMissing();
const why = noBusybox ?? (isRoot ? undefined : 'not root');
if (why !== undefined) console.log(`skipped: the dir driver as root: ${why}`);

if (why === undefined) storageConformance('dir, as root', () => openDirFixture('keep'));

const renameat2: Readonly<Record<string, number>> = { x64: 316, arm64: 276 };
const noSwap = renameat2[process.arch] === undefined ? `renameat2 of ${process.arch} is not known here` : undefined;
if (noSwap !== undefined) console.log(`skipped: copies of a hostile guest: ${noSwap}`);

const { base, place } = dirPlaces();

describe('the source of a pool', () => {
  const create = async (where: DirPlace, source: string, name = 'q'): Promise<string> =>
    codeOf(where.storage.createPool({ name, driver: 'dir', config: { source } }, never));

  test('an existing empty directory is taken, and kept when the pool goes', async () => {
    const where = await place();
    const source = await mkdtemp(join(base, 'given-'));
    expect(await create(where, source)).toBe('none');
    expect((await lstat(source)).mode & 0o7777).toBe(0o711);
    await where.storage.deletePool({ name: 'q', driver: 'dir', config: { source } });
    expect(await readdir(source)).toEqual([]);
  });

  test('a directory with anything in it is InUse and stays as it is', async () => {
    const where = await place();
    const source = await mkdtemp(join(base, 'given-'));
    await writeFile(join(source, 'file'), 'x');
    expect(await create(where, source)).toBe('InUse');
    expect(await readdir(source)).toEqual(['file']);
    const ours = await mkdtemp(join(base, 'given-'));
    await mkdir(join(ours, 'containers', 'somebody'), { recursive: true });
    expect(await create(where, ours)).toBe('InUse');
  });

  test('a path that is not there, relative, a file, a link, or the root of the host is Invalid', async () => {
    const where = await place();
    const file = join(await mkdtemp(join(base, 'given-')), 'file');
    await writeFile(file, '');
    await symlink('/srv', `${file}-link`);
    for (const source of [join(base, 'none'), 'relative/path', file, `${file}-link`, '/', '//', '/./', '/..'])
      expect([source, await create(where, source)]).toEqual([source, 'Invalid']);
  });

  test('inside the state of the daemon a pool may only use its own directory', async () => {
    const where = await place();
    const pools = dirname(where.source);
    await mkdir(join(where.state, 'images'));
    for (const source of [where.state, join(where.state, 'images'), pools, where.source, dirname(where.state)])
      expect([source, await create(where, source)]).toEqual([source, 'Invalid']);
    const link = join(await mkdtemp(join(base, 'given-')), 'link');
    await symlink(where.state, link);
    expect(await create(where, join(link, 'images'))).toBe('Invalid');
    expect(await create(where, join(pools, 'q'))).toBe('none');
  });

  test('a size is refused with a word on who can', async () => {
    const { storage } = await place();
    await expect(storage.fillConfig({ name: 'x', driver: 'dir', config: { size: '1GB' } })).rejects.toThrow(/no size/);
  });

  test('the directories of a pool keep others from listing them', async () => {
    const { source } = await place();
    expect((await lstat(source)).mode & 0o7777).toBe(0o711);
    expect((await lstat(join(source, 'containers'))).mode & 0o7777).toBe(0o711);
    expect((await lstat(join(source, 'tmp'))).mode & 0o7777).toBe(0o700);
  });
});

describe('after a crash', () => {
  test('mounting removes what was half made or half deleted, and no volume', async () => {
    const { storage, pool, source } = await place();
    await storage.createVolume(pool, container('c'), { kind: 'empty' }, () => {}, never);
    await mkdir(join(source, 'tmp', 'half', 'rootfs', 'deep'), { recursive: true });
    await writeFile(join(source, 'tmp', 'half', 'rootfs', 'deep', 'file'), 'x');
    await writeFile(join(source, 'tmp', 'file'), 'x');
    await chmod(join(source, 'tmp', 'half', 'rootfs'), 0);
    await storage.mountPool(pool);
    expect(await readdir(join(source, 'tmp'))).toEqual([]);
    expect(await storage.listVolumes(pool)).toEqual([container('c')]);
  });

  test('mounting leaves alone what this process is making', async () => {
    let finish = (): void => {};
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let isStarted = false;
    const { storage, pool } = await place(async (...all) => {
      await simpleUnpack(...all);
      isStarted = true;
      await gate;
    });
    const work = storage.createVolume(pool, container('c'), { kind: 'image', image }, () => {}, never);
    await until(() => isStarted);
    await storage.mountPool(pool);
    finish();
    await work;
    expect(await readFile(join(storage.volumePath(pool, container('c')), 'rootfs/file'), 'utf8')).toBe('content');
  });

  test('mounting a pool whose directory is gone says which', async () => {
    const { storage, pool, source } = await place();
    await rm(source, { recursive: true });
    await expect(storage.mountPool(pool)).rejects.toThrow(source);
  });
});

test('a quarter of a file system is room for what is unlinked later, or 32 GiB of a large one; both of bytes and files', () => {
  const full = { bsize: 4096, blocks: 100_000_000, bavail: 25_000_000, files: 8_000_000, ffree: 2_000_000 };
  expect(isRoomyWith(full)).toBe(true);
  expect(isRoomyWith({ ...full, bavail: 8_400_000 })).toBe(true);
  expect(isRoomyWith({ ...full, bavail: 8_300_000 })).toBe(false);
  expect(isRoomyWith({ ...full, ffree: 1_900_000 })).toBe(false);
  expect(isRoomyWith({ ...full, blocks: 4000, bavail: 1000, files: 0, ffree: 0 })).toBe(true);
});

test('a container without snapshots is deleted with one wait for the file system, its room known', async () => {
  const { storage, pool, source } = await place();
  if (!isRoomyWith(await statfs(source))) return console.log('skipped: waits of a deletion: the disk is too full');
  for (const name of ['a', 'b']) await storage.createVolume(pool, container(name), { kind: 'empty' }, () => {}, never);
  await storage.deleteVolume(pool, container('a'));
  let waits = 0;
  const hook = createHook({ init: (_id, type) => void (waits += type === 'FSREQPROMISE' ? 1 : 0) }).enable();
  await storage.deleteVolume(pool, container('b'));
  hook.disable();
  expect(waits).toBe(1);
});

describe('a copy', () => {
  test('keeps modes, hard links, holes, times, links and extended attributes', async () => {
    const { storage, pool } = await place(async (_files, target) => fill(join(target, 'rootfs')));
    await storage.createVolume(pool, container('image'), { kind: 'image', image }, () => {}, never);
    await storage.createVolume(pool, container('copy'), { kind: 'copy', from: container('image') }, () => {}, never);
    for (const name of ['image', 'copy']) await check(join(storage.volumePath(pool, container(name)), 'rootfs'));
  });

  async function fill(rootfs: string): Promise<void> {
    await mkdir(rootfs);
    await writeFile(join(rootfs, 'suid'), 'x');
    if (isRoot) execFileSync('chown', ['1234:5678', join(rootfs, 'suid')]);
    await chmod(join(rootfs, 'suid'), 0o6755);
    await writeFile(join(rootfs, 'one'), 'x');
    await link(join(rootfs, 'one'), join(rootfs, 'two'));
    await symlink('/nowhere/../at/all', join(rootfs, 'dangling'));
    execFileSync('truncate', ['-s', '1G', join(rootfs, 'hole')]);
    execFileSync('setfattr', ['-n', 'user.note', '-v', 'kept', join(rootfs, 'one')]);
    execFileSync('touch', ['-d', '2001-02-03 04:05:06.789', join(rootfs, 'suid')]);
    await mkdir(join(rootfs, 'closed'));
    await writeFile(join(rootfs, 'closed', 'inside'), 'x');
    if (isRoot) await chmod(join(rootfs, 'closed'), 0);
    if (!isRoot) return;
    await writeFile(join(rootfs, 'capable'), 'x');
    execFileSync('setcap', ['cap_net_raw+ep', join(rootfs, 'capable')]);
  }

  async function check(rootfs: string): Promise<void> {
    const suid = await lstat(join(rootfs, 'suid'));
    expect(suid.mtime.getMilliseconds()).toBe(789);
    const one = await lstat(join(rootfs, 'one'));
    expect(one.ino).toBe((await lstat(join(rootfs, 'two'))).ino);
    expect((await lstat(join(rootfs, 'hole'))).blocks).toBeLessThan(100);
    expect((await lstat(join(rootfs, 'dangling'))).isSymbolicLink()).toBe(true);
    if (!isRoot) return;
    expect([suid.uid, suid.gid, suid.mode & 0o7777]).toEqual([1234, 5678, 0o6755]);
    expect((await lstat(join(rootfs, 'closed'))).mode & 0o7777).toBe(0);
    const attribute = execFileSync('getfattr', ['--only-values', '-n', 'user.note', join(rootfs, 'one')], {
      encoding: 'utf8',
    });
    expect(attribute).toBe('kept');
    expect(execFileSync('getcap', [join(rootfs, 'capable')], { encoding: 'utf8' })).toMatch(/cap_net_raw/);
  }

  test.skipIf(noSwap !== undefined)(
    'of a container whose guest swaps a directory and a link never has files of the host',
    async () => {
      const { storage, pool, state } = await place();
      const secret = join(state, 'secret');
      await mkdir(secret);
      await storage.createVolume(pool, container('guest'), { kind: 'empty' }, () => {}, never);
      const rootfs = join(storage.volumePath(pool, container('guest')), 'rootfs');
      await mkdir(join(rootfs, 'd'));
      for (let index = 0; index < 50; index += 1) {
        await writeFile(join(secret, `f${index}`), 'SECRET');
        await writeFile(join(rootfs, 'd', `f${index}`), 'plain');
      }
      await symlink(secret, join(rootfs, 'l'));
      const swapper = startSwapper(rootfs);
      try {
        let copies = 0;
        for (let round = 0; round < 15; round += 1) {
          const outcome = await codeOf(
            storage.createVolume(pool, container('copy'), { kind: 'copy', from: container('guest') }, () => {}, never),
          );
          if (outcome !== 'none') continue;
          copies += 1;
          const path = storage.volumePath(pool, container('copy'));
          const grep = execFileSync('sh', ['-c', 'grep -rl SECRET "$1" | wc -l', 'sh', path], { encoding: 'utf8' });
          expect(grep.trim()).toBe('0');
          await storage.deleteVolume(pool, container('copy'));
        }
        expect(copies).toBeGreaterThan(0);
      } finally {
        swapper.stop();
      }
    },
  );
});

/** Swaps `d` and `l` in one step each time (renameat2, RENAME_EXCHANGE), until stopped; slowly enough that a copy that falls for it succeeds. */
function startSwapper(rootfs: string): { stop: () => void } {
  const script =
    'my ($d, $l) = ("d", "l"); chdir $ARGV[0] or die; while (1) { syscall($ARGV[1] + 0, -100, $d, -100, $l, 2) == 0 or die $!; select(undef, undef, undef, 0.0005) }';
  const child = spawn('perl', ['-e', script, rootfs, String(renameat2[process.arch])], { stdio: 'ignore' });
  return {
    stop: () => {
      // Ended by itself: it has swapped nothing, and the test would prove nothing.
      if (child.exitCode !== null) throw new Error(`the swapping program ended with code ${child.exitCode}`);
      child.kill('SIGKILL');
    },
  };
}

describe('a delete', () => {
  test('removes trees of any size with directories that nobody may enter', async () => {
    const { storage, pool, source } = await place();
    for (const size of [3, 400]) {
      await storage.createVolume(pool, custom('v'), { kind: 'empty' }, () => {}, never);
      const path = storage.volumePath(pool, custom('v'));
      for (let index = 0; index < size; index += 1) {
        await mkdir(join(path, `d${index}`, 'deep'), { recursive: true });
        await writeFile(join(path, `d${index}`, 'deep', 'file'), 'x');
        await chmod(join(path, `d${index}`, 'deep'), 0);
      }
      await storage.deleteVolume(pool, custom('v'));
      expect(await storage.hasVolume(pool, custom('v'))).toBe(false);
      expect(await readdir(join(source, 'tmp'))).toEqual([]);
    }
  });

  test('a delete of a container is done for its users when it is moved; who asks for the room, or deletes the pool, waits for the rest', async () => {
    const { storage, pool, source } = await place();
    const fill = async (name: string): Promise<void> => {
      await storage.createVolume(pool, container(name), { kind: 'empty' }, () => {}, never);
      const path = storage.volumePath(pool, container(name));
      for (let index = 0; index < 300; index += 1) await writeFile(join(path, 'rootfs', `f${index}`), 'x');
    };
    for (const name of ['c', 'd', 'e', 'f', 'g', 'h', 'i']) await fill(name);
    for (const name of ['c', 'd', 'e', 'f', 'g', 'h', 'i']) {
      await storage.deleteVolume(pool, container(name));
      expect(await storage.hasVolume(pool, container(name))).toBe(false);
    }
    expect(await storage.listVolumes(pool)).toEqual([]);
    await storage.resources(pool);
    expect(await readdir(join(source, 'tmp'))).toEqual([]);
    await fill('c');
    await storage.deleteVolume(pool, container('c'));
    await storage.createVolume(pool, container('c'), { kind: 'empty' }, () => {}, never);
    await storage.deleteVolume(pool, container('c'));
    await storage.deletePool(pool);
    expect(existsSync(source)).toBe(false);
  });

  test.skipIf(!isRoot)('does not empty what is mounted inside', async () => {
    const { storage, pool, source } = await place();
    await storage.createVolume(pool, custom('v'), { kind: 'empty' }, () => {}, never);
    const path = storage.volumePath(pool, custom('v'));
    const kept = await mkdtemp(join(base, 'kept-'));
    execFileSync('mount', ['-t', 'tmpfs', 'gantry-test', kept]);
    await writeFile(join(kept, 'file'), 'precious');
    await mkdir(join(path, 'mnt'));
    execFileSync('mount', ['--bind', kept, join(path, 'mnt')]);
    try {
      await storage.deleteVolume(pool, custom('v'));
      expect(await readFile(join(kept, 'file'), 'utf8')).toBe('precious');
      expect(await storage.hasVolume(pool, custom('v'))).toBe(false);
    } finally {
      const [temporary = ''] = await readdir(join(source, 'tmp'));
      execFileSync('umount', [join(source, 'tmp', temporary, 'mnt')]);
      execFileSync('umount', [kept]);
    }
    await storage.mountPool(pool);
    expect(await readdir(join(source, 'tmp'))).toEqual([]);
  });
});
