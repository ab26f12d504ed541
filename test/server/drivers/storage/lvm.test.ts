// The lvm storage driver, as far as a kernel without device mapper shows it: names, tags, volume groups without volumes, and what the tools
// printed on a Debian 12. The suite of all drivers runs in booted machines (test/hosts).
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PoolSpec, StorageDriver } from '../../../../server/drivers/storage/driver.ts';
import { openLvmStorage } from '../../../../server/drivers/storage/lvm/lvm.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { attachLoop, detachLoop, loopDeviceMissing } from '../../../support/hosts/loop-device.ts';
import { tempFolder } from '../../../support/temp-folder.ts';
import { contentIn, mountOptions } from '../../../../server/drivers/storage/blocks/commands.ts';
import { saysFull } from '../../../../server/drivers/storage/lvm/commands.ts';
import { deviceOf, idOf, logicalName, tagsFor } from '../../../../server/drivers/storage/lvm/names.ts';
import { expectDistinctNames } from '../../../support/drivers/volume-names.ts';

const ids = [
  'containers/web',
  'containers/web-1',
  'containers-snapshots/web-1/snap-0',
  'custom/red%data',
  'custom-snapshots/red%data/2026-11-26',
  'images/' + 'ab'.repeat(32),
  'tmp/8b1f6f5e-0e9b-4a5a-9f0e-2f6f7b1c9d00',
  'tmp/m1-8b1f6f5e-0e9b-4a5a-9f0e-2f6f7b1c9d00',
  'replaced/container@web',
  'custom/-rf',
  'custom/a_tdata',
  'custom/' + 'x'.repeat(64),
  `custom/${'p'.repeat(64)}%${'x'.repeat(64)}`,
  `custom-snapshots/${'p'.repeat(64)}%${'x'.repeat(64)}/${'s'.repeat(64)}`,
  'custom/$(id)',
  'custom/~',
  'custom/*',
  'custom/a+b',
  'custom/=41',
];

test.each([
  [
    'WARNING: Thin pool lane/GantryThinPool is out of data space.\n  Cannot create new thin volume, free space in thin pool lane/GantryThinPool reached threshold.',
    true,
  ],
  ['Volume group "lane" has insufficient free space (10 extents): 50 required.', true],
  [
    'WARNING: Thin pool lane/GantryThinPool is out of data space.\n  Logical volume lane/x contains a filesystem in use.',
    false,
  ],
])('LVM that writes %j is full: %s', (text, isFull) => {
  expect(saysFull(text)).toBe(isFull);
});

describe('names of logical volumes', () => {
  test.each(ids)('%s is found again by its name and tags, and LVM can have them', (id) => {
    const name = logicalName(id);
    expect(idOf(name, tagsFor(id))).toBe(id);
    expect(name).toMatch(/^[A-Za-z0-9+_.][A-Za-z0-9+_.-]*$/);
    expect(deviceOf('g'.repeat(36), name).length - '/dev/mapper/'.length).toBeLessThan(128);
    for (const tag of tagsFor(id)) expect(tag).toMatch(/^[A-Za-z0-9_+./=][A-Za-z0-9_+./=-]*$/);
  });

  test('names that people give are readable', () => {
    expect(logicalName('containers/web-1')).toBe('containers_web--1');
    expect(logicalName('containers-snapshots/web-1/monday')).toBe('containers_web--1-monday');
    expect(logicalName('custom/red%data')).toBe('custom_red+data');
  });

  test('two volumes never have one name', () => {
    expectDistinctNames({
      letters: ['a', 'b', '-', '%', '_', '+', '.'],
      nameOf: logicalName,
      idOf: (name, id) => idOf(name, tagsFor(id)),
    });
  });

  test('logical volumes of others are not taken for volumes, and a half-done rename still has one name', () => {
    for (const name of ['root', 'home_x', 'lvol0', 'LXDThinPool', 'containers', 'snapshots_a-b-c-d'])
      expect(idOf(name, [])).toBeUndefined();
    const [from, to] = ['custom/~', 'custom/*'];
    const both = [...tagsFor(from), ...tagsFor(to)];
    expect(idOf(logicalName(from), both)).toBe(from);
    expect(idOf(logicalName(to), both)).toBe(to);
  });
});

test('mount options say what each file system needs besides those of the user', () => {
  const form = { options: 'discard', readOnly: false, readsZeros: true } as const;
  expect(mountOptions({ ...form, fileSystem: 'ext4' })).toBe('rw,noinit_itable,discard');
  expect(mountOptions({ ...form, fileSystem: 'ext4', readOnly: true, readsZeros: false })).toBe('ro,noload,discard');
  expect(mountOptions({ ...form, fileSystem: 'xfs', readOnly: true })).toBe('ro,nouuid,norecovery,discard');
  expect(mountOptions({ ...form, fileSystem: 'btrfs', options: '' })).toBe('rw');
});

test('what is on a device is told in words', () => {
  expect(contentIn('')).toBeUndefined();
  expect(contentIn('DEVNAME=/dev/vdb\nUUID=x\nVERSION=LVM2 001\nTYPE=LVM2_member\nUSAGE=raid\n')).toBe(
    'a part of an LVM volume group',
  );
  expect(contentIn('DEVNAME=/dev/vdb\nTYPE=ext4\nUSAGE=filesystem\n')).toBe('a file system or data of type ext4');
  expect(contentIn('DEVNAME=/dev/vdb\nPTUUID=1\nPTTYPE=gpt\n')).toBe('a partition table of type gpt');
});

const why = loopDeviceMissing() ?? (existsSync('/usr/sbin/vgs') ? undefined : 'lvm2 is not installed');
if (why !== undefined) console.log(`skipped: volume groups: ${why}`);

describe.skipIf(why !== undefined)('volume groups of pools', () => {
  const never = new AbortController().signal;
  const name = `lvmtest${process.pid}`;
  let base = '';
  let device = '';
  const opened = (state: string): StorageDriver => {
    const root = join(base, state, 'storage-pools');
    mkdirSync(root, { recursive: true });
    return openLvmStorage({ root, log: silentLog, unpackImage: () => Promise.reject(new Error('no image')) });
  };
  const groups = (): string =>
    execFileSync('vgs', ['--noheadings', '--options', 'vg_tags', '--select', `vg_name=${name}`], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  beforeAll(() => {
    base = tempFolder('gantry-lvm-');
    device = attachLoop(join(base, 'disk'));
    execFileSync('truncate', ['--size=64M', join(base, 'disk')]);
    execFileSync('losetup', ['--set-capacity', device]);
  });
  afterAll(() => {
    if (groups() !== '') execFileSync('vgremove', ['--quiet', '--yes', name], { stdio: 'ignore' });
    detachLoop(device);
  });

  test('a pool that another state directory made is taken over when it is mounted, and can be deleted from there', async () => {
    const spec: PoolSpec = { name, driver: 'lvm', config: { source: device, 'lvm.use_thinpool': 'false' } };
    const before = opened('lost');
    const pool = { ...spec, config: await before.fillConfig(spec) };
    await before.createPool(pool, never);
    const old = groups();
    expect(old).toMatch(/^gantry\.pool=[0-9a-f]{16}$/);
    const after = opened('new');
    for (let time = 0; time < 2; time += 1) await after.mountPool(pool);
    expect(groups()).toMatch(/^gantry\.pool=[0-9a-f]{16}$/);
    expect(groups()).not.toBe(old);
    await after.deletePool(pool);
    expect(groups()).toBe('');
    expect(() => execFileSync('blkid', ['--probe', device])).toThrow();
  });
});
