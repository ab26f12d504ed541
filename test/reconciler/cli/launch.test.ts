// Remotes by short names, and containers launched from them: on the simulation, and on real containers where they can run.
import { readFileSync, rmSync, writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { makeDaemon, realRuntimeMissing, seed, type TestDaemon } from '../../support/daemons/daemon.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { fakeServer, serveTree, streamTree, type FakeServer } from '../../support/images/remotes.ts';

const missing = await realRuntimeMissing();
const noImage = busyboxMissing();
if (noImage !== undefined) console.log(`skipped: launch of an image: ${noImage}`);

const gantry = (daemon: TestDaemon, ...words: readonly string[]): Promise<CliRun> =>
  cli(words, { env: { GANTRY_SOCKET: daemon.socketPath, XDG_CONFIG_HOME: join(daemon.dir, 'home') } });

async function ok(daemon: TestDaemon, ...words: readonly string[]): Promise<CliRun> {
  const ran = await gantry(daemon, ...words);
  expect([words.join(' '), ran.code, ran.stderr]).toEqual([words.join(' '), 0, ran.stderr]);
  return ran;
}

describe('launch', () => {
  let daemon: TestDaemon;
  let streams: FakeServer;
  beforeAll(async () => {
    daemon = await makeDaemon();
    if (noImage !== undefined) return;
    const built = await buildBusyboxImage(join(daemon.dir, 'made'), { split: true, compression: 'xz' });
    const version = { metadata: readFileSync(built.metadataPath), rootfs: readFileSync(built.rootfsPath ?? '') };
    const product = { aliases: 'busy/1', arch: 'amd64', versions: { '20240101': version } };
    streams = await fakeServer('http', serveTree(streamTree({ busy: product })));
    mkdirSync(join(daemon.dir, 'home/gantry'), { recursive: true });
    const remotes = { near: { url: streams.url, protocol: 'simplestreams' } };
    writeFileSync(join(daemon.dir, 'home/gantry/remotes.json'), JSON.stringify(remotes));
  });
  afterAll(async () => {
    await streams?.close();
    await daemon?.cleanUp();
  });

  test('images: and ubuntu: are built in, and a remote of the user is added, used before a built-in one, and removed', async () => {
    const { stdout } = await ok(daemon, 'remote', 'list');
    expect(stdout).toMatch(/^images +https:\/\/images\.linuxcontainers\.org +simplestreams +built in$/m);
    expect(stdout).toMatch(/^ubuntu +https:\/\/cloud-images\.ubuntu\.com\/releases +simplestreams +built in$/m);
    await ok(daemon, 'remote', 'add', 'images', 'https://mirror.example/');
    expect((await ok(daemon, 'remote', 'ls', '--json')).stdout).toContain(
      '{"name":"images","url":"https://mirror.example","protocol":"simplestreams","built_in":false}',
    );
    await ok(daemon, 'remote', 'remove', 'images');
    expect((await ok(daemon, 'remote', 'list')).stdout).toMatch(/^images +https:\/\/images\.linuxcontainers/m);
    expect(await gantry(daemon, 'remote', 'rm', 'images')).toMatchObject({ code: 1 });
    expect((await gantry(daemon, 'remote', 'rm', 'imagse')).stderr).toContain('did you mean images?');
    expect(await gantry(daemon, 'remote', 'add', 'x', 'ftp://x')).toMatchObject({ code: 64 });
    expect(await gantry(daemon, 'remote', 'add', 'local', 'https://x')).toMatchObject({ code: 64 });
    expect((await gantry(daemon, 'image', 'copy', 'debian/12')).stderr).toContain('names no server');
  });

  test('a missing pool, an unknown remote and an unknown image have different errors, and nothing is created', async () => {
    const unknown = await gantry(daemon, 'launch', 'imagse:debian/12', 'web');
    expect([unknown.code, unknown.stderr]).toEqual([64, expect.stringContaining('did you mean images?')]);
    const none = await gantry(daemon, 'launch', 'debian/12', 'web');
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('images:debian/12 would be fetched')]);
    const pool = await gantry(daemon, 'launch', 'near:busy/1', 'web');
    expect([pool.code, pool.stderr]).toEqual([1, expect.stringContaining('gantry init')]);
    const network = await gantry(daemon, 'launch', 'near:busy/1', 'web', '--network', 'lost');
    expect([network.code, network.stderr]).toEqual([1, expect.stringContaining('network/lost does not exist')]);
    expect(await daemon.get('/1.0/containers')).toEqual([]);
  });

  test.skipIf(noImage !== undefined)(
    'a container of a remote image runs, on the only pool where no profile names one',
    async () => {
      await daemon.call('POST', '/1.0/storage-pools', { name: 'only', driver: 'dir' });
      const made = await ok(daemon, 'launch', 'near:busy/1', 'container/web', '-c', 'user.a=1');
      expect(made).toMatchObject({ stdout: 'container/web started\n' });
      expect(made.stderr).toContain('no network card');
      const web = (await daemon.get('/1.0/containers/web')) as Record<string, Record<string, unknown>>;
      expect(web).toMatchObject({ status: 'Running', config: { 'user.a': '1' }, devices: { root: { pool: 'only' } } });
      const again = await gantry(daemon, 'launch', 'near:busy/1', 'web');
      expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('gantry start web')]);
      const json = (await ok(daemon, 'launch', 'near:busy/1', '--no-start', '--json')).stdout;
      const { name, state } = JSON.parse(json) as { name: string; state: string };
      expect([name === '', state]).toEqual([false, 'created']);
      await ok(daemon, 'delete', '--force', 'web', name);
    },
  );
});

describe.skipIf(missing !== undefined)('on real containers', () => {
  test('a container is launched, looked into, stopped, started and deleted', async () => {
    const daemon = await makeDaemon({ runtime: 'lxc' });
    onTestFinished(() => daemon.cleanUp());
    await seed(daemon);
    const { metadataPath } = await buildBusyboxImage(join(daemon.dir, 'made'));
    await ok(daemon, 'image', 'import', metadataPath, '--alias', 'busy');
    rmSync(metadataPath);
    await ok(daemon, 'launch', 'busy', 'daily');
    expect((await ok(daemon, 'exec', 'daily', '--', 'echo', 'hello')).stdout).toBe('hello\n');
    expect((await ok(daemon, 'info', 'daily')).stdout).toMatch(/State: +Running \(pid \d+\)/);
    expect((await ok(daemon, 'list')).stdout).toMatch(/daily +Running/);
    const shell = await cli(['shell', 'daily'], {
      piped: 'echo "in $HOSTNAME $HOME"; exit 3\n',
      env: { GANTRY_SOCKET: daemon.socketPath },
    });
    expect([shell.code, shell.stdout]).toEqual([3, expect.stringContaining('/root')]);
    await ok(daemon, 'pause', 'daily');
    await ok(daemon, 'stop', 'daily', '--grace', '20s');
    await ok(daemon, 'restart', 'daily');
    expect((await ok(daemon, 'logs', 'daily', '--log', 'list')).stdout).toContain('lxc.log\n');
    await ok(daemon, 'logs', 'daily');
    await ok(daemon, 'delete', 'daily', '--force');
    expect(await daemon.get('/1.0/containers')).toEqual([]);
  });
});
