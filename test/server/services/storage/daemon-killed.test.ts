// kill -9 in the middle of snapshots, restores, copies and moves: the next daemon has a record of every directory, subvolume, loop
// device and mount, each of them complete.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../../server/drivers/storage/btrfs/btrfs.ts';
import { call, type Json } from '../../../support/daemons/daemon.ts';
import { bundleDaemon, read, settle, startChild, type ChildDaemon } from '../../../support/daemons/child-process.ts';
import { attachLoop, detachLoop } from '../../../support/hosts/loop-device.ts';
import { loopsBelow, mountsBelow, unmountBelow, loopsGone } from '../../../support/hosts/mounts.ts';
import { isLongRun } from '../../../support/left-out.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const noBtrfs = (await btrfsMissing()) ?? (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (noBtrfs !== undefined) console.log(`skipped: kill -9 with btrfs: ${noBtrfs}`);
const drivers = noBtrfs === undefined ? ['dir', 'btrfs'] : ['dir'];

const bundle = bundleDaemon();

describe.each(drivers)('on a pool of driver %s', (driver) => {
  let dir = '';
  let daemon: ChildDaemon | undefined;
  const pool = (name: string, ...rest: string[]): string => join(dir, 'storage-pools', name, ...rest);
  const start = async (): Promise<ChildDaemon> => (daemon = await startChild(bundle, dir, 'sim'));
  const custom = (name: string): string => `/1.0/storage-pools/p/volumes/custom/${name}`;

  beforeAll(async () => {
    dir = await realpath(tempFolder('gtya-kill-'));
    const first = await start();
    const config = driver === 'btrfs' ? { size: '512MiB' } : {};
    await call(first, 'POST', '/1.0/storage-pools', { name: 'p', driver, config });
    await call(first, 'POST', '/1.0/storage-pools', { name: 'q', driver: 'dir' });
    await call(first, 'PUT', '/1.0/profiles/default', { devices: { root: { type: 'disk', path: '/', pool: 'p' } } });
    for (const name of ['copied', 'restored', 'snapped', 'unsnapped']) {
      await settle(first, 'POST', '/1.0/containers', { name, source: { type: 'none' } });
      fill(pool('p', 'containers', name, 'rootfs'), 'then');
      await settle(first, 'POST', `/1.0/containers/${name}/snapshots`, { name: 's' });
      fill(pool('p', 'containers', name, 'rootfs'), 'now');
    }
    for (const name of ['copied', 'moved']) {
      await call(first, 'POST', '/1.0/storage-pools/p/volumes/custom', { name });
      fill(pool('p', 'custom', name), 'then');
      await settle(first, 'POST', `${custom(name)}/snapshots`, { name: 's' });
    }
  });
  afterAll(async () => {
    await daemon?.kill('SIGKILL').catch(() => {});
    unmountBelow(dir);
    rmSync(dir, { recursive: true, force: true });
    await loopsGone(dir);
  });

  /** Enough files that every step takes a while; all have the same content. */
  function fill(tree: string, word: string): void {
    for (let folder = 0; folder < 8; folder += 1) {
      mkdirSync(join(tree, `d${folder}`), { recursive: true });
      for (let file = 0; file < 25; file += 1) writeFileSync(join(tree, `d${folder}`, `f${file}`), word);
    }
  }

  /** The content of all files of the tree; throws when they differ or some are missing. */
  function wordOf(tree: string): string {
    const words = new Set<string>();
    for (let folder = 0; folder < 8; folder += 1)
      for (let file = 0; file < 25; file += 1) words.add(readFileSync(join(tree, `d${folder}`, `f${file}`), 'utf8'));
    expect([...words]).toHaveLength(1);
    return [...words][0] ?? '';
  }

  const list = (path: string): string[] => (existsSync(path) ? readdirSync(path).toSorted() : []);

  async function expectKnown(at: ChildDaemon): Promise<void> {
    const containers = (await read(at, '/1.0/containers?recursion=2')) as Json[];
    expect(list(pool('p', 'containers'))).toEqual(containers.map((each) => each.name as string).toSorted());
    const snapshots = containers.flatMap((each) =>
      ((each.snapshots ?? []) as Json[]).map((snapshot) => `${each.name}/${snapshot.name}`),
    );
    const kept = (place: string, folder: string): string[] =>
      list(pool(place, folder)).flatMap((owner) => list(pool(place, folder, owner)).map((name) => `${owner}/${name}`));
    expect(kept('p', 'containers-snapshots')).toEqual(snapshots.toSorted());
    for (const place of ['p', 'q']) {
      const urls = (await read(at, `/1.0/storage-pools/${place}/volumes/custom`)) as string[];
      const names = urls.map((url) => url.split('/custom/')[1] ?? '');
      expect(list(pool(place, 'custom'))).toEqual(names.filter((name) => !name.includes('/')).toSorted());
      expect(kept(place, 'custom-snapshots')).toEqual(
        names
          .filter((name) => name.includes('/'))
          .map((name) => name.replace('/snapshots/', '/'))
          .toSorted(),
      );
      // Deleted files are unlinked after the answer.
      await until(() => list(pool(place, 'tmp')).length === 0);
      expect(list(pool(place, 'replaced'))).toEqual([]);
    }
    for (const { name } of containers)
      expect(['then', 'now']).toContain(wordOf(pool('p', 'containers', name, 'rootfs')));
    for (const each of snapshots)
      expect(['then', 'now']).toContain(wordOf(pool('p', 'containers-snapshots', ...each.split('/'), 'rootfs')));
    if (driver !== 'btrfs') return;
    expect([mountsBelow(dir).length, loopsBelow(dir).length]).toEqual([1, 1]);
    const listed = execFileSync('btrfs', ['subvolume', 'list', pool('p')], { encoding: 'utf8' });
    const folders = ['containers', 'custom'].flatMap((folder) => list(pool('p', folder)));
    expect(listed.trim().split('\n')).toHaveLength(
      folders.length + kept('p', 'containers-snapshots').length + kept('p', 'custom-snapshots').length,
    );
  }

  interface Work {
    readonly method: string;
    readonly path: string;
    readonly body?: object;
  }

  /** A change of each kind, to objects of their own: one daemon works at all of them. */
  async function allWorks(at: ChildDaemon, round: string): Promise<readonly Work[]> {
    const [snapshots, volumes] = [(name: string) => `/1.0/containers/${name}/snapshots`, '/volumes/custom'] as const;
    await settle(at, 'POST', snapshots('unsnapped'), { name: `d${round}` });
    const isHome = (await call(at, 'GET', custom('moved'))).status === 200;
    const [from = '', to = ''] = isHome ? ['p', 'q'] : ['q', 'p'];
    expect(wordOf(pool(from, 'custom', 'moved'))).toBe('then');
    return [
      { method: 'POST', path: snapshots('snapped'), body: { name: `k${round}` } },
      { method: 'DELETE', path: `${snapshots('unsnapped')}/d${round}` },
      { method: 'PUT', path: '/1.0/containers/restored', body: { restore: 's' } },
      {
        method: 'POST',
        path: '/1.0/containers',
        body: { name: `k${round}`, source: { type: 'copy', source: 'copied' } },
      },
      {
        method: 'POST',
        path: `/1.0/storage-pools/q${volumes}`,
        body: { name: `k${round}`, source: { name: 'copied', pool: 'p' } },
      },
      { method: 'POST', path: `/1.0/storage-pools/${from}${volumes}/moved`, body: { name: 'moved', pool: to } },
    ];
  }

  const delays = isLongRun ? [2, 5, 10, 15, 25, 40, 60, 100] : [10, 60];
  test.each(delays)(
    'a snapshot and its deletion, a restore, copies and a move are cut off after %i ms',
    async (delay) => {
      const running = daemon ?? (await start());
      const sent = (await allWorks(running, String(delay))).map(({ method, path, body }) =>
        call(running, method, path, body),
      );
      const settled = Promise.allSettled(sent);
      await new Promise((resolve) => setTimeout(resolve, delay));
      await running.kill('SIGKILL');
      await settled;
      await expectKnown(await start());
    },
  );

  test('afterwards the pool can be emptied and deleted', async () => {
    const running = daemon ?? (await start());
    for (const url of (await read(running, '/1.0/containers')) as string[]) {
      const { operation } = await settle(running, 'DELETE', url);
      expect(operation?.err).toBe('');
    }
    for (const url of (await read(running, '/1.0/storage-pools/p/volumes/custom')) as string[])
      if (!url.includes('/snapshots/')) await settle(running, 'DELETE', url);
    await call(running, 'PUT', '/1.0/profiles/default', { devices: {} });
    expect((await call(running, 'DELETE', '/1.0/storage-pools/p')).status).toBe(200);
    expect(mountsBelow(dir)).toEqual([]);
  });
});

test.skipIf(noBtrfs !== undefined)(
  'a device on which the killed daemon was making a file system is empty for the next one',
  async () => {
    const dir = await realpath(tempFolder('gtya-mkfs-'));
    const device = attachLoop(join(dir, 'disk'));
    truncateSync(join(dir, 'disk'), 1 << 30);
    execFileSync('losetup', ['--set-capacity', device]);
    const create = (at: ChildDaemon): ReturnType<typeof call> =>
      call(at, 'POST', '/1.0/storage-pools', { name: 'p', driver: 'btrfs', config: { source: device } });
    let daemon = await startChild(bundle, dir, 'sim');
    try {
      const sent = create(daemon).catch(() => {});
      const maker = await stoppedChild(daemon.pid, 'mkfs.btrfs');
      await daemon.kill('SIGKILL');
      await sent;
      daemon = await startChild(bundle, dir, 'sim');
      const isGone = (): boolean => !existsSync(`/proc/${maker}/ns/mnt`);
      if (!isGone()) process.kill(maker, 'SIGCONT');
      await until(isGone);
      expect((await create(daemon)).status).toBe(200);
    } finally {
      await daemon.kill('SIGKILL');
      unmountBelow(dir);
      detachLoop(device);
    }
  },
);

/** Pauses the first child of that name. */
async function stoppedChild(parent: number, name: string): Promise<number> {
  for (;;) {
    for (const child of readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ')) {
      const found = await readFile(`/proc/${child}/comm`, 'utf8').catch(() => '');
      if (found.trim() !== name) continue;
      process.kill(Number(child), 'SIGSTOP');
      return Number(child);
    }
    await new Promise((resolve) => void setImmediate(resolve));
  }
}
