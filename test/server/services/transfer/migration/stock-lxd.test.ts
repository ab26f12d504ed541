// Containers and volumes between a real LXD and this daemon, moved by the stock client: no flag that its user would not expect.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestDaemon } from '../../../../support/daemons/daemon.ts';
import { describeTree, plant } from '../../../../support/daemons/two-daemons.ts';
import { clientMissing } from '../../../../support/hosts/lxd-clients.ts';
import { openLxdAndDaemon, treeIn, type LxdAndDaemon } from '../../../../support/hosts/lxd-and-daemon.ts';
import { stockLxdMissing, type StockLxd } from '../../../../support/hosts/stock-lxd.ts';

const missing = stockLxdMissing() ?? clientMissing('lxc');
if (missing !== undefined) console.log(`skipped: migration from and to a real LXD, since ${missing}`);

const modes = ['pull', 'push', 'relay'] as const;

describe.skipIf(missing !== undefined)('a real LXD and this daemon', () => {
  let pair: LxdAndDaemon;
  let lxd: StockLxd;
  let daemon: TestDaemon;
  let lxc: LxdAndDaemon['lxc'];
  beforeAll(async () => {
    pair = await openLxdAndDaemon('gtmig-');
    ({ lxd, daemon, lxc } = pair);
    await lxc('init', 'lxd:busybox', 'lxd:c', '-c', 'user.a=b');
    plant(lxdTree('c'));
    // LXD's protocol forgets which names are of one file.
    rmSync(join(lxdTree('c'), 'rootfs/hard'));
    await lxc('snapshot', 'lxd:c', 's0');
    writeFileSync(join(lxdTree('c'), 'rootfs/later'), 'later');
  });
  afterAll(() => pair?.cleanUp());

  const lxdTree = (name: string, snapshot?: string): string => treeIn(lxd, 'default', name, snapshot);
  const ourTree = (name: string, snapshot?: string): string => treeIn(daemon, 'default', name, snapshot);
  const rootfs = (tree: string): string => describeTree(join(tree, 'rootfs'));
  const attributes = (tree: string): string =>
    execFileSync('getfattr', ['-R', '-h', '-d', '-m', '-', '.'], { cwd: join(tree, 'rootfs'), encoding: 'utf8' });

  test.each(modes)('a container with its snapshot comes whole from LXD and goes back (%s)', async (mode) => {
    const [here, back] = [`c-${mode}`, `back-${mode}`];
    await lxc('copy', 'lxd:c', `gantry:${here}`, '--mode', mode);
    expect(rootfs(ourTree(here))).toBe(rootfs(lxdTree('c')));
    expect(rootfs(ourTree(here, 's0'))).toBe(rootfs(lxdTree('c', 's0')));
    expect(attributes(ourTree(here))).toBe(attributes(lxdTree('c')));
    const { config, devices } = await daemon.get(`/1.0/containers/${here}`);
    expect(config).toMatchObject({ 'user.a': 'b', 'image.os': expect.any(String) });
    expect(devices).toEqual({});
    expect((await daemon.get(`/1.0/containers/${here}/snapshots/s0`)).config).toMatchObject({ 'user.a': 'b' });

    await lxc('copy', `gantry:${here}`, `lxd:${back}`, '--mode', mode);
    expect(rootfs(lxdTree(back))).toBe(rootfs(lxdTree('c')));
    expect(rootfs(lxdTree(back, 's0'))).toBe(rootfs(lxdTree('c', 's0')));
    expect((await lxd.get(`/1.0/instances/${back}`)).config).toMatchObject({ 'user.a': 'b' });
  });

  test('volumes travel both ways while rsync.compression of the pool here is off, and no faster than its rsync.bwlimit', async () => {
    const pool = '/1.0/storage-pools/default';
    await lxc('storage', 'volume', 'create', 'lxd:default', 'plain');
    writeFileSync(join(lxd.dir, 'storage-pools/default/custom/default_plain/file'), randomBytes(600_000));
    await daemon.call('PATCH', pool, { config: { 'rsync.compression': 'false' } });
    try {
      await lxc('storage', 'volume', 'copy', 'lxd:default/plain', 'gantry:default/plain');
      const ours = readFileSync(join(daemon.dir, 'storage-pools/default/custom/plain/file'));
      await daemon.call('PATCH', pool, { config: { 'rsync.bwlimit': '200kB' } });
      const startMs = Date.now();
      await lxc('storage', 'volume', 'copy', 'gantry:default/plain', 'lxd:default/slow');
      // A second's worth may go at once.
      expect(Date.now() - startMs).toBeGreaterThan(1_900);
      expect(readFileSync(join(lxd.dir, 'storage-pools/default/custom/default_slow/file')).equals(ours)).toBe(true);
    } finally {
      await daemon.call('PATCH', pool, { config: { 'rsync.compression': '', 'rsync.bwlimit': '' } });
    }
  });

  test('a copy is brought up to date on either side', async () => {
    writeFileSync(join(lxdTree('c'), 'rootfs/news'), 'news');
    await lxc('snapshot', 'lxd:c', 's1');
    await lxc('copy', '--refresh', 'lxd:c', 'gantry:c-pull');
    expect(rootfs(ourTree('c-pull'))).toBe(rootfs(lxdTree('c')));
    expect(rootfs(ourTree('c-pull', 's1'))).toBe(rootfs(lxdTree('c', 's1')));

    writeFileSync(join(ourTree('c-pull'), 'rootfs/news'), 'other');
    await lxc('snapshot', 'gantry:c-pull', 's2');
    await lxc('copy', '--refresh', 'gantry:c-pull', 'lxd:back-pull');
    expect(rootfs(lxdTree('back-pull'))).toBe(rootfs(ourTree('c-pull')));
    expect(rootfs(lxdTree('back-pull', 's2'))).toBe(rootfs(ourTree('c-pull', 's2')));
  });

  test('a move leaves the container on one side only', async () => {
    const before = rootfs(lxdTree('back-push'));
    await lxc('move', 'lxd:back-push', 'gantry:mover');
    expect((await lxd.call('GET', '/1.0/instances/back-push')).status).toBe(404);
    expect(rootfs(ourTree('mover'))).toBe(before);
    await lxc('move', 'gantry:mover', 'lxd:mover');
    expect((await daemon.call('GET', '/1.0/containers/mover')).status).toBe(404);
    expect(rootfs(lxdTree('mover'))).toBe(before);
  });

  // The volume above is pulled, and containers have all modes.
  test('a pushed custom volume comes from LXD and goes back', async () => {
    await lxc('storage', 'volume', 'create', 'lxd:default', 'v', 'user.a=b');
    const path = join(lxd.dir, 'storage-pools/default/custom/default_v');
    writeFileSync(join(path, 'file'), 'in a volume');
    await lxc('storage', 'volume', 'snapshot', 'lxd:default', 'v', 's0');
    writeFileSync(join(path, 'file'), 'changed');
    await lxc('storage', 'volume', 'copy', 'lxd:default/v', 'gantry:default/v', '--mode', 'push');
    const ours = join(daemon.dir, 'storage-pools/default');
    expect(readFileSync(join(ours, 'custom/v/file'), 'utf8')).toBe('changed');
    expect(readFileSync(join(ours, 'custom-snapshots/v/s0/file'), 'utf8')).toBe('in a volume');
    expect((await daemon.get('/1.0/storage-pools/default/volumes/custom/v')).config).toMatchObject({
      'user.a': 'b',
    });
    await lxc('storage', 'volume', 'copy', 'gantry:default/v', 'lxd:default/w', '--mode', 'push');
    expect(readFileSync(join(lxd.dir, 'storage-pools/default/custom/default_w/file'), 'utf8')).toBe('changed');
    writeFileSync(join(ours, 'custom/v/file'), 'changed here');
    await lxc('storage', 'volume', 'snapshot', 'gantry:default', 'v', 's1');
    await lxc('storage', 'volume', 'copy', 'gantry:default/v', 'lxd:default/w', '--refresh');
    expect(readFileSync(join(lxd.dir, 'storage-pools/default/custom/default_w/file'), 'utf8')).toBe('changed here');
    expect(await lxd.get('/1.0/storage-pools/default/volumes/custom/w/snapshots')).toHaveLength(2);
    writeFileSync(join(lxd.dir, 'storage-pools/default/custom/default_w/file'), 'changed there');
    await lxc('storage', 'volume', 'snapshot', 'lxd:default', 'w', 's2');
    await lxc('storage', 'volume', 'delete', 'lxd:default', 'w/s0');
    for (const mode of ['pull', 'push', 'relay']) {
      writeFileSync(join(ours, 'custom/v/stray'), mode);
      await lxc('storage', 'volume', 'copy', 'lxd:default/w', 'gantry:default/v', '--refresh', '--mode', mode);
      expect([mode, ...readdirSync(join(ours, 'custom/v'))]).toEqual([mode, 'file']);
      expect(readFileSync(join(ours, 'custom/v/file'), 'utf8')).toBe('changed there');
      expect(readdirSync(join(ours, 'custom-snapshots/v'))).toEqual(['s1', 's2']);
    }
    expect(readFileSync(join(ours, 'custom-snapshots/v/s2/file'), 'utf8')).toBe('changed there');
    for (const mode of ['pull', 'push', 'relay']) {
      await lxc(
        'storage',
        'volume',
        'copy',
        'gantry:default/v',
        `lxd:default/${mode}`,
        '--mode',
        mode,
        '--volume-only',
      );
      const alone = join(lxd.dir, `storage-pools/default/custom/default_${mode}/file`);
      expect([mode, readFileSync(alone, 'utf8')]).toEqual([mode, 'changed there']);
    }
  });

  test('a running container is copied in two passes, but its memory stays', async () => {
    await lxc('start', 'gantry:c-relay');
    await lxc('copy', 'gantry:c-relay', 'lxd:copied', '--stateless');
    expect(rootfs(lxdTree('copied'))).toBe(rootfs(ourTree('c-relay')));
    const live = await lxc.run(['copy', 'gantry:c-relay', 'lxd:live']);
    // Both ends refuse, and the client says what it heard first. LXD does without the program criu.
    const refused = /does not travel: copy it with --stateless|CRIU isn't installed on the destination server/;
    expect(live).toMatchObject({ code: 1, stderr: expect.stringMatching(refused) });
    expect((await lxd.call('GET', '/1.0/instances/live')).status).toBe(404);
    await lxc('start', 'lxd:copied');
    await lxc('copy', 'lxd:copied', 'gantry:of-running', '--stateless');
    expect(await daemon.get('/1.0/containers/of-running')).toMatchObject({ status: 'Stopped' });
    await lxc('stop', '--force', 'lxd:copied');
  });

  test('a name that is taken leaves nothing behind on either side', async () => {
    const before = [rootfs(ourTree('c-push')), rootfs(lxdTree('back-relay'))];
    const again = await lxc.run(['copy', 'lxd:c', 'gantry:c-push']);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringMatching(/exists/) });
    expect((await lxc.run(['copy', 'gantry:c-push', 'lxd:back-relay'])).code).toBe(1);
    expect([rootfs(ourTree('c-push')), rootfs(lxdTree('back-relay'))]).toEqual(before);
  });
});
