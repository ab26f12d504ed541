// A pool that the members of a cluster share: each proves that it has the same file system, and none removes what another one makes.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { openDirStorage } from '../../../../server/drivers/storage/dir.ts';
import type { PoolSpec, StorageDriver } from '../../../../server/drivers/storage/driver.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

let dir: string;
let mount: string;
const never = new AbortController().signal;

beforeEach(() => {
  dir = tempFolder('gtsp-');
  mount = join(dir, 'mount');
  mkdirSync(mount);
});

function member(number: number | undefined, cluster = 'east'): StorageDriver {
  const root = join(dir, `${cluster}${number ?? 'alone'}`, 'storage-pools');
  mkdirSync(root, { recursive: true });
  return openDirStorage({
    root,
    ownership: 'ignore',
    log: silentLog,
    unpackImage: (_image, target) => {
      mkdirSync(join(target, 'rootfs'));
      return Promise.resolve();
    },
    cluster: () => (number === undefined ? undefined : { id: cluster, member: number }),
  });
}

const asked = (source: string): PoolSpec => ({
  name: 'nfs',
  driver: 'dir',
  config: { source, 'source.shared': 'true' },
});

async function made(driver: StorageDriver, source = mount): Promise<PoolSpec> {
  const pool = { ...asked(source), config: await driver.fillConfig(asked(source)) };
  await driver.createPool(pool, never);
  return pool;
}

test('the first member makes it, the others recognize it, and what one makes the other has', async () => {
  const [one, two] = [member(1), member(2)];
  const pool = await made(one);
  await one.createVolume(pool, { type: 'container', name: 'web' }, { kind: 'empty' }, () => {}, never);
  await two.createPool(pool, never);
  await two.mountPool(pool);
  expect(await two.hasVolume(pool, { type: 'container', name: 'web' })).toBe(true);
  expect(two.volumePath(pool, { type: 'container', name: 'web' })).toBe(join(mount, 'containers/web'));
});

test('a directory without the file system of the others is refused with what to do, at the creation and at each start', async () => {
  const pool = await made(member(1));
  const [two, empty] = [member(2), join(dir, 'empty')];
  mkdirSync(empty);
  const elsewhere = { ...pool, config: { ...pool.config, source: empty } };
  await expect(two.createPool(elsewhere, never)).rejects.toThrow(
    `${empty} is not the file system that the other members have as pool nfs: mount that one there first`,
  );
  await expect(two.mountPool(elsewhere)).rejects.toThrow('mount that one there first');
  expect(readdirSync(empty)).toEqual([]);
});

test('a shared pool of another cluster, another pool and a damaged marker are refused', async () => {
  const pool = await made(member(1));
  await expect(member(1, 'west').createPool(pool, never)).rejects.toThrow('is a shared pool of another cluster');
  await expect(made(member(3))).rejects.toThrow('is another shared pool');
  const other = { ...pool, config: { ...pool.config, 'source.shared.id': 'x' } };
  await expect(member(2).applyConfig(other, pool)).rejects.toThrow('is another shared pool');
  writeFileSync(join(mount, '.gantry-pool.json'), '["');
  await expect(member(2).mountPool(pool)).rejects.toThrow(`cannot read ${mount}/.gantry-pool.json`);
});

test('it needs a source, a cluster, and an empty directory', async () => {
  const one = member(1);
  await expect(one.fillConfig(asked(''))).rejects.toThrow(
    'a shared pool needs the directory where every member mounts',
  );
  await expect(made(member(undefined))).rejects.toThrow('this server is in none');
  writeFileSync(join(mount, 'foreign'), '');
  await expect(made(one)).rejects.toThrow('is not empty: it has foreign in it');
});

test('a member that starts removes its own half-made volumes and leaves those of others', async () => {
  const [one, two] = [member(1), member(2)];
  const pool = await made(one);
  for (const name of ['m1-half', 'm2-half']) mkdirSync(join(mount, 'tmp', name));
  mkdirSync(join(mount, 'replaced/m1-container@a'));
  mkdirSync(join(mount, 'replaced/m2-container@b'));
  await two.mountPool(pool);
  expect(readdirSync(join(mount, 'tmp'))).toEqual(['m1-half']);
  expect(readdirSync(join(mount, 'replaced'))).toEqual(['m1-container@a']);
  expect(existsSync(join(mount, 'containers/b'))).toBe(true);
  await one.mountPool(pool);
  expect(existsSync(join(mount, 'containers/a'))).toBe(true);
});

test('an image that two members unpack at once is there once, for both', async () => {
  const drivers = [member(1), member(2)];
  const pool = await made(drivers[0] as StorageDriver);
  const image = { fingerprint: 'a'.repeat(64), metadataPath: '/nowhere' };
  const create = (driver: StorageDriver, index: number): Promise<void> => {
    const volume = { type: 'container', name: `c${index}` } as const;
    return driver.createVolume(pool, volume, { kind: 'image', image }, () => {}, never);
  };
  await Promise.all(drivers.map(create));
  for (const driver of drivers) await driver.listVolumes(pool);
  expect(readdirSync(join(mount, 'images'))).toEqual(['a'.repeat(64)]);
  expect(readdirSync(join(mount, 'containers')).toSorted()).toEqual(['c0', 'c1']);
});

test('a host that has left the cluster forgets the pool and touches nothing in it', async () => {
  const pool = await made(member(1));
  const alone = member(undefined);
  await expect(alone.mountPool(pool)).rejects.toThrow('this server is in none');
  await alone.deletePool(pool);
  expect(existsSync(join(mount, '.gantry-pool.json'))).toBe(true);
  await member(2).deletePool(pool);
  await member(1).deletePool(pool);
  expect(readdirSync(mount)).toEqual([]);
});
