// Refreshed copies: on one server and between two, between storage drivers; only differences are transferred.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { copyContainer } from '../../../../../server/client/index.ts';
import { btrfsMissing } from '../../../../../server/drivers/storage/btrfs/btrfs.ts';
import { planRefresh } from '../../../../../server/services/transfer/migration/refresh/plan.ts';
import { createContainer, type TestDaemon } from '../../../../support/daemons/daemon.ts';
import {
  describeTree,
  plant,
  snapshotDir,
  twoDaemons,
  volumeDir,
  type Side,
  type TwoDaemons,
} from '../../../../support/daemons/two-daemons.ts';
import { until } from '../../../../support/until.ts';

const noBtrfs = await btrfsMissing();
if (noBtrfs !== undefined) console.log(`skipped: refreshing btrfs pools: ${noBtrfs}`);

const pairs = [
  ['dir', 'dir'],
  ...(noBtrfs === undefined
    ? ([
        ['btrfs', 'btrfs'],
        ['btrfs', 'dir'],
        ['dir', 'btrfs'],
      ] as const)
    : []),
] as const;

const snapshotNames = async (daemon: TestDaemon, name: string): Promise<string[]> =>
  (await daemon.get(`/1.0/containers/${name}/snapshots?recursion=1`)).map((one: { name: string }) => one.name);

/** Every kind of difference between trees. */
function change(root: string): void {
  const rootfs = join(root, 'rootfs');
  writeFileSync(join(rootfs, 'etc/hostname'), 'other\n');
  writeFileSync(join(rootfs, 'new file'), 'new');
  rmSync(join(rootfs, 'etc/deep'), { recursive: true });
  writeFileSync(join(rootfs, 'etc/deep'), 'a file where a directory was');
  rmSync(join(rootfs, 'hole'));
  mkdirSync(join(rootfs, 'hole/inner'), { recursive: true });
  writeFileSync(join(rootfs, 'hole/inner/file'), 'a directory where a file was');
  rmSync(join(rootfs, 'link'));
  symlinkSync('/elsewhere', join(rootfs, 'link'));
  rmSync(join(rootfs, 'pipe'));
}

/** A large file that stays, snapshots s0, s1 and s2. */
async function original(side: Side, name: string): Promise<void> {
  const devices = { eth0: { type: 'nic', nictype: 'p2p' } };
  await createContainer(side.daemon, name, { config: { 'user.of': 'the original' }, devices });
  plant(volumeDir(side, name));
  writeFileSync(join(volumeDir(side, name), 'rootfs/large'), randomBytes(1_500_000));
  for (const snapshot of ['s0', 's1', 's2']) {
    await side.daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: snapshot });
    writeFileSync(join(volumeDir(side, name), `rootfs/after-${snapshot}`), snapshot);
  }
}

/** s1 is deleted, s2 is replaced under its name, s3 is added; files change before and after. */
async function evolve(side: Side, name: string): Promise<void> {
  await side.daemon.ok('DELETE', `/1.0/containers/${name}/snapshots/s1`);
  await side.daemon.ok('DELETE', `/1.0/containers/${name}/snapshots/s2`);
  change(volumeDir(side, name));
  await side.daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 's2' });
  writeFileSync(join(volumeDir(side, name), 'rootfs/etc/hostname'), 'once more\n');
  await side.daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 's3' });
  writeFileSync(join(volumeDir(side, name), 'rootfs/last'), 'x');
}

async function expectSame(a: Side, name: string, b: Side, copy: string): Promise<void> {
  expect(describeTree(volumeDir(b, copy))).toEqual(describeTree(volumeDir(a, name)));
  expect(await snapshotNames(b.daemon, copy)).toEqual(await snapshotNames(a.daemon, name));
  for (const snapshot of await snapshotNames(a.daemon, name))
    expect(describeTree(snapshotDir(b, copy, snapshot))).toEqual(describeTree(snapshotDir(a, name, snapshot)));
}

/** Bytes that `fs_progress` reported, of all parts together. */
function carried(): { readonly see: (metadata: unknown) => void; readonly bytes: () => number } {
  const parts = new Map<string, number>();
  const factors: Record<string, number> = { B: 1, kB: 1e3, MB: 1e6 };
  return {
    see(metadata) {
      const text = (metadata as { fs_progress?: string } | null)?.fs_progress ?? '';
      const [, part = '', value = '0', unit = 'B'] = /^(\S+): ([\d.]+)(B|kB|MB) /.exec(text) ?? [];
      parts.set(part, Math.max(parts.get(part) ?? 0, Number(value) * (factors[unit] ?? 1e9)));
    },
    bytes: () => [...parts.values()].reduce((sum, bytes) => sum + bytes, 0),
  };
}

describe.each(pairs)('from %s to %s', (...drivers) => {
  let two: TwoDaemons;
  beforeAll(async () => {
    two = await twoDaemons({ drivers });
  });
  afterAll(() => two.cleanUp());

  test('a copy on another server gets the differences, and no other data is transferred', async () => {
    const { a, b } = two;
    await original(a, 'c');
    await copyContainer({ client: a.remote, name: 'c' }, { client: b.remote, name: 'copy' });
    await b.daemon.call('PATCH', '/1.0/containers/copy', { config: { 'user.of': 'the copy' } });
    if (drivers[1] === 'dir') writeFileSync(join(volumeDir(b, 'copy'), 'rootfs/stray'), 'goes');
    await evolve(a, 'c');
    const traffic = carried();
    await copyContainer(
      { client: a.remote, name: 'c' },
      { client: b.remote, name: 'copy' },
      { refresh: true, onUpdate: ({ metadata }) => traffic.see(metadata) },
    );
    await expectSame(a, 'c', b, 'copy');
    expect((await b.daemon.get('/1.0/containers/copy')).config['user.of']).toBe('the copy');
    expect(traffic.bytes()).toBeGreaterThan(0);
    expect(traffic.bytes()).toBeLessThan(500_000);
  });

  // A mixed pair differs in how the first part of a transfer is made, which the test above shows.
  if (drivers[0] !== drivers[1]) return;

  test('a cancelled one leaves the copy unchanged', async () => {
    const { a, b } = two;
    await createContainer(a.daemon, 'slow');
    writeFileSync(join(volumeDir(a, 'slow'), 'rootfs/large'), randomBytes(1_000_000));
    await copyContainer({ client: a.remote, name: 'slow' }, { client: b.remote, name: 'slow' });
    const before = describeTree(volumeDir(b, 'slow'));
    writeFileSync(join(volumeDir(a, 'slow'), 'rootfs/large'), randomBytes(1_000_000));
    await a.daemon.call('PATCH', '/1.0/storage-pools/default', { config: { 'rsync.bwlimit': '100kB' } });
    try {
      const refreshing = copyContainer(
        { client: a.remote, name: 'slow' },
        { client: b.remote, name: 'slow' },
        { refresh: true },
      );
      refreshing.catch(() => {});
      const under = async (): Promise<{ id: string; metadata: object | null }[]> => {
        const urls = (await b.daemon.get('/1.0/operations')) as string[];
        const answers = await Promise.all(urls.map((url) => b.daemon.call('GET', url)));
        // One that ended may be gone by now.
        return answers.filter(({ status }) => status === 200).map(({ metadata }) => metadata);
      };
      await until(async () => JSON.stringify((await under()).map((one) => one.metadata)).includes('slow: '));
      for (const { id } of await under()) await b.daemon.call('DELETE', `/1.0/operations/${id}`);
      await expect(refreshing).rejects.toThrow(/cancelled/i);
    } finally {
      await a.daemon.call('PATCH', '/1.0/storage-pools/default', { config: { 'rsync.bwlimit': '0' } });
    }
    expect(describeTree(volumeDir(b, 'slow'))).toBe(before);
    expect(readdirSync(join(b.daemon.dir, 'storage-pools/default/replaced'))).toEqual([]);
  });

  test('a second one without changes, through a relay, and pushed', async () => {
    const { a, b } = two;
    await createContainer(a.daemon, 'still');
    plant(volumeDir(a, 'still'));
    for (const mode of ['relay', 'push', 'pull'] as const) {
      await copyContainer(
        { client: a.remote, name: 'still' },
        { client: b.remote, name: 'still' },
        { mode, refresh: true },
      );
      await expectSame(a, 'still', b, 'still');
    }
  });

  describe('the first server alone', () => {
    const refresh = (name: string, source: string, more: object = {}) =>
      two.a.daemon.run('POST', '/1.0/containers', { name, source: { type: 'copy', source, refresh: true, ...more } });

    test('a missing copy is made, an existing one is brought up to date', async () => {
      const { a } = two;
      await original(a, 'here');
      expect((await refresh('copy', 'here')).status).toBe('Success');
      await expectSame(a, 'here', a, 'copy');
      writeFileSync(join(volumeDir(a, 'copy'), 'rootfs/stray'), 'goes');
      await evolve(a, 'here');
      const inode = (path: string): number => statSync(join(path, 'rootfs/large')).ino;
      const before = inode(volumeDir(a, 'copy'));
      expect((await refresh('copy', 'here')).err).toBe('');
      await expectSame(a, 'here', a, 'copy');
      // A restore must not give the copy the addresses of the original.
      const [s3] = await a.daemon.get('/1.0/containers/copy/snapshots?recursion=1');
      expect(Object.keys(s3.config as object).filter((key) => key.endsWith('.hwaddr'))).toEqual([]);
      if (drivers[0] === 'btrfs') return;
      // The file itself stays. It belongs to the volume alone: a guest that writes into it changes no snapshot.
      expect(inode(volumeDir(a, 'copy'))).toBe(before);
      expect(statSync(join(volumeDir(a, 'copy'), 'rootfs/large')).nlink).toBe(1);
    });

    test('container_only leaves its snapshots alone', async () => {
      const { a } = two;
      await original(a, 'plain');
      await refresh('only', 'plain', { container_only: true });
      await a.daemon.ok('POST', '/1.0/containers/only/snapshots', { name: 'mine' });
      writeFileSync(join(volumeDir(a, 'plain'), 'rootfs/fresh'), 'x');
      expect((await refresh('only', 'plain', { container_only: true })).err).toBe('');
      expect(describeTree(volumeDir(a, 'only'))).toEqual(describeTree(volumeDir(a, 'plain')));
    });

    test('a running copy and a copy of itself are refused', async () => {
      const { a } = two;
      await createContainer(a.daemon, 'runs');
      await createContainer(a.daemon, 'source');
      await a.daemon.ok('PUT', '/1.0/containers/runs/state', { action: 'start' });
      const answer = await a.daemon.call('POST', '/1.0/containers', {
        name: 'runs',
        source: { type: 'copy', source: 'source', refresh: true },
      });
      expect([answer.status, answer.metadata.message]).toEqual([400, expect.stringContaining('is running')]);
      const itself = await a.daemon.call('POST', '/1.0/containers', {
        name: 'source',
        source: { type: 'copy', source: 'source', refresh: true },
      });
      expect([itself.status, itself.metadata.message]).toEqual([400, expect.stringContaining('from itself')]);
    });
  });
});

describe('the plan of a refresh', () => {
  const shot = (name: string, day: number, streamId?: string) => ({
    name,
    createdAt: `2030-01-0${day}T00:00:00Z`,
    streamId,
  });
  const plan = (source: ReturnType<typeof shot>[], target: ReturnType<typeof shot>[], canBeNative = false) =>
    planRefresh({ source, target, canBeNative, cheapCopies: canBeNative });

  test('transfers missing parts, each on the basis of the nearest older one', () => {
    expect(plan([shot('a', 1), shot('b', 2), shot('c', 3)], [shot('a', 1)])).toEqual({
      stale: [],
      parts: [{ snapshot: 'b', base: 'a' }, { snapshot: 'c', base: 'b' }, {}],
      isNative: false,
    });
  });
  test('treats a snapshot with another time as a different one', () => {
    expect(plan([shot('a', 2)], [shot('a', 1)])).toEqual({
      stale: ['a'],
      parts: [{ snapshot: 'a' }, {}],
      isNative: false,
    });
  });
  test('is native only with a snapshot that both streams know', () => {
    const target = [shot('a', 1, 'x'), shot('b', 2, 'y')];
    expect(plan([shot('a', 1, 'x'), shot('b', 2, 'z'), shot('c', 3, 'q')], target, true)).toEqual({
      stale: [],
      parts: [{ snapshot: 'c', base: 'a' }, { base: 'c' }],
      isNative: true,
    });
    expect(plan([shot('a', 1, 'other')], target, true).isNative).toBe(false);
  });
});
