// The accepted devices, the messages for refused ones, and the effect of a change.
import { describe, expect, test } from 'vitest';
import {
  deviceSchemas,
  effectOfDeviceChange,
  parseProxyAddress,
  rootDisk,
  unixPaths,
  validateDevices,
} from '../../server/api/devices/index.ts';

type Device = Record<string, string>;
const root: Device = { type: 'disk', path: '/', pool: 'default' };
const nic: Device = { type: 'nic', nictype: 'bridged', parent: 'br0' };
const proxy: Device = { type: 'proxy', listen: 'tcp:127.0.0.1:80', connect: 'tcp:127.0.0.1:8080' };
const wrong = (device: Device) =>
  validateDevices({ d: device }).map((problem) => problem.path.replace('devices.d.', ''));

const natProxy: Device = { ...proxy, nat: 'true', connect: 'tcp:10.0.0.9:8080' };
const accepted: Record<string, readonly Device[]> = {
  nic: [
    nic,
    { ...nic, name: 'eth0', host_name: 'veth1', hwaddr: '00:16:3e:aa:bb:cc', mtu: '1400', 'ipv4.address': '10.0.0.5' },
    { ...nic, 'ipv6.address': 'fd42::5', 'security.mac_filtering': 'true', 'limits.ingress': '10Mbit' },
    { type: 'nic', nictype: 'p2p', 'limits.max': '1Gbit', 'boot.priority': '1' },
    { ...nic, 'boot.priority': '0', 'ipv4.routes.external': '10.4.0.0/16', 'ipv6.routes.external': 'fd42::/64' },
    { type: 'nic', network: 'lan0', name: 'eth0', 'ipv4.address': '10.0.0.5', 'limits.ingress': '10Mbit' },
    { type: 'nic', network: 'lan0', nictype: '', parent: '' },
    { ...nic, 'limits.max': '1Mbit', 'limits.egress': '1Mbit' },
    { type: 'nic', nictype: 'macvlan', parent: 'eth0', vlan: '5' },
    { type: 'nic', nictype: 'physical', parent: 'eth1' },
    { type: 'nic', nictype: 'routed' },
    { ...layer3('routed'), vlan: '5', 'ipv4.routes': '10.4.0.0/16', 'limits.max': '1Mbit' },
    { ...layer3('routed'), 'ipv4.gateway': 'none', 'ipv6.host_address': 'fe80::2', 'ipv6.neighbor_probe': 'no' },
    { ...layer3('ipvlan'), mode: 'l3s', 'ipv6.gateway': 'auto', 'ipv6.host_table': '100' },
    { ...layer3('ipvlan'), mode: 'l2', 'ipv4.address': '10.0.0.5/16,10.0.0.6', 'ipv4.gateway': '10.0.0.1' },
    { type: 'nic', nictype: 'sriov', parent: 'eth1', 'maas.subnet.ipv4': 'lab' },
    { ...nic, 'user.note': 'of the user,\nin two lines' },
  ],
  disk: [
    root,
    { ...root, size: '0', 'boot.priority': '10' },
    { ...root, size: '10GB', 'limits.read': '30MB', 'limits.write': '500iops', readonly: '' },
    { type: 'disk', path: '/mnt', source: '/srv', readonly: 'true', recursive: 'true', propagation: 'rslave' },
    { type: 'disk', path: '/data', source: 'volume', pool: 'default', optional: 'yes' },
    { type: 'disk', path: '/data', source: '/srv', required: 'false', 'raw.mount.options': 'noexec, nodev,noatime' },
    { type: 'disk', path: '/data', source: '/dev/sdb1', 'raw.mount.options': 'noexec,discard,commit=60' },
    { type: 'disk', path: '/data', source: '/srv', required: 'no', optional: 'true' },
  ],
  'unix-char': [
    { type: 'unix-char', path: '/dev/fuse' },
    {
      type: 'unix-char',
      source: '/dev/a',
      path: '/dev/b',
      major: '10',
      minor: '229',
      uid: '1000',
      gid: '0',
      mode: '666',
    },
    { type: 'unix-char', source: '/dev/a', required: 'false' },
  ],
  'unix-block': [{ type: 'unix-block', source: '/dev/sda', mode: '0660' }],
  usb: [{ type: 'usb' }, { type: 'usb', vendorid: '1d6b', productid: '0002', required: 'true' }],
  gpu: [
    { type: 'gpu' },
    { type: 'gpu', pci: '0000:03:00.0' },
    { type: 'gpu', id: '0', gputype: 'physical' },
    { type: 'gpu', vendorid: '10de' },
  ],
  infiniband: [{ type: 'infiniband', nictype: 'sriov', parent: 'ib0' }],
  proxy: [
    proxy,
    { ...proxy, listen: 'tcp:[::]:80,443', connect: 'tcp:[fd42::2]:8000-8001', bind: 'container' },
    { ...proxy, listen: 'tcp:0.0.0.0:8000-8010', proxy_protocol: 'true' },
    { ...proxy, listen: 'unix:/run/x.sock', uid: '1000', gid: '1000', mode: '0755', 'security.uid': '5' },
    { ...proxy, listen: 'unix:@name', connect: 'udp:127.0.0.1:53' },
    natProxy,
  ],
  none: [{ type: 'none' }],
};

function layer3(nictype: string): Device {
  return { type: 'nic', nictype, parent: 'eth0', 'ipv4.address': '10.0.0.5, 10.0.0.6', 'ipv6.address': 'fd42::5' };
}

const refused: readonly (readonly [string, Device, readonly string[]])[] = [
  ['no type', { path: '/x' }, ['type']],
  ['an unknown type', { type: 'nick' }, ['type']],
  ['a property of another type', { ...nic, path: '/x' }, ['path']],
  ['none with properties', { type: 'none', path: '/x' }, ['path']],
  ['a nic without kind', { type: 'nic', parent: 'br0' }, ['nictype']],
  ['a network and a parent', { type: 'nic', network: 'lan0', parent: 'lan0' }, ['parent']],
  ['a network and a nictype', { type: 'nic', network: 'lan0', nictype: 'bridged' }, ['nictype']],
  ['a bridged nic without parent', { type: 'nic', nictype: 'bridged' }, ['parent']],
  ['an empty parent', { ...nic, parent: '' }, ['parent']],
  ['p2p with parent', { type: 'nic', nictype: 'p2p', parent: 'br0' }, ['parent']],
  ['a static address on macvlan', { ...nic, nictype: 'macvlan', 'ipv4.address': '10.0.0.1' }, ['ipv4.address']],
  ['routes without prefix', { ...nic, 'ipv4.routes': '10.4.0.0/16,10.5.0.1' }, ['ipv4.routes']],
  ['a default route', { ...nic, 'ipv6.routes': '::/0' }, ['ipv6.routes']],
  ['routes of the other family', { ...nic, 'ipv6.routes': '10.4.0.0/16' }, ['ipv6.routes']],
  ['routes to macvlan', { ...nic, nictype: 'macvlan', 'ipv4.routes': '10.4.0.0/16' }, ['ipv4.routes']],
  ['an address with prefix on a routed nic', { ...layer3('routed'), 'ipv4.address': '10.0.0.5/24' }, ['ipv4.address']],
  ['one address twice', { ...layer3('routed'), 'ipv6.address': 'fd42::5,fd42:0::5' }, ['ipv6.address']],
  ['no address by a word', { ...layer3('ipvlan'), 'ipv4.address': 'none' }, ['ipv4.address']],
  ['addresses of a bridged nic', { ...nic, 'ipv4.address': '10.0.0.5,10.0.0.6' }, ['ipv4.address']],
  ['a gateway by address where the host is it', { ...layer3('routed'), 'ipv4.gateway': '10.0.0.1' }, ['ipv4.gateway']],
  ['a gateway by word in mode l2', { ...layer3('ipvlan'), mode: 'l2', 'ipv6.gateway': 'auto' }, ['ipv6.gateway']],
  ['a table in mode l2', { ...layer3('ipvlan'), mode: 'l2', 'ipv4.host_table': '5' }, ['ipv4.host_table']],
  ['a table below 1', { ...layer3('routed'), 'ipv4.host_table': '0' }, ['ipv4.host_table']],
  ['an unknown mode', { ...layer3('ipvlan'), mode: 'l3' }, ['mode']],
  ['an ipvlan nic without parent', { type: 'nic', nictype: 'ipvlan' }, ['parent']],
  ['a MAC address for ipvlan', { ...layer3('ipvlan'), hwaddr: '00:16:3e:aa:bb:cc' }, ['hwaddr']],
  ['a VLAN of nothing', { type: 'nic', nictype: 'routed', vlan: '5' }, ['vlan']],
  ['subnets behind no address', { type: 'nic', nictype: 'routed', 'ipv4.routes': '10.4.0.0/16' }, ['ipv4.routes']],
  [
    'a key of routed for macvlan',
    { type: 'nic', nictype: 'macvlan', parent: 'eth0', 'ipv4.gateway': 'auto' },
    ['ipv4.gateway'],
  ],
  ['a boot priority of a routed nic', { ...layer3('routed'), 'boot.priority': '1' }, ['boot.priority']],
  ['a boot priority below 0', { ...root, 'boot.priority': '-1' }, ['boot.priority']],
  [
    'an external route of a p2p nic',
    { type: 'nic', nictype: 'p2p', 'ipv4.routes.external': '10.4.0.0/16' },
    ['ipv4.routes.external'],
  ],
  ['a part of a graphics card', { type: 'gpu', gputype: 'sriov' }, ['gputype']],
  ['bad nic values', { ...nic, name: 'much-too-long-a-name', hwaddr: 'x', mtu: '0' }, ['name', 'hwaddr', 'mtu']],
  ['an address with prefix', { ...nic, 'ipv4.address': '10.0.0.1/24' }, ['ipv4.address']],
  ['an IPv6 address for IPv4', { ...nic, 'ipv4.address': 'fd42::1' }, ['ipv4.address']],
  ['a rate without unit', { ...nic, 'limits.egress': '10MB' }, ['limits.egress']],
  ['a value of two lines', { ...nic, parent: 'br0\nlxc.x = y' }, ['parent']],
  ['a disk without path', { type: 'disk', source: '/srv' }, ['path']],
  ['a path out of the container', { type: 'disk', path: 'mnt/../..', source: '/srv' }, ['path']],
  ['the root written otherwise', { type: 'disk', path: '/./', source: '/srv' }, ['path']],
  ['a path that climbs', { type: 'disk', path: '/mnt/../..', source: '/srv' }, ['path']],
  ['a disk without source', { type: 'disk', path: '/mnt' }, ['source']],
  ['a relative source', { type: 'disk', path: '/mnt', source: 'srv' }, ['source']],
  ['a host path with pool', { type: 'disk', path: '/mnt', source: '/srv', pool: 'default' }, ['source']],
  ['a root with source', { ...root, source: '/srv' }, ['source']],
  ['a root without pool', { type: 'disk', path: '/' }, ['pool']],
  ['a size on a disk that is not the root', { type: 'disk', path: '/mnt', source: '/srv', size: '1GB' }, ['size']],
  ['a recursive root', { ...root, recursive: 'true' }, ['recursive']],
  [
    'mount options of a file system',
    { type: 'disk', path: '/m', source: '/s', 'raw.mount.options': 'noexec,uid=5' },
    ['raw.mount.options'],
  ],
  [
    'two rules of access times',
    { type: 'disk', path: '/m', source: '/s', 'raw.mount.options': 'noatime,relatime' },
    ['raw.mount.options'],
  ],
  [
    'options of a file system for what is no device',
    { type: 'disk', path: '/m', source: '/srv/dev', 'raw.mount.options': 'discard' },
    ['raw.mount.options'],
  ],
  [
    'a device in the options of another one',
    { type: 'disk', path: '/m', source: '/dev/sdb1', 'raw.mount.options': 'source=/dev/sda1' },
    ['raw.mount.options'],
  ],
  ['mount options of the root', { ...root, 'raw.mount.options': 'noexec' }, ['raw.mount.options']],
  [
    'a disk that is required and optional',
    { type: 'disk', path: '/m', source: '/s', required: 'true', optional: 'true' },
    ['required'],
  ],
  ['an unknown propagation', { type: 'disk', path: '/m', source: '/s', propagation: 'public' }, ['propagation']],
  ['a unix device without paths', { type: 'unix-char', mode: '0660' }, ['path']],
  ['a mode that is not octal', { type: 'unix-char', path: '/dev/x', mode: '0890' }, ['mode']],
  ['a usb id of the wrong form', { type: 'usb', vendorid: '12345' }, ['vendorid']],
  ['a gpu by address and id', { type: 'gpu', pci: '0000:03:00.0', id: '1' }, ['pci']],
  ['a gpu by id and vendor', { type: 'gpu', id: '1', vendorid: '10de' }, ['id']],
  ['an infiniband without parent', { type: 'infiniband', nictype: 'physical' }, ['parent']],
  ['a proxy without sides', { type: 'proxy' }, ['listen', 'connect']],
  ['a proxy with more targets', { ...proxy, connect: 'tcp:127.0.0.1:1-2' }, ['connect']],
  ['a proxy with unequal ranges', { ...proxy, listen: 'tcp:1.1.1.1:1-3', connect: 'tcp:127.0.0.1:1-2' }, ['connect']],
  ['socket owner on tcp', { ...proxy, uid: '5' }, ['uid']],
  ['nat between protocols', { ...natProxy, connect: 'udp:10.0.0.9:1' }, ['nat']],
  ['nat on the wildcard address', { ...natProxy, listen: 'tcp:0.0.0.0:80' }, ['listen']],
  ...['0.0.0.0', '[::]', '127.0.0.1', '[::1]'].map(
    (host) =>
      [`nat to ${host}, which is no container,`, { ...natProxy, connect: `tcp:${host}:80` }, ['connect']] as const,
  ),
  [
    'nat on the wildcard address of IPv6',
    { ...proxy, nat: 'true', listen: 'tcp:[::]:80', connect: 'tcp:[fd00::9]:80' },
    ['listen'],
  ],
  ['nat in the container', { ...natProxy, bind: 'container' }, ['nat']],
  ['proxy protocol to udp', { ...proxy, proxy_protocol: 'true', connect: 'udp:127.0.0.1:1' }, ['proxy_protocol']],
  ['IPv6 without brackets', { ...proxy, listen: 'tcp:::1:80' }, ['listen']],
  ['a host name', { ...proxy, listen: 'tcp:localhost:80' }, ['listen']],
  ['port 0', { ...proxy, listen: 'tcp:127.0.0.1:0' }, ['listen']],
];

describe('devices', () => {
  for (const type of Object.keys(deviceSchemas)) {
    test(`${type} accepts every form in the contract`, () => {
      expect(accepted[type]?.length).toBeGreaterThan(0);
      for (const device of accepted[type] ?? [])
        expect(validateDevices({ d: device }), JSON.stringify(device)).toEqual([]);
    });
  }
  for (const [what, device, paths] of refused) {
    test(`${what} is refused at its property`, () => expect(wrong(device)).toEqual(paths));
  }

  test('every default of the tables passes its own check', () => {
    for (const [name, type] of Object.entries(deviceSchemas)) {
      for (const [property, fact] of Object.entries(type.properties)) {
        if ('default' in fact && fact.default !== undefined) {
          expect(fact.check(fact.default), `${name}.${property}`).toBeUndefined();
        }
      }
    }
  });

  test('the message about an unknown word has the nearest known one', () => {
    expect(validateDevices({ eth0: { ...nic, parnet: 'x' } })).toEqual([
      {
        path: 'devices.eth0.parnet',
        message: 'is not a property of nic devices (did you mean parent?)',
        code: 'unknownProperty',
        near: 'parent',
      },
    ]);
    expect(validateDevices({ eth0: { type: 'unix_char' } })[0]?.message).toContain('(did you mean unix-char?)');
  });

  test('a second root disk is refused with both names', () => {
    expect(validateDevices({ root, other: { ...root, pool: 'fast' } })).toEqual([
      { path: 'devices.root.path', message: 'is / like that of other: a container has exactly one root disk' },
    ]);
  });

  test('two devices cannot have the same path', () => {
    const mount = { type: 'disk', path: '/mnt', source: '/srv' };
    expect(validateDevices({ a: mount, b: mount }).map((problem) => problem.path)).toEqual(['devices.b.path']);
    const named = { ...nic, name: 'eth0' };
    expect(validateDevices({ a: named, b: named }).map((problem) => problem.path)).toEqual(['devices.b.name']);
  });

  test('the name of a device is validated', () => {
    expect(validateDevices({ 'a/b': nic })[0]?.path).toBe('devices.a/b');
  });

  test('the root disk is found', () => {
    expect(rootDisk({ eth0: nic, main: root })).toEqual({ name: 'main', pool: 'default' });
    expect(rootDisk({ eth0: nic })).toBeUndefined();
  });

  test('a unix device takes a missing path from its source, and the other way round', () => {
    expect(unixPaths({ source: '/a' })).toEqual({ source: '/a', path: '/a' });
    expect(unixPaths({ path: '/b', source: '' })).toEqual({ source: '/b', path: '/b' });
  });

  test('proxy addresses are parsed with their ports expanded in order', () => {
    expect(parseProxyAddress('tcp:[::1]:80,90-92')).toEqual({ protocol: 'tcp', host: '::1', ports: [80, 90, 91, 92] });
    expect(parseProxyAddress('unix:@x')).toEqual({ protocol: 'unix', path: '@x' });
    expect(typeof parseProxyAddress('unix:x')).toBe('string');
  });
});

describe('the effect of changing devices', () => {
  test.each([
    ['nothing', nic, { ...nic }, 'none'],
    ['a default written out', nic, { ...nic, 'security.mac_filtering': 'false' }, 'none'],
    ['an added nic', undefined, nic, 'live'],
    ['a removed nic', nic, undefined, 'live'],
    ['another parent', nic, { ...nic, parent: 'br1' }, 'live'],
    ['another type', nic, proxy, 'live'],
    ['a note of the user on the root', root, { ...root, 'user.note': 'x' }, 'none'],
    ['a larger root', root, { ...root, size: '20GB' }, 'live'],
    ['a read-only root', root, { ...root, readonly: 'true' }, 'restart'],
    ['another pool', root, { ...root, pool: 'fast' }, 'recreate'],
    ['a root that goes', root, undefined, 'recreate'],
    ['an added infiniband', undefined, { type: 'infiniband', nictype: 'sriov', parent: 'ib0' }, 'restart'],
  ] as const)('%s: %o to %o is %s', (_what, before, after, effect) => {
    expect(effectOfDeviceChange(before, after)).toBe(effect);
  });
});

test('a path of a million characters is one problem', () => {
  const long = '/a'.repeat(500_000);
  const problems = validateDevices({
    d: { type: 'disk', path: long, source: '/srv' },
    e: { type: 'disk', path: '/e', source: long },
  });
  expect(problems.map(({ path }) => path)).toEqual(['devices.d.path', 'devices.e.source']);
  for (const problem of problems) expect(problem.message).toContain('must have at most 4096 characters');
});
