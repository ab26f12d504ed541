// Validation accepts config keys and devices that only LXD has, because that server validates them, and refuses mistakes.
import { expect, test } from 'vitest';
import { lxdOnlyWarnings } from '../../provider/connection/lxd-only.ts';
import type { Link } from '../../provider/connection/link.ts';
import type { AnyResource } from '../../provider/framework/provider.ts';
import { serverConfig } from '../../provider/resources/server-config.ts';
import { storagePool } from '../../provider/resources/storage/storage-pool.ts';
import { containerConfigAttribute, devicesAttribute } from '../../provider/resources/shared/common-attributes.ts';

const keys = (config: Readonly<Record<string, string>>): readonly string[] =>
  ((containerConfigAttribute(false).check?.(config) ?? []) as readonly { readonly message: string }[]).map(
    ({ message }) => message,
  );
const devices = (device: Readonly<Record<string, string>>): number =>
  ((devicesAttribute.check?.({ d: device }) ?? []) as readonly unknown[]).length;

test.each(['migration.stateful', 'security.syscalls.intercept.mknod', 'security.novelty', 'cloud-init.user-data'])(
  'The config key %s passes',
  (key) => {
    expect(keys({ [key]: '1' })).toEqual([]);
  },
);

test.each(['limits.memry', 'nonsense', 'cloud-init.user-dat'])('The config key %s is refused', (key) => {
  expect(keys({ [key]: '1' })).toHaveLength(1);
});

test.each([
  { type: 'tpm', path: '/dev/tpm0' },
  { type: 'unix-hotplug', vendorid: '046d' },
  { type: 'nic', nictype: 'routed', parent: 'lo', 'ipv4.address': '10.0.0.5' },
  { type: 'nic', network: 'lan', vlan: '5', 'security.acls': 'web', 'ipv4.routes': '10.1.0.0/24' },
  { type: 'disk', source: '/tmp', path: '/x', required: 'false', 'raw.mount.options': 'noexec' },
])('The device %j passes', (device) => {
  expect(devices(device)).toBe(0);
});

test.each([
  { type: 'tmp' },
  { type: 'nic', network: 'lan', 'ipv4.adress': '10.0.0.5' },
  { type: 'disk', source: '/tmp', path: '/x', readonly: 'perhaps' },
])('The device %j is refused', (device) => {
  expect(devices(device)).toBeGreaterThan(0);
});

const problemsOf = (driver: string, key: string): number =>
  (storagePool.validate?.({ driver, config: { [key]: '1' } } as never) ?? []).length;

test.each([
  ['zfs', 'zfs.export'],
  ['lvm', 'lvm.thinpool_metadata_size'],
  ['ceph', 'ceph.rbd.du'],
  ['dir', 'volume.novelty'],
])('A %s pool may have the key %s', (driver, key) => expect(problemsOf(driver, key)).toBe(0));

test.each([
  ['zfs', 'zfs.exprt'],
  ['dir', 'volume.siz'],
  ['dir', 'zfs.pool_name'],
  ['dir', 'nonsense'],
])('A %s pool is refused with the key %s', (driver, key) => expect(problemsOf(driver, key)).toBe(1));

const serverKeys = (config: Readonly<Record<string, string>>): number => {
  const { config: attribute } = serverConfig.attributes;
  return ((attribute?.check?.(config) ?? []) as readonly unknown[]).length;
};

test('The config of a server may have keys that only LXD has, and no misspelt ones', () => {
  expect(serverKeys({ 'cluster.max_standby': '3', 'core.dns_address': ':53' })).toBe(0);
  expect(serverKeys({ 'core.proxy_htp': '10', nonsense: '1' })).toBe(2);
});

test('A key of the server with the default value of LXD, which LXD does not return, is no difference', async () => {
  const client = { client: { server: async () => ({ metadata: { config: {} } }) } };
  const context = { client, privateData: {} };
  type Read = Parameters<AnyResource<Link>['read']>;
  const config = { 'core.shutdown_timeout': '5', 'core.proxy_http': 'http://proxy' };
  const state = { name: 'server', config, remote: null };
  const found = await serverConfig.read(state, context as unknown as Read[1]);
  expect(found?.['config']).toEqual({ 'core.shutdown_timeout': '5', 'core.proxy_http': '' });
});

test('A problem leads to its device and property, also where their names have dots', () => {
  const nic = { type: 'nic', nictype: 'bridged', parent: 'br0' };
  const wrong = { lan: nic, 'lan.1': { ...nic, 'ipv4.address': 'nowhere' }, 'disk.a': { type: 'dsk' } };
  const found = devicesAttribute.check?.(wrong) as readonly { readonly path: unknown }[];
  expect(found.map(({ path }) => path)).toEqual([
    [{ key: 'lan.1' }, { key: 'ipv4.address' }],
    [{ key: 'disk.a' }, { key: 'type' }],
  ]);
  expect(devicesAttribute.check?.({ lan: nic, 'lan.1': { ...nic, vlan: '5' } })).toEqual([]);
});

test('A plan for gantryd warns about config keys and devices that only LXD has', () => {
  const planned = {
    config: { 'migration.stateful': 'true', 'limits.memory': '1GiB', 'user.role': 'web' },
    devices: { tpm: { type: 'tpm', path: '/dev/tpm0' }, root: { type: 'disk', path: '/', pool: 'default' } },
  };
  for (const typeName of ['gantry_container', 'gantry_profile']) {
    expect(lxdOnlyWarnings(typeName, planned).map(({ severity, summary }) => [severity, summary])).toEqual([
      ['warning', 'gantryd does not support config["migration.stateful"]'],
      ['warning', 'gantryd does not support devices["tpm"]'],
    ]);
  }
  const network = { config: { 'bgp.peers.a.address': '10.0.0.1', 'ipv4.nat': 'true' } };
  expect(lxdOnlyWarnings('gantry_network', network)).toHaveLength(1);
  expect(lxdOnlyWarnings('gantry_storage_pool', network)).toEqual([]);
  expect(lxdOnlyWarnings('gantry_storage_pool', { config: { 'zfs.export': 'true', size: '1GiB' } })).toHaveLength(1);
  const server = { config: { 'cluster.max_standby': '2', 'core.proxy_http': 'x', 'user.a': 'b' } };
  expect(lxdOnlyWarnings('gantry_server_config', server)).toHaveLength(1);
});
