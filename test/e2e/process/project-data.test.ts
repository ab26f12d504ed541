// The stock client `lxc` manages images and custom volumes in projects, on every runtime.
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { hostRemains, makeDaemon, realRuntimeMissing, seed, type TestDaemon } from '../../support/daemons/daemon.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { clientMissing, lxcClient } from '../../support/hosts/lxd-clients.ts';

const missing = { sim: busyboxMissing(), lxc: await realRuntimeMissing(), client: clientMissing('lxc') };
for (const [what, why] of Object.entries(missing)) if (why !== undefined) console.log(`skipped: ${what}: ${why}`);

describe.each(['sim', 'lxc'] as const)('on %s', (runtime) => {
  describe.skipIf((missing[runtime] ?? missing.client) !== undefined)('lxc', () => {
    let daemon: TestDaemon;
    let work: string;
    let lxc: ReturnType<typeof lxcClient>;
    let image = '';
    const inProject =
      (project: string) =>
      (...words: readonly string[]): Promise<string> =>
        lxc('--project', project, ...words);
    const [red, blue] = [inProject('red'), inProject('blue')];

    beforeAll(async () => {
      work = await mkdtemp(join(await realpath(tmpdir()), 'gtyl-'));
      const socket = join(work, 'lxd', 'unix.socket');
      daemon = await makeDaemon({ runtime, lxd: { socket } });
      await seed(daemon);
      lxc = lxcClient(join(work, 'lxd'), work);
      await lxc('config', 'set', `core.https_address=127.0.0.1:${await freePort()}`);
      image = (await buildBusyboxImage(join(work, 'image'), { busybox: { dhcp: false } })).metadataPath;
      for (const project of ['red', 'blue']) {
        await lxc('project', 'create', project);
        await lxc(
          '--project',
          project,
          'profile',
          'device',
          'add',
          'default',
          'root',
          'disk',
          'path=/',
          'pool=default',
        );
      }
    });
    afterAll(async () => {
      const dir = daemon?.dir;
      await daemon?.cleanUp();
      await rm(work, { recursive: true, force: true });
      expect(hostRemains(dir ?? 'none')).toEqual([]);
    });

    test('imports, lists, copies, publishes and deletes images', { timeout: 120_000 }, async () => {
      await red('image', 'import', image, '--alias', 'bb');
      expect(await red('image', 'list', '-f', 'csv', '-c', 'l')).toBe('bb\n');
      expect(await blue('image', 'list', '-f', 'csv')).toBe('');
      expect(await lxc('image', 'list', '-f', 'csv')).toBe('');
      expect((await lxc.run(['--project', 'blue', 'image', 'info', 'bb'])).code).toBe(1);
      expect((await lxc.run(['--project', 'blue', 'init', 'bb', 'c'])).stderr).toMatch(/not found/i);
      // This client takes the project of the remote for the source, not that of the flag.
      await lxc('project', 'switch', 'red');
      await lxc('image', 'copy', 'bb', 'local:', '--alias', 'copied', '--target-project', 'blue');
      await lxc('project', 'switch', 'default');
      expect(await blue('image', 'list', '-f', 'csv', '-c', 'l')).toBe('copied\n');
      await red('init', 'bb', 'web');
      await blue('init', 'copied', 'web');
      await red('publish', 'web', '--alias', 'published');
      expect(await red('image', 'alias', 'list', '-f', 'csv')).toMatch(/^bb,[^]*^published,/m);
      expect(await blue('image', 'alias', 'list', '-f', 'csv')).toMatch(/^copied,/);
      await blue('image', 'alias', 'rename', 'copied', 'renamed');
      await red('image', 'delete', 'bb', 'published');
      expect(await red('image', 'list', '-f', 'csv')).toBe('');
      await blue('image', 'export', 'renamed', join(work, 'exported'));
      await blue('init', 'renamed', 'again');
      await blue('delete', 'again', 'web');
      await blue('image', 'delete', 'renamed');
      await red('delete', 'web');
    });

    test('creates, attaches, copies, moves and deletes volumes', { timeout: 180_000 }, async () => {
      for (const project of [red, blue]) {
        await project('image', 'import', image, '--alias', 'bb');
        await project('storage', 'volume', 'create', 'default', 'data');
        await project('init', 'bb', 'web');
        await project('storage', 'volume', 'attach', 'default', 'data', 'web', 'data', '/mnt');
      }
      const listOf = (project: typeof red): Promise<string> =>
        project('storage', 'volume', 'list', 'default', '-f', 'csv', '-c', 'tnu');
      expect(await listOf(red)).toMatch(/^container,web,1$/m);
      expect(await listOf(red)).toMatch(/^custom,data,1$/m);
      expect(await lxc('storage', 'volume', 'list', 'default', '-f', 'csv')).toBe('');
      expect(await lxc('storage', 'show', 'default')).toMatch(/volumes\/custom\/data\?project=blue/);
      if (runtime === 'lxc') {
        for (const [project, text] of [
          [red, 'of red'],
          [blue, 'of blue'],
        ] as const) {
          await project('start', 'web');
          await project('exec', 'web', '--', 'sh', '-c', `echo ${text} > /mnt/file`);
        }
        expect(await red('exec', 'web', '--', 'cat', '/mnt/file')).toBe('of red\n');
        expect(await blue('exec', 'web', '--', 'cat', '/mnt/file')).toBe('of blue\n');
        // Plugged into a container that runs.
        await red('storage', 'volume', 'create', 'default', 'later');
        await red('storage', 'volume', 'attach', 'default', 'later', 'web', 'later', '/later');
        await red('exec', 'web', '--', 'sh', '-c', 'echo later > /later/file');
        const files = join(daemon.dir, 'storage-pools/default/custom');
        expect(await readFile(join(files, 'red%later/file'), 'utf8')).toBe('later\n');
        expect(await readFile(join(files, 'blue%data/file'), 'utf8')).toBe('of blue\n');
        const renaming = await lxc.run(['--project', 'red', 'storage', 'volume', 'rename', 'default', 'later', 'x']);
        expect([renaming.code, renaming.stderr]).toEqual([1, expect.stringMatching(/running/)]);
        await red('stop', 'web', '--force');
        await blue('stop', 'web', '--force');
        await red('storage', 'volume', 'detach', 'default', 'later', 'web');
        await red('storage', 'volume', 'delete', 'default', 'later');
      }
      await red('storage', 'volume', 'rename', 'default', 'data', 'renamed');
      expect(await red('config', 'device', 'get', 'web', 'data', 'source')).toBe('renamed\n');
      expect(await blue('config', 'device', 'get', 'web', 'data', 'source')).toBe('data\n');
      await red('storage', 'volume', 'snapshot', 'default', 'renamed', 's');
      await red('storage', 'volume', 'copy', 'default/renamed', 'default/copied', '--target-project', 'blue');
      expect(await blue('storage', 'volume', 'show', 'default', 'copied/s')).toMatch(/name: s$/m);
      const words = 'storage volume move default/renamed default/renamed --target-project blue';
      const used = await lxc.run(['--project', 'red', ...words.split(' ')]);
      expect([used.code, used.stderr]).toEqual([1, expect.stringMatching(/in use|used by/)]);
      // This client moves by copying and deleting; its copy stays.
      await blue('storage', 'volume', 'delete', 'default', 'renamed');
      await red('storage', 'volume', 'detach', 'default', 'renamed', 'web');
      await red('storage', 'volume', 'move', 'default/renamed', 'default/moved', '--target-project', 'blue');
      expect(await listOf(red)).not.toMatch(/custom/);
      expect(await listOf(blue)).toMatch(/^custom,moved,0$/m);
      expect((await lxc.run(['--project', 'blue', 'storage', 'volume', 'delete', 'default', 'data'])).code).toBe(1);
      for (const project of [red, blue]) await project('delete', 'web');
      for (const name of ['data', 'copied', 'moved']) await blue('storage', 'volume', 'delete', 'default', name);
      for (const project of [red, blue]) await project('image', 'delete', 'bb');
    });

    test('takes the longest names, together', { timeout: 60_000 }, async () => {
      const [project, container, volume] = ['p'.repeat(64), 'c'.repeat(63), 'v'.repeat(63)];
      await lxc('project', 'create', project, '-c', 'features.profiles=false');
      const inside = inProject(project);
      await inside('image', 'import', image, '--alias', 'bb');
      await inside('storage', 'volume', 'create', 'default', volume);
      await inside('init', 'bb', container);
      await inside('storage', 'volume', 'attach', 'default', volume, container, 'data', '/mnt');
      await inside('start', container);
      if (runtime === 'lxc') await inside('exec', container, '--', 'sh', '-c', 'echo long > /mnt/file');
      await inside('delete', container, '--force');
      await inside('storage', 'volume', 'delete', 'default', volume);
      await inside('image', 'delete', 'bb');
      await lxc('project', 'delete', project);
    });

    test('deletes the projects when they are empty', async () => {
      for (const project of ['red', 'blue']) await lxc('project', 'delete', project);
      expect(await lxc('project', 'list', '-f', 'csv')).not.toMatch(/red|blue/);
    });
  });
});
