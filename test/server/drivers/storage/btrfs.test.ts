// The btrfs storage driver: the suite of all drivers, and what is special about subvolumes, pool files and mounts.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countSubvolumes } from '../../../../server/drivers/storage/btrfs/commands.ts';
import { defaultSize } from '../../../../server/drivers/storage/loop-file.ts';
import { isMountedBelow, mountedAt } from '../../../../server/drivers/storage/mountinfo.ts';
import { btrfsMissing, openBtrfsStorage } from '../../../../server/drivers/storage/btrfs/btrfs.ts';
import { openDirStorage } from '../../../../server/drivers/storage/dir.ts';
import type { PoolSpec, StorageDriver, UnpackImage, VolumeRef } from '../../../../server/drivers/storage/driver.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { storageConformance } from '../../../conformance/storage.ts';
import { codeOf } from '../../../conformance/storage-world.ts';
import { busyboxMissing } from '../../../support/images/busybox-rootfs.ts';
import { openBtrfsFixture } from '../../../support/drivers/storage-btrfs.ts';
import { simpleUnpack } from '../../../support/drivers/storage-fixture.ts';
import { loopsBelow, mountsBelow, unmountBelow, loopsGone } from '../../../support/hosts/mounts.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const why = busyboxMissing() ?? (await btrfsMissing()) ?? loopMissing();
if (why !== undefined) console.log(`skipped: the btrfs driver: ${why}`);

function loopMissing(): string | undefined {
  return existsSync('/dev/loop-control') ? undefined : 'there are no loop devices';
}

if (why === undefined) storageConformance('btrfs', openBtrfsFixture);

const never = new AbortController().signal;
const container = (name: string): VolumeRef => ({ type: 'container', name });
const custom = (name: string): VolumeRef => ({ type: 'custom', name });
const image = { fingerprint: 'a'.repeat(64), metadataPath: '/nowhere' };

let base = '';
const devices: string[] = [];
beforeAll(async () => {
  base = await realpath(tempFolder('gantry-btrfs-'));
});
afterAll(async () => {
  unmountBelow(base);
  for (const device of devices) execFileSync('losetup', ['--detach', device]);
  await rm(base, { recursive: true, force: true });
});

/** The first sector of a disk with one partition. */
function partitionTable(): Buffer {
  const sector = Buffer.alloc(512);
  sector[450] = 0x83;
  sector.writeUInt32LE(2048, 454);
  sector.writeUInt32LE(8192, 458);
  sector.writeUInt16LE(0xaa55, 510);
  return sector;
}

interface Place {
  readonly storage: StorageDriver;
  readonly state: string;
  readonly root: string;
  /** Another driver on the same state, as after a restart. */
  readonly again: () => StorageDriver;
}

async function place(unpack: UnpackImage = simpleUnpack): Promise<Place> {
  const state = await mkdtemp(join(base, 'state-'));
  const root = join(state, 'storage-pools');
  await mkdir(root);
  const again = (): StorageDriver => openBtrfsStorage({ root, unpackImage: unpack, log: silentLog });
  return { storage: again(), state, root, again };
}

const specOf = (config: Record<string, string> = { size: '256MiB' }): PoolSpec => ({
  name: 'p',
  driver: 'btrfs',
  config,
});

async function made(where: Place, config?: Record<string, string>): Promise<PoolSpec> {
  const pool = { ...specOf(config), config: await where.storage.fillConfig(specOf(config)) };
  await where.storage.createPool(pool, never);
  return pool;
}

const subvolumes = (path: string): number =>
  execFileSync('btrfs', ['subvolume', 'list', path], { encoding: 'utf8' }).split('\n').length - 1;

describe.skipIf(why !== undefined)('a pool in a file of its own', () => {
  test('is mounted in its place; deleting it takes mount, loop device, file and directory away', async () => {
    const where = await place();
    const pool = await made(where);
    expect(pool.config).toMatchObject({ source: join(where.state, 'disks', 'p.img'), size: '256MiB' });
    expect(mountsBelow(where.state)).toEqual([join(where.root, 'p')]);
    expect(loopsBelow(where.state)).toHaveLength(1);
    await where.storage.deletePool(pool);
    expect(mountsBelow(where.state)).toEqual([]);
    await loopsGone(where.state);
    expect(await readdir(join(where.state, 'disks'))).toEqual([]);
    expect(await readdir(where.root)).toEqual([]);
  });

  test('leaves nothing that needs a mount to be removed when the host cannot mount it', async () => {
    const { root, state } = await place();
    const driver = new URL('../../../../server/drivers/storage/btrfs/btrfs.ts', import.meta.url).href;
    const code = `
      const { openBtrfsStorage } = await import(${JSON.stringify(driver)});
      const log = { debug() {}, info() {}, warn() {}, error() {} };
      const storage = openBtrfsStorage({ root: ${JSON.stringify(root)}, unpackImage: () => {}, log });
      const spec = { name: 'p', driver: 'btrfs', config: { size: '256MiB' } };
      const pool = { ...spec, config: await storage.fillConfig(spec) };
      const made = await storage.createPool(pool, new AbortController().signal).catch(({ message }) => message);
      await storage.deletePool(pool);
      console.log(made);`;
    const loader = fileURLToPath(new URL('../../../support/run-typescript.mjs', import.meta.url));
    // Only this process and its children find no working mount.
    const script = 'mount --bind /bin/false "$(command -v mount)" && exec "$@"';
    const node = [process.execPath, '--import', loader, '--input-type=module', '--eval', code];
    const made = execFileSync('unshare', ['--mount', 'sh', '-c', script, 'sh', ...node], { encoding: 'utf8' });
    expect(made).toContain('cannot mount pool p');
    expect([await readdir(join(state, 'disks')), await readdir(root)]).toEqual([[], []]);
  });

  test('is found mounted by the next daemon, and mounted by it after the host was restarted', async () => {
    const where = await place();
    const pool = await made(where);
    await where.storage.createVolume(pool, custom('v'), { kind: 'empty' }, () => {}, never);
    await where.again().mountPool(pool);
    expect(mountsBelow(where.state)).toHaveLength(1);
    execFileSync('umount', [join(where.root, 'p')]);
    const later = where.again();
    await later.mountPool(pool);
    expect(await later.listVolumes(pool)).toEqual([custom('v')]);
    expect(mountsBelow(where.state)).toHaveLength(1);
  });

  test('has a size by what is free, and needs one when little is', () => {
    expect(defaultSize(500e9)).toBe('100GB');
    expect(defaultSize(200e9)).toBe('40GB');
    expect(defaultSize(20e9)).toBe('15GB');
    expect(defaultSize(10e9)).toBeUndefined();
  });

  test('a pool in a file of its own that is too small is Invalid and leaves no file', async () => {
    const where = await place();
    expect(await codeOf(made(where, { size: '16MiB' }))).toBe('Invalid');
    expect(existsSync(join(where.state, 'disks'))).toBe(false);
  });

  test('a pool in a file of its own with mount options that btrfs does not know is Invalid, and can be deleted', async () => {
    const where = await place();
    const config = { size: '256MiB', 'btrfs.mount_options': 'no-such-option' };
    const pool = { ...specOf(), config: await where.storage.fillConfig(specOf(config)) };
    expect(await codeOf(where.storage.createPool(pool, never))).toBe('Invalid');
    await where.storage.deletePool(pool);
    expect(mountsBelow(where.state)).toEqual([]);
    expect(await readdir(join(where.state, 'disks'))).toEqual([]);
  });

  test('takes new mount options while in use; what btrfs refuses changes nothing', async () => {
    const where = await place();
    const pool = await made(where);
    const withOptions = (options: string): PoolSpec => ({
      ...pool,
      config: { ...pool.config, 'btrfs.mount_options': options },
    });
    await where.storage.applyConfig(withOptions('noatime'), pool);
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).toMatch(new RegExp(`${where.root}/p [^\n]*noatime`));
    expect(await codeOf(where.storage.applyConfig(withOptions('no-such-option'), pool))).toBe('Invalid');
    expect(mountsBelow(where.state)).toHaveLength(1);
  });

  test('a pool in a file of its own grows while it is in use, and does not shrink', async () => {
    const where = await place();
    const pool = await made(where);
    const sized = (size: string): PoolSpec => ({ ...pool, config: { ...pool.config, size } });
    const total = async (): Promise<number> => (await where.storage.resources(pool)).space.total;
    const before = await total();
    for (let time = 0; time < 2; time += 1) await where.storage.applyConfig(sized('768MiB'), pool);
    expect(await total()).toBe(768 * 1_048_576);
    expect(before).toBeLessThan(768 * 1_048_576);
    expect(await codeOf(where.storage.applyConfig(sized('256MiB'), sized('768MiB')))).toBe('Invalid');
    expect(await total()).toBe(768 * 1_048_576);
  });

  test('a half-made file of a crash is made anew', async () => {
    const where = await place();
    await mkdir(join(where.state, 'disks'));
    await writeFile(join(where.state, 'disks', 'p.img.new'), 'half');
    const pool = await made(where);
    await where.storage.deletePool(pool);
    expect(await readdir(join(where.state, 'disks'))).toEqual([]);
  });
});

describe.skipIf(why !== undefined)('a pool in another place', () => {
  test('a directory on btrfs is used and, emptied, left there', async () => {
    const [outer, where] = [await place(), await place()];
    const host = await made(outer);
    const given = join(outer.storage.volumePath(host, custom('given')));
    await outer.storage.createVolume(host, custom('given'), { kind: 'empty' }, () => {}, never);
    const pool = await made(where, { source: given });
    await where.storage.createVolume(pool, container('c'), { kind: 'image', image }, () => {}, never);
    expect(subvolumes(given)).toBe(3);
    expect(mountsBelow(where.state)).toEqual([]);
    await where.storage.deleteVolume(pool, container('c'));
    await where.storage.deletePool(pool);
    expect(await readdir(given)).toEqual([]);
  });

  test('a directory that is not on btrfs, a file, nothing at all, or a size beside it are Invalid', async () => {
    const where = await place();
    await writeFile(join(base, 'file'), '');
    const fill = (config: Record<string, string>) => codeOf(where.storage.fillConfig(specOf(config)));
    expect(await fill({ source: await mkdtemp(join(base, 'plain-')) })).toBe('Invalid');
    expect(await fill({ source: join(base, 'file') })).toBe('Invalid');
    expect(await fill({ source: join(base, 'none') })).toBe('Invalid');
    expect(await fill({ source: 'relative' })).toBe('Invalid');
    expect(await fill({ source: join(where.state, 'database') })).toBe('Invalid');
    expect(await fill({ source: base, size: '1GiB' })).toBe('Invalid');
  });

  test.each(['a partition table', 'swap space', 'a file system'])(
    'a block device with %s is InUse and stays as it is',
    async (content) => {
      const where = await place();
      const file = join(where.state, 'disk');
      execFileSync('truncate', ['--size=32M', file]);
      if (content === 'a partition table') writeFileSync(file, partitionTable(), { flag: 'r+' });
      else execFileSync(content === 'swap space' ? 'mkswap' : 'mkfs.ext4', [file], { stdio: 'ignore' });
      const device = execFileSync('losetup', ['--find', '--show', file], { encoding: 'utf8' }).trim();
      devices.push(device);
      const sum = (): string => execFileSync('sha256sum', [file], { encoding: 'utf8' });
      const then = sum();
      expect(await codeOf(made(where, { source: device }))).toBe('InUse');
      expect([sum(), mountsBelow(where.state)]).toEqual([then, []]);
    },
  );

  test('a block device is formatted, kept by the id of its file system, and wiped at the end', async () => {
    const where = await place();
    const file = join(where.state, 'disk');
    execFileSync('truncate', ['--size=256M', file]);
    const device = execFileSync('losetup', ['--find', '--show', file], { encoding: 'utf8' }).trim();
    devices.push(device);
    const pool = await made(where, { source: device });
    expect(pool.config).toMatchObject({
      source: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
      'volatile.initial_source': device,
    });
    expect(await where.storage.fillConfig(pool)).toEqual(pool.config);
    await where.storage.createVolume(pool, custom('v'), { kind: 'empty' }, () => {}, never);
    const other = await place();
    expect(await codeOf(made(other, { source: device }))).toBe('InUse');
    execFileSync('umount', [join(where.root, 'p')]);
    await where.again().mountPool(pool);
    await where.storage.deleteVolume(pool, custom('v'));
    await where.storage.deletePool(pool);
    expect(mountsBelow(where.state)).toEqual([]);
    await made(other, { source: device });
    unmountBelow(other.state);
  });
});

describe.skipIf(why !== undefined)('volumes', () => {
  test('share their blocks: a copy and a snapshot of a large volume take no space', async () => {
    const where = await place();
    const pool = await made(where);
    await where.storage.createVolume(pool, custom('v'), { kind: 'empty' }, () => {}, never);
    await writeFile(join(where.storage.volumePath(pool, custom('v')), 'big'), randomBytes(60e6));
    const take = (name: string) =>
      where.storage.createSnapshot(pool, { volume: custom('v'), snapshot: name }, { kind: 'now' }, never);
    for (const name of ['a', 'b', 'c', 'd']) await take(name);
    await where.storage.createVolume(pool, custom('w'), { kind: 'copy', from: custom('v') }, () => {}, never);
    const { space } = await where.storage.resources(pool);
    expect(space.used).toBeLessThan(100e6);
  });

  test('snapshots cannot be written', async () => {
    const where = await place();
    const pool = await made(where);
    await where.storage.createVolume(pool, custom('v'), { kind: 'empty' }, () => {}, never);
    const now = { volume: custom('v'), snapshot: 'now' };
    await where.storage.createSnapshot(pool, now, { kind: 'now' }, never);
    const tree = { volume: custom('v'), snapshot: 'tree' };
    await where.storage.createSnapshot(
      pool,
      tree,
      { kind: 'tree', path: where.state + '/storage-pools/p/custom/v' },
      never,
    );
    for (const snapshot of [now, tree]) {
      const write = writeFile(join(where.storage.snapshotPath(pool, snapshot), 'x'), '');
      await expect(write).rejects.toMatchObject({ code: 'EROFS' });
    }
    await where.storage.renameSnapshot(pool, tree, 'other');
    await where.storage.deleteVolume(pool, custom('v'));
    expect(subvolumes(join(where.root, 'p'))).toBe(0);
  });

  describe('subvolumes of a guest in them', () => {
    const guest = async () => {
      const where = await place();
      const pool = await made(where);
      await where.storage.createVolume(pool, container('c'), { kind: 'empty' }, () => {}, never);
      const rootfs = join(where.storage.volumePath(pool, container('c')), 'rootfs');
      for (const path of ['one', 'one/two', 'a\nb'])
        execFileSync('btrfs', ['subvolume', 'create', join(rootfs, path)], { stdio: 'ignore' });
      await writeFile(join(rootfs, 'one/two/file'), 'inmost');
      return { where, pool, rootfs, inmost: (path: string) => readFile(join(path, 'rootfs/one/two/file'), 'utf8') };
    };
    const snapshot = { volume: container('c'), snapshot: 's' };

    test('are snapshot, copied, restored, held, streamed as files and deleted whole', async () => {
      const { where, pool, rootfs, inmost } = await guest();
      const { storage } = where;
      await storage.createSnapshot(pool, snapshot, { kind: 'now' }, never);
      await writeFile(join(rootfs, 'one/two/file'), 'changed');
      expect(await inmost(storage.snapshotPath(pool, snapshot))).toBe('inmost');
      await storage.createVolume(pool, container('d'), { kind: 'copy', from: container('c') }, () => {}, never);
      expect(await inmost(storage.volumePath(pool, container('d')))).toBe('changed');
      await storage.restoreSnapshot(pool, snapshot, never);
      expect(await inmost(storage.volumePath(pool, container('c')))).toBe('inmost');
      const from = { volume: container('c') };
      expect(await storage.hasNativeForm(pool, from)).toBe(false);
      const read = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
        for await (const chunk of bytes) expect(chunk.length).toBeGreaterThan(0);
      };
      expect(await codeOf(storage.exportVolume(pool, from, { kind: 'native' }, read, never))).toBe('NotSupported');
      const chunks: Buffer[] = [];
      const keep = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
        for await (const chunk of bytes) chunks.push(Buffer.from(chunk));
      };
      await storage.exportVolume(pool, { ...from, snapshot: 's' }, { kind: 'tar' }, keep, never);
      async function* again(): AsyncGenerator<Buffer> {
        yield* chunks;
      }
      await storage.importVolume(pool, { volume: container('e') }, again(), { kind: 'tar' }, never);
      expect(await inmost(storage.volumePath(pool, container('e')))).toBe('inmost');
      const tree = { kind: 'tree', path: storage.snapshotPath(pool, snapshot) } as const;
      await storage.createVolume(pool, container('f'), tree, () => {}, never);
      expect(await inmost(storage.volumePath(pool, container('f')))).toBe('inmost');
      await storage.deleteSnapshot(pool, snapshot);
      for (const name of ['c', 'd', 'e', 'f']) await storage.deleteVolume(pool, container(name));
      await until(() => subvolumes(join(where.root, 'p')) === 0);
    });

    test('whose names pass for lines of btrfs lead nowhere else', async () => {
      const { where, pool, rootfs, inmost } = await guest();
      const { storage } = where;
      await storage.createVolume(pool, container('victim'), { kind: 'empty' }, () => {}, never);
      const idOf = (name: string): string =>
        execFileSync('btrfs', ['inspect-internal', 'rootid', storage.volumePath(pool, container(name))])
          .toString()
          .trim();
      const lie = `x\nID ${idOf('victim')} gen 1 top level ${idOf('c')} path ..`;
      execFileSync('btrfs', ['subvolume', 'create', join(rootfs, lie)], { stdio: 'ignore' });
      await writeFile(join(rootfs, lie, 'file'), 'lie');
      await storage.createSnapshot(pool, snapshot, { kind: 'now' }, never);
      const kept = storage.snapshotPath(pool, snapshot);
      expect([await inmost(kept), await readFile(join(kept, 'rootfs', lie, 'file'), 'utf8')]).toEqual([
        'inmost',
        'lie',
      ]);
      await storage.deleteVolume(pool, container('c'));
      expect(await storage.listVolumes(pool)).toEqual([container('victim')]);
      await storage.deleteVolume(pool, container('victim'));
      await until(() => subvolumes(join(where.root, 'p')) === 0);
    });

    test('go with a volume of a directory pool that lies on btrfs, small or large', async () => {
      const where = await place();
      const pool = await made(where);
      const root = join(where.storage.volumePath(pool, container('c')), '..', '..', 'other');
      await mkdir(root);
      const dir = openDirStorage({ root, ownership: 'keep', log: silentLog, unpackImage: async () => {} });
      const inDir = { name: 'd', driver: 'dir', config: { source: join(root, 'd') } };
      await dir.createPool(inDir, never);
      for (const files of [1, 1100]) {
        await dir.createVolume(inDir, container('c'), { kind: 'empty' }, () => {}, never);
        const sub = join(dir.volumePath(inDir, container('c')), 'rootfs', 'sub');
        execFileSync('btrfs', ['subvolume', 'create', sub], { stdio: 'ignore' });
        for (let each = 0; each < files; each += 1) writeFileSync(join(sub, String(each)), '');
        await dir.deleteVolume(inDir, container('c'));
        await until(async () => (await readdir(join(root, 'd', 'tmp'))).length === 0);
      }
      await dir.deletePool(inDir);
      await rm(root, { recursive: true });
    });

    test('subvolumes of a guest that have no readable name are told and left out of nothing, and go with their volume', async () => {
      const { where, pool, rootfs } = await guest();
      const { storage } = where;
      execFileSync('sh', ['-c', `btrfs subvolume create "$0/$(printf '\\377')"`, rootfs], { stdio: 'ignore' });
      expect(await codeOf(storage.createSnapshot(pool, snapshot, { kind: 'now' }, never))).toBe('Failed');
      expect(await storage.listSnapshots(pool, container('c'))).toEqual([]);
      await storage.deleteVolume(pool, container('c'));
      await until(() => subvolumes(join(where.root, 'p')) === 0);
    });
  });

  test('a full pool is NoSpace, leaves nothing half made, and works on once there is room', async () => {
    const where = await place();
    const pool = await made(where);
    await where.storage.createVolume(pool, custom('v'), { kind: 'empty' }, () => {}, never);
    const path = where.storage.volumePath(pool, custom('v'));
    await expect(writeFile(join(path, 'big'), randomBytes(400e6))).rejects.toMatchObject({ code: 'ENOSPC' });
    const tree = await mkdtemp(join(base, 'tree-'));
    await writeFile(join(tree, 'file'), randomBytes(20e6));
    const make = () =>
      codeOf(where.storage.createVolume(pool, custom('w'), { kind: 'tree', path: tree }, () => {}, never));
    expect(await make()).toBe('NoSpace');
    expect(await where.storage.listVolumes(pool)).toEqual([custom('v')]);
    expect(await readdir(join(where.root, 'p', 'tmp'))).toEqual([]);
    await rm(join(path, 'big'));
    execFileSync('sync', ['-f', path]);
    expect(await make()).toBe('none');
  });

  test('half-made subvolumes of a crash are removed at mount, a volume taken aside by a restore is put back', async () => {
    const where = await place();
    const pool = await made(where);
    const source = join(where.root, 'p');
    await where.storage.createVolume(pool, container('c'), { kind: 'empty' }, () => {}, never);
    for (const name of ['half', 'half/inner'])
      execFileSync('btrfs', ['subvolume', 'create', join(source, 'tmp', name)], { stdio: 'ignore' });
    // As a stream that was cut off leaves it.
    const received = join(source, 'tmp/cut/0.0.new/s0');
    execFileSync(
      'sh',
      [
        '-ec',
        'mkdir -p "$(dirname "$1")"; btrfs subvolume create "$1"; echo x > "$1/file"; btrfs property set "$1" ro true',
        'sh',
        received,
      ],
      { stdio: 'ignore' },
    );
    await rename(join(source, 'containers', 'c'), join(source, 'replaced', 'container@c'));
    await where.again().mountPool(pool);
    expect(await readdir(join(source, 'tmp'))).toEqual([]);
    expect(await readdir(join(source, 'replaced'))).toEqual([]);
    expect(await where.storage.listVolumes(pool)).toEqual([container('c')]);
    expect(subvolumes(source)).toBe(1);
  });
});

test('the output of btrfs and the table of mounts are read as they are', () => {
  const output = 'ID 259 gen 9 top level 5 path b\nID 260 gen 10 top level 259 path b/x y\n';
  expect([countSubvolumes(output), countSubvolumes('')]).toEqual([2, 0]);
  const mounts = [
    '44 27 0:39 / /a/with\\040space rw,noatime - btrfs /dev/loop0 rw',
    '45 27 0:40 / /a/b rw shared:1 - tmpfs tmpfs rw',
    '46 27 0:41 / /a/b rw - btrfs /dev/loop1 rw',
  ].join('\n');
  expect(['/a', '/a/b', '/a/bc', '/a/with'].map((path) => isMountedBelow(mounts, path))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect([mountedAt(mounts, '/a/with space'), mountedAt(mounts, '/a/b'), mountedAt(mounts, '/a')]).toEqual([
    'btrfs',
    'btrfs',
    undefined,
  ]);
});
