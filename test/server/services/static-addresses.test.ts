// Static addresses of nics on networks that do not give them out, over the real daemon with a simulated host: refused where they are new,
// in the cases in which LXD 5.0.2 refuses them, and left alone where they are.
import { beforeAll, describe, expect, test } from 'vitest';
import { createContainer, emptySource, setState } from '../../support/daemons/daemon.ts';
import { seededDaemon } from '../../support/daemons/file-daemon.ts';

const daemon = await seededDaemon();
const subnets = { 'ipv4.address': '10.214.202.1/24', 'ipv6.address': 'fd42:202::1/64' };
const [v4, v6] = ['10.214.202.9', 'fd42:202::9'];
const networks = {
  gtys0: subnets,
  gtys1: { ...subnets, 'ipv4.address': '10.214.203.1/24', 'ipv6.address': 'fd42:203::1/64', 'ipv4.dhcp': 'false' },
  gtys2: { 'ipv4.address': 'none', 'ipv6.address': 'fd42:204::1/64', 'ipv6.dhcp.stateful': 'true' },
  gtys3: {
    'ipv4.address': '10.214.205.1/24',
    'ipv6.address': 'fd42:205::1/64',
    'ipv6.dhcp': 'false',
    'ipv6.dhcp.stateful': 'true',
  },
};
beforeAll(async () => {
  for (const [name, config] of Object.entries(networks))
    expect((await daemon.call('POST', '/1.0/networks', { name, config })).status).toBe(200);
});

const nic = (parent: string, more: object = {}): object => ({
  eth0: { type: 'nic', nictype: 'bridged', parent, name: 'eth0', ...more },
});
let count = 0;
const fresh = (): string => `s${(count += 1)}`;
const refusalOf = async (method: string, path: string, body: object): Promise<string> => {
  const { status, body: answer } = await daemon.call(method, path, body);
  if (status === 202) expect((await daemon.wait(String(answer.operation))).err).toBe('');
  return status < 300 ? '' : `${status} ${answer.metadata.details[0].path}: ${answer.metadata.details[0].message}`;
};
async function created(devices: object, more: object = {}): Promise<string> {
  const name = fresh();
  const refusal = await refusalOf('POST', '/1.0/containers', { name, source: emptySource, devices, ...more });
  // Its address would be taken for the next one.
  if (refusal === '') await daemon.ok('DELETE', `/1.0/containers/${name}`);
  return refusal;
}

describe('a static address', () => {
  test.each([
    ['gtys0', { 'ipv4.address': v4 }, ''],
    ['gtys0', { 'ipv4.address': '' }, ''],
    [
      'gtys0',
      { 'ipv6.address': v6 },
      'ipv6.address: cannot be fd42:202::9: the network gtys0 gives out no static addresses, as ipv6.dhcp.stateful is not true; change that, or set security.ipv6_filtering: true for a nic that may use only its own addresses',
    ],
    ['gtys0', { 'ipv6.address': v6, 'security.ipv6_filtering': 'true' }, ''],
    [
      'gtys0',
      { 'ipv4.address': 'none' },
      'ipv4.address: cannot be none: the container would have addresses nevertheless; set security.ipv4_filtering: true',
    ],
    ['gtys0', { 'ipv4.address': 'none', 'security.ipv4_filtering': 'true' }, ''],
    ['gtys1', { 'ipv4.address': '10.214.203.9' }, 'as ipv4.dhcp is false'],
    ['gtys1', { 'ipv4.address': '10.214.203.9', 'security.ipv4_filtering': 'true' }, ''],
    ['gtys2', { 'ipv4.address': '10.214.204.9' }, 'as it has no ipv4.address'],
    ['gtys2', { 'ipv6.address': 'fd42:204::9' }, ''],
    ['gtys2', { 'ipv6.address': 'none' }, 'security.ipv6_filtering'],
    ['gtys3', { 'ipv6.address': 'fd42:205::9' }, 'as ipv6.dhcp is false'],
    ['gtys0', { 'ipv4.address': '10.1.1.9' }, 'cannot be 10.1.1.9: it is not in the subnet of the network gtys0'],
    ['gtys0', { 'ipv4.address': '10.214.202.1' }, 'it is the address of the network gtys0'],
    ['gtys0', { 'ipv6.address': 'fd42:99::9', 'security.ipv6_filtering': 'true' }, 'it is not in the subnet'],
  ])('on %s with %j answers %j', async (network, more, message) => {
    const devices = nic(network, more);
    const fits = (text: string): void =>
      message === '' ? expect(text).toBe('') : expect(text).toMatch(new RegExp(`^400 devices\\.eth0\\..*${message}`));
    fits(await created(devices));
    fits(await created({ eth0: { type: 'nic', network, name: 'eth0', ...more } }));
    fits(await refusalOf('POST', '/1.0/profiles', { name: fresh(), devices }));
    const other = fresh();
    await createContainer(daemon, other);
    fits(await refusalOf('PATCH', `/1.0/containers/${other}`, { devices }));
  });

  test('is refused on a bridge that is not managed without the filter, which needs one there', async () => {
    const answers = async (more: object): Promise<readonly string[]> => {
      const devices = nic('gtybr0', more);
      const profile = await refusalOf('POST', '/1.0/profiles', { name: fresh(), devices });
      return [await created(devices), profile];
    };
    const useless = expect.stringMatching(
      /^400 devices\.eth0\.ipv4\.address: .* gtybr0 is no managed network, so that/,
    );
    expect(await answers({ 'ipv4.address': '10.9.9.9' })).toEqual([useless, useless]);
    expect(await answers({ 'ipv4.address': '10.9.9.9', 'maas.subnet.ipv4': 'lab' })).toEqual(['', '']);
    expect(await answers({ 'ipv4.address': '10.9.9.9', 'security.ipv4_filtering': 'true' })).toEqual(['', '']);
    const needed = expect.stringMatching(/^400 devices\.eth0\.security\.ipv4_filtering: needs ipv4\.address/);
    expect(await answers({ 'security.ipv4_filtering': 'true' })).toEqual([needed, needed]);
  });

  test('a profile is refused when it gets one, and a container that would get one by a filter that goes', async () => {
    const name = fresh();
    const path = `/1.0/profiles/${name}`;
    expect(await refusalOf('POST', '/1.0/profiles', { name, devices: nic('gtys1') })).toBe('');
    expect(await refusalOf('PUT', path, { devices: nic('gtys1', { 'ipv4.address': '10.214.203.8' }) })).toContain(
      '400',
    );
    expect(await refusalOf('PATCH', path, { devices: nic('gtys1', { 'ipv4.address': 'none' }) })).toContain('400');
    const filtered = { 'ipv4.address': '10.214.203.7', 'security.ipv4_filtering': 'true' };
    const other = fresh();
    await createContainer(daemon, other, { devices: nic('gtys1', filtered) });
    const devices = nic('gtys1', { 'ipv4.address': '10.214.203.7' });
    expect(await refusalOf('PATCH', `/1.0/containers/${other}`, { devices })).toContain('ipv4.dhcp is false');
  });

  test('a network that loses its DHCP later leaves the address: its container starts and changes, but gets no other one, and no copy', async () => {
    const [name, profile] = [fresh(), fresh()];
    const config = { 'ipv4.address': '10.214.206.1/24', 'ipv6.address': 'none' };
    await daemon.call('POST', '/1.0/networks', { name: 'gtys6', config });
    const devices = nic('gtys6', { 'ipv4.address': '10.214.206.9' });
    await createContainer(daemon, name, { devices });
    expect(await refusalOf('POST', '/1.0/profiles', { name: profile, devices })).toBe('');
    expect((await daemon.call('PATCH', '/1.0/networks/gtys6', { config: { 'ipv4.dhcp': 'false' } })).status).toBe(200);
    expect((await setState(daemon, name, 'start')).err).toBe('');
    const path = `/1.0/containers/${name}`;
    expect(await refusalOf('PATCH', path, { config: { 'user.x': '1' } })).toBe('');
    expect(await refusalOf('PATCH', path, { devices: nic('gtys6', { 'ipv4.address': '10.214.206.8' }) })).toContain(
      '400',
    );
    expect(await refusalOf('PATCH', `/1.0/profiles/${profile}`, { description: 'd', devices })).toBe('');
    await setState(daemon, name, 'stop', { force: true });
    expect(await created({}, { source: { type: 'copy', source: name } })).toContain('ipv4.dhcp is false');
    expect(await created({}, { profiles: ['default', profile] })).toContain('ipv4.dhcp is false');
    await daemon.ok('POST', `${path}/backups`, { name: 'b' });
    const { bytes } = await daemon.call('GET', `${path}/backups/b/export`);
    await daemon.ok('DELETE', path);
    await daemon.ok('POST', '/1.0/containers', bytes, { 'content-type': 'application/octet-stream' });
    expect((await setState(daemon, name, 'start')).err).toBe('');
    await setState(daemon, name, 'stop', { force: true });
  });
});
