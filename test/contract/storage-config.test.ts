// Config of pools and volumes: keys, values, and the changes that an update may make.
import { describe, expect, test } from 'vitest';
import { poolConfigKeys } from '../../server/api/storage/storage-config.ts';
import { validatePoolConfig, validateVolumeConfig } from '../../server/api/storage/validate-storage-config.ts';

const paths = (problems: readonly { path: string }[]) => problems.map(({ path }) => path).sort();

describe('validatePoolConfig', () => {
  test('sync.volumes is a bool that can change on an existing pool', () => {
    for (const driver of ['dir', 'btrfs']) {
      expect(validatePoolConfig(driver, { 'sync.volumes': 'true' })).toEqual([]);
      expect(validatePoolConfig(driver, { 'sync.volumes': 'true' }, { source: '/x' })).toEqual([
        {
          path: 'config.source',
          message: 'cannot be changed once the pool or volume exists (it is "/x"); send it as it is',
        },
      ]);
      expect(validatePoolConfig(driver, { 'sync.volumes': 'sometimes' }).map(({ path }) => path)).toEqual([
        'config.sync.volumes',
      ]);
    }
  });

  test('zfs.clone_copy is a bool, or the word rebase that LXD has', () => {
    for (const value of ['true', 'off', 'rebase'])
      expect(validatePoolConfig('zfs', { 'zfs.clone_copy': value })).toEqual([]);
    expect(paths(validatePoolConfig('zfs', { 'zfs.clone_copy': 'image' }))).toEqual(['config.zfs.clone_copy']);
  });

  test('a dir pool accepts source, rsync.bwlimit and user keys', () => {
    expect(validatePoolConfig('dir', { source: '/srv/pool', 'rsync.bwlimit': '10MB', 'user.owner': 'me' })).toEqual([]);
  });

  test('a size of a dir pool itself is refused with the drivers that support it', () => {
    const [problem] = validatePoolConfig('dir', { size: '10GB' });
    expect(problem?.path).toBe('config.size');
    expect(problem?.message).toMatch(/is not a config key of a dir pool.*btrfs, lvm, zfs/);
  });

  test('all problems are collected, each with its path', () => {
    const config = { sizee: '1', 'zfs.clone_copy': 'true', 'rsync.bwlimit': 'fast', 'user.': 'x' };
    expect(paths(validatePoolConfig('dir', config))).toEqual([
      'config.rsync.bwlimit',
      'config.sizee',
      'config.user.',
      'config.zfs.clone_copy',
    ]);
  });

  test('an unknown driver is the only problem that is reported', () => {
    expect(paths(validatePoolConfig('floppy', { a: 'b' }))).toEqual(['driver']);
  });

  test('names of object members are not keys', () => {
    expect(paths(validatePoolConfig('dir', { constructor: 'x', toString: 'y' }))).toEqual([
      'config.constructor',
      'config.toString',
    ]);
  });

  test('lvm without thin pool has no thin pool name', () => {
    const config = { 'lvm.use_thinpool': 'false', 'lvm.thinpool_name': 'thin' };
    expect(paths(validatePoolConfig('lvm', config))).toEqual(['config.lvm.thinpool_name']);
    expect(validatePoolConfig('lvm', { ...config, 'lvm.use_thinpool': 'true' })).toEqual([]);
  });

  test('an update may change the changeable keys, and must repeat the rest', () => {
    const old = { source: '/srv/pool', 'user.a': '1' };
    expect(validatePoolConfig('dir', { source: '/srv/pool', 'rsync.bwlimit': '1MB' }, old)).toEqual([]);
    expect(paths(validatePoolConfig('dir', {}, old))).toEqual(['config.source']);
    expect(paths(validatePoolConfig('dir', { source: '/srv/other' }, old))).toEqual(['config.source']);
  });

  test('an update does not check unchanged keys again', () => {
    const old = { source: '/srv/pool', 'old.key': 'from an earlier version' };
    expect(validatePoolConfig('dir', old, old)).toEqual([]);
    expect(validatePoolConfig('dir', { source: '/srv/pool' }, old)).toEqual([]);
  });

  test('every default is a valid value of its own key', () => {
    for (const [name, fact] of Object.entries(poolConfigKeys)) {
      if ('default' in fact) expect([name, fact.check(fact.default)]).toEqual([name, undefined]);
    }
  });
});

test('volumes of all pools can have a size, also of dir, whose file system decides', () => {
  expect(validateVolumeConfig('dir', { size: '1GB' })).toEqual([]);
  expect(validateVolumeConfig('btrfs', { size: '1GB', 'security.unmapped': 'true' })).toEqual([]);
  expect(paths(validateVolumeConfig('btrfs', { size: 'big' }))).toEqual(['config.size']);
});

test('a volume is not both shifted and unmapped, unless it was', () => {
  const both = { 'security.shifted': 'true', 'security.unmapped': 'yes' };
  expect(validateVolumeConfig('dir', { 'security.shifted': 'true', 'security.unmapped': 'false' })).toEqual([]);
  expect(paths(validateVolumeConfig('dir', both))).toEqual(['config.security.shifted']);
  expect(paths(validateVolumeConfig('dir', both, { 'security.shifted': 'true' }))).toEqual(['config.security.shifted']);
  expect(validateVolumeConfig('dir', both, both)).toEqual([]);
});
