// Failures of backups: the daemon killed while it makes or restores one, full disks, a guest that swaps links.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../../../server/drivers/storage/btrfs/btrfs.ts';
import {
  call,
  createContainer,
  type Json,
  makeDaemon,
  makeSeeded,
  seed,
  type TestDaemon,
} from '../../../../support/daemons/daemon.ts';
import { bundleDaemon, read, settle, startChild, type ChildDaemon } from '../../../../support/daemons/child-process.ts';
import { flip, flipperMissing } from '../../../../support/hostile/flipper.ts';
import { tarOf, type TarPiece } from '../../../../support/images/hostile.ts';
import { loopsBelow, mountsBelow, unmountBelow, loopsGone } from '../../../../support/hosts/mounts.ts';
import { isLongRun } from '../../../../support/left-out.ts';
import { until } from '../../../../support/until.ts';
import { tempFolder } from '../../../../support/temp-folder.ts';

const notRoot = process.getuid?.() === 0 ? undefined : 'it needs root';
if (notRoot !== undefined) console.log(`skipped: backups on full disks and of hostile guests: ${notRoot}`);
const noBtrfs = (await btrfsMissing()) ?? (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (noBtrfs !== undefined) console.log(`skipped: faults of backups with btrfs: ${noBtrfs}`);
const noFlip = notRoot ?? flipperMissing();
if (noFlip !== undefined) console.log(`skipped: backups of a guest that swaps links: ${noFlip}`);

const octets = { 'content-type': 'application/octet-stream' };
const list = (path: string): string[] => (existsSync(path) ? readdirSync(path).toSorted() : []);

const bundle = bundleDaemon();

describe.each(noBtrfs === undefined ? ['dir', 'btrfs'] : ['dir'])('kill -9 on a pool of driver %s', (driver) => {
  let dir = '';
  let daemon: ChildDaemon | undefined;
  let saved: Buffer = Buffer.alloc(0);
  let savedVolume: Buffer = Buffer.alloc(0);
  const custom = '/1.0/storage-pools/p/volumes/custom';
  let backups: string[] = [];
  const pool = (...rest: string[]): string => join(dir, 'storage-pools', 'p', ...rest);
  const start = async (): Promise<ChildDaemon> => (daemon = await startChild(bundle, dir, 'sim'));
  const body = { optimized_storage: driver === 'btrfs', compression_algorithm: 'zstd' };

  beforeAll(async () => {
    dir = await realpath(tempFolder('gtya-bkill-'));
    const first = await start();
    const config = driver === 'btrfs' ? { size: '256MiB' } : {};
    await call(first, 'POST', '/1.0/storage-pools', { name: 'p', driver, config });
    await call(first, 'PUT', '/1.0/profiles/default', { devices: { root: { type: 'disk', path: '/', pool: 'p' } } });
    await settle(first, 'POST', '/1.0/containers', { name: 'c', source: { type: 'none' } });
    for (let folder = 0; folder < 10; folder += 1) {
      mkdirSync(pool('containers', 'c', 'rootfs', `d${folder}`));
      for (let file = 0; file < 20; file += 1)
        writeFileSync(pool('containers', 'c', 'rootfs', `d${folder}`, `f${file}`), randomBytes(2000));
    }
    await settle(first, 'POST', '/1.0/containers/c/snapshots', { name: 's' });
    await settle(first, 'POST', '/1.0/containers/c/backups', { name: 'whole', ...body });
    saved = (await call(first, 'GET', '/1.0/containers/c/backups/whole/export')).bytes;
    await call(first, 'POST', custom, { name: 'v' });
    for (let file = 0; file < 200; file += 1) writeFileSync(pool('custom', 'v', `f${file}`), randomBytes(2000));
    await settle(first, 'POST', `${custom}/v/snapshots`, { name: 's' });
    await settle(first, 'POST', `${custom}/v/backups`, { name: 'whole', ...body });
    savedVolume = (await call(first, 'GET', `${custom}/v/backups/whole/export`)).bytes;
    backups = list(join(dir, 'backups'));
  });
  afterAll(async () => {
    await daemon?.kill('SIGKILL').catch(() => {});
    unmountBelow(dir);
    rmSync(dir, { recursive: true, force: true });
    await loopsGone(dir);
  });

  async function expectKnown(at: ChildDaemon): Promise<void> {
    const containers = (await read(at, '/1.0/containers?recursion=2')) as Json[];
    const names = containers.map((each) => each.name as string).toSorted();
    expect(list(pool('containers'))).toEqual(names);
    const snapshots = containers.filter((each) => each.snapshots !== null).map((each) => each.name as string);
    expect(list(pool('containers-snapshots'))).toEqual(snapshots.toSorted());
    await until(() => list(pool('tmp')).length === 0);
    const volumes = ((await read(at, `${custom}?recursion=1`)) as Json[]).filter(({ name }) => !name.includes('/'));
    expect(list(pool('custom'))).toEqual(volumes.map(({ name }) => name as string).toSorted());
    expect(list(pool('custom-snapshots'))).toEqual(list(pool('custom')));
    const ofContainer = (await read(at, '/1.0/containers/c/backups')) as string[];
    const known = ofContainer.length + ((await read(at, `${custom}/v/backups`)) as string[]).length;
    expect(list(join(dir, 'backups')).filter((each) => each !== '.uploads')).toHaveLength(known);
    expect(list(join(dir, 'backups', '.uploads'))).toEqual([]);
    if (driver === 'dir') return;
    const listed = execFileSync('btrfs', ['subvolume', 'list', pool()], { encoding: 'utf8' });
    expect(listed.trim().split('\n')).toHaveLength(names.length + snapshots.length + 2 * volumes.length);
    expect([mountsBelow(dir).length, loopsBelow(dir).length]).toEqual([1, 1]);
  }

  test.each(isLongRun ? [5, 40, 150] : [40])(
    'in the middle of making and restoring backups of containers and volumes, after %i ms, leaves complete results or none',
    async (delay) => {
      const running = daemon ?? (await start());
      const restored = { ...octets, 'x-svc-name': `r${delay}` };
      const answers = Promise.allSettled([
        call(running, 'POST', '/1.0/containers/c/backups', body),
        call(running, 'POST', `${custom}/v/backups`, body),
        call(running, 'POST', '/1.0/containers', saved, restored),
        call(running, 'POST', custom, savedVolume, restored),
      ]);
      await new Promise((resolve) => setTimeout(resolve, delay));
      await running.kill('SIGKILL');
      await answers;
      await expectKnown(await start());
    },
  );

  test('a new backup and a restore of it succeed afterwards', async () => {
    const running = daemon ?? (await start());
    expect(list(join(dir, 'backups'))).toEqual(expect.arrayContaining(backups));
    const made = await settle(running, 'POST', '/1.0/containers/c/backups', { name: 'last', ...body });
    expect(made.operation?.err).toBe('');
    const { bytes } = await call(running, 'GET', '/1.0/containers/c/backups/last/export');
    const answer = await call(running, 'POST', '/1.0/containers', bytes, { ...octets, 'x-svc-name': 'again' });
    const ended = await read(running, `${String(answer.body.operation)}/wait`);
    expect(ended.err).toBe('');
    const volume = await call(running, 'POST', custom, savedVolume, { ...octets, 'x-svc-name': 'again' });
    expect((await read(running, `${String(volume.body.operation)}/wait`)).err).toBe('');
    expect(list(pool('custom', 'again'))).toHaveLength(200);
    for (const tree of ['c', 'again']) expect(list(pool('containers', tree, 'rootfs', 'd9'))).toHaveLength(20);
    expect(readFileSync(pool('containers', 'again', 'rootfs', 'd7', 'f7'))).toEqual(
      readFileSync(pool('containers', 'c', 'rootfs', 'd7', 'f7')),
    );
  });
});

describe.skipIf(notRoot !== undefined)('a full disk', () => {
  let folder = '';
  let daemon: TestDaemon;
  beforeAll(async () => {
    folder = await realpath(tempFolder('gtya-bfull-'));
    for (const [name, size] of [
      ['state', '40m'],
      ['small', '6m'],
    ] as const) {
      mkdirSync(join(folder, name));
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', join(folder, name)]);
    }
    mkdirSync(join(folder, 'state', 'd'));
    mkdirSync(join(folder, 'small', 'pool'));
    daemon = await makeSeeded({ dir: join(folder, 'state', 'd') });
  });
  afterAll(async () => {
    await daemon?.cleanUp();
    unmountBelow(folder);
  });
  const files = (): string[] => list(join(daemon.dir, 'backups')).filter((each) => each !== '.uploads');
  const index = JSON.stringify({
    name: 'big',
    backend: 'dir',
    pool: 'small',
    config: { container: { architecture: 'x86_64', profiles: ['default'] } },
  });
  const file = (name: string, content: string | Buffer): TarPiece => ({ name, content, mode: 0o644 });
  const bytesOf = (...more: readonly TarPiece[]): Buffer =>
    gzipSync(
      tarOf(
        file('backup/index.yaml', index),
        { name: 'backup/container/', flag: '5' },
        { name: 'backup/container/rootfs/', flag: '5' },
        ...more,
      ),
      { level: 1 },
    );
  /** Whatever happens in a test, the next one has free space again. */
  const fill = (): string => join(folder, 'state', 'fill');
  afterEach(() => rmSync(fill(), { force: true }));
  function fillUp(left: number): void {
    const { bavail, bsize } = statfsSync(join(folder, 'state'));
    writeFileSync(fill(), Buffer.alloc(bavail * bsize - left));
  }
  async function refused(bytes: Buffer, place: string): Promise<string> {
    const operation = await daemon.run('POST', '/1.0/containers', bytes, { ...octets, 'x-svc-pool': place });
    expect(operation.status).toBe('Failure');
    expect((await daemon.call('GET', '/1.0/containers/big')).status).toBe(404);
    expect(list(join(daemon.dir, 'backups', '.uploads'))).toEqual([]);
    return operation.err;
  }

  test.each(['none', 'zstd'])(
    'while a backup packed by %s is made: it fails with the reason, nothing is left behind, and the next one succeeds',
    async (algorithm) => {
      const c = `c-${algorithm}-${Date.now()}`;
      await createContainer(daemon, c);
      writeFileSync(join(daemon.dir, 'storage-pools/default/containers', c, 'rootfs/big'), randomBytes(6_000_000));
      // Files that the test before deleted are unlinked after the answer, and would free space.
      await until(() => list(join(daemon.dir, 'storage-pools/default/tmp')).length === 0);
      fillUp(3_000_000);
      const body = { name: 'b', compression_algorithm: algorithm };
      const operation = await daemon.run('POST', `/1.0/containers/${c}/backups`, body);
      expect([operation.status, operation.err]).toEqual([
        'Failure',
        expect.stringMatching(/no space is left|No space left/),
      ]);
      expect(files()).toEqual([]);
      expect(await daemon.get(`/1.0/containers/${c}/backups`)).toEqual([]);
      rmSync(fill());
      await daemon.ok('POST', `/1.0/containers/${c}/backups`, body);
      expect(files()).toHaveLength(1);
      await daemon.ok('DELETE', `/1.0/containers/${c}`);
      expect(files()).toEqual([]);
    },
  );

  test('an upload to a full disk fails with the reason, nothing is left behind', async () => {
    const answer = await daemon.call('POST', '/1.0/containers', Buffer.alloc(50_000_000, 1), octets);
    expect([answer.status, answer.bytes.toString()]).toEqual([
      500,
      expect.stringMatching(/the disk of .*\.uploads is full/),
    ]);
    expect(list(join(daemon.dir, 'backups', '.uploads'))).toEqual([]);
  });

  test('a full disk of a directory pool while its container is made: refused in advance where possible, undone otherwise', async () => {
    await daemon.call('POST', '/1.0/storage-pools', {
      name: 'small',
      driver: 'dir',
      config: { source: join(folder, 'small', 'pool') },
    });
    expect(await refused(bytesOf(file('backup/container/rootfs/a', Buffer.alloc(8_000_000))), 'small')).toMatch(
      /there is room for/,
    );
    // Small files need more space than they have bytes.
    const many = Array.from({ length: 2500 }, (_, at) => file(`backup/container/rootfs/f${at}`, 'x'));
    expect(await refused(bytesOf(...many), 'small')).toMatch(/no space is left/);
    await until(() => list(join(folder, 'small', 'pool', 'tmp')).length === 0);
    expect(list(join(folder, 'small', 'pool', 'containers'))).toEqual([]);
    await daemon.ok('POST', '/1.0/containers', bytesOf(), { ...octets, 'x-svc-pool': 'small' });
    await daemon.ok('DELETE', '/1.0/containers/big');
  });

  test.skipIf(noBtrfs !== undefined)('a full disk of a btrfs pool while its container is made is undone', async () => {
    const image = join(folder, 'disk');
    execFileSync('truncate', ['--size=128M', image]);
    execFileSync('mkfs.btrfs', ['--quiet', image]);
    const mount = join(folder, 'btrfs');
    mkdirSync(mount);
    execFileSync('mount', ['-o', 'loop', image, mount]);
    mkdirSync(join(mount, 'pool'));
    const config = { source: join(mount, 'pool') };
    expect((await daemon.call('POST', '/1.0/storage-pools', { name: 'bt', driver: 'btrfs', config })).status).toBe(200);
    const big = bytesOf(file('backup/container/rootfs/a', Buffer.alloc(120_000_000)));
    expect(await refused(big, 'bt')).toMatch(/no space is left/);
    await until(() => list(join(mount, 'pool', 'tmp')).length === 0);
    expect(execFileSync('btrfs', ['subvolume', 'list', mount], { encoding: 'utf8' })).toBe('');
    await until(() => {
      execFileSync('btrfs', ['filesystem', 'sync', mount]);
      return (
        Number(execFileSync('df', ['--output=avail', '-B1', mount], { encoding: 'utf8' }).split('\n')[1]) > 20_000_000
      );
    });
    await daemon.ok('POST', '/1.0/containers', bytesOf(), { ...octets, 'x-svc-pool': 'bt' });
    await daemon.ok('DELETE', '/1.0/containers/big');
    expect((await daemon.call('DELETE', '/1.0/storage-pools/bt')).status).toBe(200);
  });
});

test.skipIf(noFlip !== undefined)(
  'a guest that swaps a directory and a link brings no file of the host into its backup',
  async () => {
    const folder = tempFolder('gtya-bflip-');
    const daemon = await makeDaemon();
    try {
      await seed(daemon);
      await createContainer(daemon, 'c');
      const secret = 'the secret of the host';
      mkdirSync(join(folder, 'host', 'deep'), { recursive: true });
      for (let at = 0; at < 50; at += 1) writeFileSync(join(folder, 'host', 'deep', `f${at}`), secret);
      const rootfs = join(daemon.dir, 'storage-pools/default/containers/c/rootfs');
      mkdirSync(join(rootfs, 'a', 'deep'), { recursive: true });
      for (let at = 0; at < 50; at += 1) writeFileSync(join(rootfs, 'a', 'deep', `f${at}`), 'of the guest');
      symlinkSync(join(folder, 'host'), join(rootfs, 'b'));
      const flipper = await flip(join(rootfs, 'a'), join(rootfs, 'b'));
      let seen = 0;
      try {
        for (let round = 0; round < 3; round += 1) {
          const name = `b${round}`;
          await daemon.ok('POST', '/1.0/containers/c/backups', { name, compression_algorithm: 'none' });
          const { bytes } = await daemon.call('GET', `/1.0/containers/c/backups/${name}/export`);
          expect(bytes.includes(secret)).toBe(false);
          if (bytes.includes('of the guest')) seen += 1;
        }
      } finally {
        expect(await flipper.stop()).toBeGreaterThan(100);
      }
      expect(seen).toBeGreaterThan(0);
    } finally {
      await daemon.cleanUp();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
