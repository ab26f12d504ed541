// Problems of keys and devices that only LXD has are left to the server; misspelled names stay problems.
import { expect, test } from 'vitest';
import { projectConfigProblems } from '../../server/api/project/project-config.ts';
import { validateContainerConfig } from '../../server/api/container/container-config.ts';
import { validateDevices, type Devices } from '../../server/api/devices/index.ts';
import { validateNetworkConfig } from '../../server/api/network/validate-network-config.ts';
import type { Problem } from '../../server/api/problem.ts';
import { withoutDevicesOfLxd, withoutKeysOfLxd } from '../../server/api/server/lxd-keys.ts';
import { validateServerConfig } from '../../server/api/server/validate-server-config.ts';

const paths = (problems: readonly Problem[]): readonly string[] => problems.map(({ path }) => path);

test('An unknown container key is a problem only when LXD does not have it either', () => {
  const problems = validateContainerConfig(
    { 'security.syscalls.intercept.mknod': 'true', 'limits.memroy': '1GB', nonsense: 'x', 'limits.cpu': 'many' },
    { profile: false },
  );
  expect(problems).toHaveLength(4);
  expect(paths(withoutKeysOfLxd('container', problems))).toEqual([
    'config.limits.memroy',
    'config.nonsense',
    'config.limits.cpu',
  ]);
});

test.each([
  ['network', validateNetworkConfig('lan0', { 'bgp.peers.a.asn': '1', nonsense: 'x' })],
  ['server_config', validateServerConfig({ 'core.bgp_asn': '1', nonsense: 'x' })],
  ['project', projectConfigProblems({ 'snapshots.retention': '1', nonsense: 'x' })],
] as const)('An unknown key of the kind %s is a problem only when LXD does not have it either', (place, problems) => {
  expect(problems.map(({ code }) => code)).toEqual(['unknownKey', 'unknownKey']);
  expect(paths(withoutKeysOfLxd(place, problems))).toEqual(['config.nonsense']);
});

test('A device that only LXD has is no problem, and a property is one only when LXD does not have it either', () => {
  const devices: Devices = {
    tpm0: { type: 'tpm', path: '/dev/tpm0' },
    gpu0: { type: 'gpu', gputype: 'mig', 'mig.gi': '1', 'mig.ci': '1' },
    eth0: { type: 'nic', nictype: 'bridged', parent: 'lan0', 'security.acls': 'web', nonsense: 'x' },
    eth1: { type: 'nic', nictype: 'p2p', parent: 'lan0', parnt: 'x' },
  };
  expect(paths(withoutDevicesOfLxd(devices, validateDevices(devices)))).toEqual([
    'devices.eth0.nonsense',
    'devices.eth1.parnt',
    'devices.eth1.parent',
  ]);
});
