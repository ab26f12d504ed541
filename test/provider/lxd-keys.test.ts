// Validation accepts config keys and devices that only LXD has, because that server validates them, and refuses mistakes.
import { expect, test } from 'vitest';
import { lxdOnlyWarnings } from '../../provider/connection/lxd-only.ts';
import { containerConfigAttribute, devicesAttribute } from '../../provider/resources/shared/common-attributes.ts';

const keys = (config: Readonly<Record<string, string>>): readonly string[] =>
  ((containerConfigAttribute(false).check?.(config) ?? []) as readonly { readonly message: string }[]).map(
    ({ message }) => message,
  );
const devices = (device: Readonly<Record<string, string>>): number =>
  ((devicesAttribute.check?.({ d: device }) ?? []) as readonly unknown[]).length;

test.each([
  'linux.sysctl.net.core.somaxconn',
  'security.syscalls.intercept.mknod',
  'security.novelty',
  'cloud-init.user-data',
])('The config key %s passes', (key) => {
  expect(keys({ [key]: '1' })).toEqual([]);
});

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

test('A plan for gantryd warns about config keys and devices that only LXD has', () => {
  const planned = {
    config: { 'linux.sysctl.net.core.somaxconn': '1', 'limits.memory': '1GiB', 'user.role': 'web' },
    devices: { tpm: { type: 'tpm', path: '/dev/tpm0' }, root: { type: 'disk', path: '/', pool: 'default' } },
  };
  for (const typeName of ['gantry_container', 'gantry_profile']) {
    expect(lxdOnlyWarnings(typeName, planned).map(({ severity, summary }) => [severity, summary])).toEqual([
      ['warning', 'gantryd does not support config["linux.sysctl.net.core.somaxconn"]'],
      ['warning', 'gantryd does not support devices["tpm"]'],
    ]);
  }
  const network = { config: { 'bgp.peers.a.address': '10.0.0.1', 'ipv4.nat': 'true' } };
  expect(lxdOnlyWarnings('gantry_network', network)).toHaveLength(1);
  expect(lxdOnlyWarnings('gantry_storage_pool', network)).toEqual([]);
});
