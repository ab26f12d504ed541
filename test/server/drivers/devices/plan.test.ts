// Decisions about devices before anything is done: steps of a change, rates, names, commands. Pure.
import { describe, expect, test } from 'vitest';
import { planDevices } from '../../../../server/services/containers/devices/plan.ts';
import { mountSource, parseRates } from '../../../../server/drivers/devices/disk-rates.ts';
import { splitDev } from '../../../../server/drivers/devices/host-paths.ts';
import { endpointText, natRules, planProxy, proxyHeader } from '../../../../server/drivers/devices/proxy/proxy-plan.ts';
import { inetAddress } from '../../../../server/drivers/devices/proxy/sockets.ts';
import type { NicRun } from '../../../../server/drivers/device-parts.ts';
import type { RunConfig } from '../../../../server/drivers/runtime/driver.ts';
import { diskRateValues } from '../../../../server/drivers/runtime/cgroup/disk-rate-values.ts';
import { type LxcSettings, renderLxcConfig } from '../../../../server/drivers/runtime/lxc/config.ts';
import { hostRoutes } from '../../../../server/drivers/runtime/nic/routes.ts';
import { hostSide, routingSwitches } from '../../../../server/drivers/runtime/nic/routing.ts';
import {
  checkNicNames,
  ifbName,
  plugNic,
  prepareNic,
  shapeCommands,
  unplugNic,
} from '../../../../server/drivers/runtime/nic/commands.ts';

const nic = { type: 'nic', nictype: 'bridged', parent: 'br0', name: 'eth0' };
const data = { type: 'disk', source: '/srv', path: '/data' };
const root = { type: 'disk', path: '/', pool: 'default' };
const text = (before: object, after: object): string[] =>
  planDevices(before as never, after as never).map(({ kind, device }) => `${kind} ${device}`);

describe('the plan for changed devices', () => {
  test.each<[what: string, before: object, after: object, steps: string[]]>([
    ['nothing changed', { nic, data }, { nic, data }, []],
    ['a default written out is no change', { data }, { data: { ...data, readonly: 'false' } }, []],
    ['added', {}, { data }, ['plug data']],
    ['removed', { data }, {}, ['unplug data']],
    ['masked by none', { data }, { data: { type: 'none' } }, ['unplug data']],
    ['unmasked', { data: { type: 'none' } }, { data }, ['plug data']],
    ['none that comes or goes is nothing', {}, { data: { type: 'none' } }, []],
    ['replaced', { data }, { data: { ...data, path: '/d' } }, ['unplug data', 'plug data']],
    ['another type', { data }, { data: nic }, ['unplug data', 'plug data']],
    ['only rates of a nic', { nic }, { nic: { ...nic, 'limits.egress': '1Mbit' } }, ['adjust nic']],
    [
      'only rates and a note of the user',
      { nic },
      { nic: { ...nic, 'limits.max': '1Mbit', 'user.x': 'y' } },
      ['adjust nic'],
    ],
    ['only a note of the user', { nic }, { nic: { ...nic, 'user.x': 'y' } }, []],
    ['only its lease', { nic }, { nic: { ...nic, 'ipv4.address': '10.0.0.2' } }, ['adjust nic']],
    ['mtu of a nic', { nic }, { nic: { ...nic, mtu: '1400' } }, ['unplug nic', 'plug nic']],
    ['only rates of a disk', { data }, { data: { ...data, 'limits.read': '1MB' } }, ['adjust data']],
    [
      'only routes of a nic',
      { n: { type: 'nic', nictype: 'p2p' } },
      { n: { type: 'nic', nictype: 'p2p', 'ipv4.routes': '10.4.0.0/16' } },
      ['adjust n'],
    ],
    ['rates of the root disk', { root }, { root: { ...root, 'limits.read': '1MB' } }, ['adjust root']],
    ['size of the root disk is the pool’s', { root }, { root: { ...root, size: '1GB' } }, []],
    ['what else the root disk has waits', { root }, { root: { ...root, readonly: 'true' } }, ['wait root']],
    [
      'a path that moves from one device to another is free before it is taken',
      { a: data, b: { ...data, path: '/b' } },
      { a: { ...data, path: '/c' }, b: data },
      ['unplug a', 'unplug b', 'plug a', 'plug b'],
    ],
    [
      'infiniband waits for a start',
      {},
      { ib: { type: 'infiniband', nictype: 'physical', parent: 'ib0' } },
      ['wait ib'],
    ],
  ])('%s', (_what, before, after, steps) => {
    expect(text(before, after)).toEqual(steps);
  });
});

describe('rates of disks', () => {
  test('max means both ways, as on LXD; iops are told from bytes', () => {
    expect(parseRates({ 'limits.max': '10MB', 'limits.read': '1MB' })).toEqual({ readBps: 10e6, writeBps: 10e6 });
    expect(parseRates({ 'limits.read': '500iops', 'limits.write': '1KiB' })).toEqual({ readIops: 500, writeBps: 1024 });
    expect(parseRates({ 'limits.read': '' })).toEqual({});
  });

  const rate = { device: 'a', major: 8, minor: 0 };
  test('cgroup v1 has a file for each, v2 one line; what is not limited is lifted', () => {
    expect(diskRateValues([{ ...rate, readBps: 5 }], [], 1)).toContainEqual({
      file: 'blkio.throttle.read_bps_device',
      value: '8:0 5',
    });
    expect(diskRateValues([{ ...rate, readBps: 5, writeIops: 7 }], [], 2)).toEqual([
      { file: 'io.max', value: '8:0 rbps=5 wbps=max riops=max wiops=7' },
    ]);
    expect(diskRateValues([], [{ ...rate, readBps: 5 }], 1).map(({ value }) => value)).toEqual(Array(4).fill('8:0 0'));
  });

  test('two disks on one block device have the average', () => {
    const both = [
      { ...rate, readBps: 10 },
      { ...rate, device: 'b', readBps: 30 },
    ];
    expect(diskRateValues(both, [], 2)[0]?.value).toContain('rbps=20');
  });

  test('device numbers and mounts are understood as the kernel writes them', () => {
    expect(splitDev(0x801)).toEqual({ major: 8, minor: 1 });
    expect(splitDev(0x10_0000_0 + 0x0105)).toEqual({ major: 1, minor: 0x1005 });
    const line = '36 35 0:32 / /srv rw,noatime shared:1 - btrfs /dev/sdb1 rw';
    expect(mountSource(line, '0:32')).toBe('/dev/sdb1');
    expect(mountSource(line, '0:33')).toBeUndefined();
  });
});

describe('the configuration of a start', () => {
  const settings: LxcSettings = {
    postStopHook: 'true',
    cgroup: { monitor: 'm', pivot: 'p', container: 'c' },
    cgroup1: [],
    cgroup2: [],
    seccompProfile: undefined,
    apparmorLabel: undefined,
    lxcfsFiles: [],
  };
  const run: RunConfig = {
    name: 'c',
    hostname: 'c',
    rootfs: '/r',
    logDir: '/l',
    architecture: 'x86_64',
    idmap: [{ isuid: true, isgid: true, hostid: 100_000, nsid: 0, maprange: 65_536 }],
    config: {},
    nics: [],
    mounts: [],
  };
  const lines = (more: Partial<RunConfig>): string[] => renderLxcConfig({ ...run, ...more }, settings).split('\n');

  test('each kind of nic is said in LXC’s words', () => {
    const nics: NicRun[] = [
      { device: 'a', kind: 'macvlan', name: 'eth0', hostName: 'mv0', hwaddr: '00:16:3e:00:00:01', link: 'eth5' },
      { device: 'b', kind: 'physical', name: 'wan', hostName: 'enp3s0', mtu: 9000 },
    ];
    expect(lines({ nics }).filter((line) => line.startsWith('lxc.net.'))).toEqual([
      'lxc.net.0.type = macvlan',
      'lxc.net.0.link = eth5',
      'lxc.net.0.flags = up',
      'lxc.net.0.name = eth0',
      'lxc.net.0.hwaddr = 00:16:3e:00:00:01',
      'lxc.net.0.macvlan.mode = bridge',
      'lxc.net.1.type = phys',
      'lxc.net.1.link = enp3s0',
      'lxc.net.1.flags = up',
      'lxc.net.1.name = wan',
      'lxc.net.1.mtu = 9000',
    ]);
  });

  test('addresses and gateways of ipvlan and routed nics are those that LXC gives the interface', () => {
    const inside = { addresses: ['10.0.0.5/32', 'fd42::5/128'], gateways: { ipv4: 'dev', ipv6: 'dev' } };
    const nics: NicRun[] = [
      { device: 'a', kind: 'ipvlan', mode: 'l3s', name: 'eth0', hostName: 'iv0', link: 'eth5', inside },
      { device: 'b', kind: 'veth', name: 'eth1', hostName: 'v1', inside: { addresses: ['10.1.0.5/24'], gateways: {} } },
    ];
    expect(lines({ nics }).filter((line) => line.startsWith('lxc.net.'))).toEqual([
      'lxc.net.0.type = ipvlan',
      'lxc.net.0.link = eth5',
      'lxc.net.0.flags = up',
      'lxc.net.0.name = eth0',
      'lxc.net.0.ipvlan.mode = l3s',
      'lxc.net.0.ipv4.address = 10.0.0.5/32 0.0.0.0',
      'lxc.net.0.ipv6.address = fd42::5/128',
      'lxc.net.0.ipv4.gateway = dev',
      'lxc.net.0.ipv6.gateway = dev',
      'lxc.net.1.type = veth',
      'lxc.net.1.flags = up',
      'lxc.net.1.name = eth1',
      'lxc.net.1.veth.pair = v1',
      'lxc.net.1.ipv4.address = 10.1.0.5/24',
    ]);
  });

  test('nodes are allowed on both generations of control groups', () => {
    const node = {
      device: 'n',
      kind: 'block',
      major: 8,
      minor: 3,
      target: '/dev/x',
      uid: 0,
      gid: 0,
      mode: 0o660,
    } as const;
    const allowed = lines({ nodes: [node] }).filter((line) => line.endsWith('b 8:3 rwm'));
    expect(allowed).toEqual(['lxc.cgroup.devices.allow = b 8:3 rwm', 'lxc.cgroup2.devices.allow = b 8:3 rwm']);
  });

  test('nvidia.runtime brings the driver’s libraries by LXC’s hook, with what was required', () => {
    const config = { 'nvidia.runtime': 'true', 'nvidia.require.cuda': '>=9.0', 'nvidia.driver.capabilities': 'all' };
    expect(lines({ config }).filter((line) => /nvidia/i.test(line))).toEqual([
      'lxc.environment = NVIDIA_VISIBLE_DEVICES=none',
      'lxc.environment = NVIDIA_DRIVER_CAPABILITIES=all',
      'lxc.environment = NVIDIA_REQUIRE_CUDA=>=9.0',
      'lxc.hook.mount = /usr/share/lxc/hooks/nvidia',
    ]);
    expect(lines({}).join('\n')).not.toMatch(/nvidia/i);
    expect(() => lines({ config, idmap: [] })).toThrow(/privileged/);
  });
});

describe('proxies', () => {
  const plan = (properties: Record<string, string>) => planProxy('web', properties);

  test('ports are paired in their order, or all go to one; what is not said has its default', () => {
    const two = plan({ listen: 'tcp:0.0.0.0:80,443', connect: 'tcp:127.0.0.1:8080-8081' });
    expect(two.forwards.map(({ listen, connect }) => `${endpointText(listen)} ${endpointText(connect)}`)).toEqual([
      'tcp:0.0.0.0:80 tcp:127.0.0.1:8080',
      'tcp:0.0.0.0:443 tcp:127.0.0.1:8081',
    ]);
    const one = plan({ listen: 'udp:[::1]:53-54', connect: 'unix:@name', mode: '0640', uid: '5', 'security.gid': '7' });
    expect(one.forwards.map(({ connect }) => endpointText(connect))).toEqual(['unix:@name', 'unix:@name']);
    expect(one).toMatchObject({
      bind: 'host',
      nat: false,
      socket: { uid: 5, gid: 0, mode: 0o640 },
      runAs: { uid: 0, gid: 7 },
    });
  });

  test('the PROXY line has addresses of one family, or says that it does not know', () => {
    const to = { address: '::ffff:10.0.0.1', port: 80 };
    expect(proxyHeader({ address: '10.0.0.9', port: 5 }, to)).toBe('PROXY TCP4 10.0.0.9 10.0.0.1 5 80\r\n');
    expect(proxyHeader({ address: 'fd00::9', port: 5 }, { address: 'fd00::1', port: 80 })).toBe(
      'PROXY TCP6 fd00::9 fd00::1 5 80\r\n',
    );
    expect(proxyHeader({}, to)).toBe('PROXY UNKNOWN\r\n');
  });

  test('rules of the kernel: from anywhere or one address, and back to a container that asks for itself', () => {
    const rules = natRules(
      plan({ listen: 'tcp:0.0.0.0:80', connect: 'tcp:10.0.0.9:8080', nat: 'true' }),
      'gantry_proxy_x',
    );
    expect(rules).toContain('meta nfproto ipv4 fib daddr type local tcp dport 80 dnat ip to 10.0.0.9:8080');
    expect(rules).toContain('ip saddr 10.0.0.9 ip daddr 10.0.0.9 tcp dport 8080 masquerade');
    const six = natRules(plan({ listen: 'udp:[fd00::1]:53', connect: 'udp:[fd00::9]:5353', nat: 'true' }), 't');
    expect(six).toContain('ip6 daddr fd00::1 udp dport 53 dnat ip6 to [fd00::9]:5353');
  });

  test('addresses are laid out as the kernel reads them', () => {
    expect([...inetAddress('10.0.0.9', 258)].slice(0, 8)).toEqual([2, 0, 1, 2, 10, 0, 0, 9]);
    const six = [...inetAddress('fd00::9', 80)];
    expect([six.length, six[0], six[8], six[23]]).toEqual([28, 10, 0xfd, 9]);
  });
});

describe('commands for interfaces', () => {
  const veth: NicRun = {
    device: 'eth0',
    kind: 'veth',
    name: 'eth0',
    hostName: 'veth1234',
    hwaddr: '00:16:3e:00:00:01',
    link: 'br0',
    mtu: 1400,
  };

  test('a cable is made with its far end inside, joined to its bridge, then brought up', () => {
    expect(plugNic(veth, 42)).toEqual({
      host: [
        'link add name veth1234 mtu 1400 type veth peer name eth0 address 00:16:3e:00:00:01 mtu 1400 netns 42',
        'link set dev veth1234 master br0',
        'link set dev veth1234 up',
      ],
      inside: ['link set dev eth0 up'],
    });
    expect(unplugNic(veth, 1).host).toEqual(['link delete dev veth1234']);
  });

  test('macvlan is made on the host and moved; physical is lent and comes back under its name', () => {
    const macvlan: NicRun = { ...veth, kind: 'macvlan', link: 'eth5', hostName: 'mv1' };
    expect(plugNic(macvlan, 42).host[1]).toBe('link set dev mv1 netns 42 name eth0');
    expect(unplugNic(macvlan, 1).inside).toEqual(['link delete dev eth0']);
    const lent: NicRun = { device: 'p', kind: 'physical', name: 'eth9', hostName: 'enp3s0' };
    expect(plugNic(lent, 42).host).toEqual(['link set dev enp3s0 netns 42 name eth9']);
    expect(unplugNic(lent, 7).inside).toEqual(['link set dev eth9 down', 'link set dev eth9 netns 7 name enp3s0']);
  });

  test('ipvlan is made on the host and moved, with its addresses and a default route after the others', () => {
    const inside = { addresses: ['10.0.0.5/32', 'fd42::5/128'], gateways: { ipv4: 'dev', ipv6: 'fe80::1' } };
    const { hwaddr: _none, ...rest } = veth;
    const plan = plugNic({ ...rest, kind: 'ipvlan', mode: 'l2', link: 'eth5', hostName: 'iv1', inside }, 42);
    expect(plan.host).toEqual([
      'link add name iv1 link eth5 mtu 1400 type ipvlan mode l2 bridge',
      'link set dev iv1 netns 42 name eth0',
    ]);
    expect(plan.inside).toEqual([
      'address add 10.0.0.5/32 dev eth0',
      'address add fd42::5/128 dev eth0 nodad',
      'link set dev eth0 up',
      'route append 0.0.0.0/0 dev eth0',
      'route append ::/0 via fe80::1 dev eth0 onlink',
    ]);
  });

  test('a host answers for the addresses of ipvlan in the network of the parent, and says that they are its own', () => {
    const routing = {
      addresses: ['10.0.0.5', 'fd42::5'],
      hostAddresses: [],
      tables: { ipv4: 7 },
      parent: 'eth5',
      probed: [],
    };
    const nic: NicRun = { ...veth, kind: 'ipvlan', link: 'eth5', routing };
    expect(hostSide(nic)).toEqual([
      'neighbour replace proxy 10.0.0.5 dev eth5',
      'neighbour replace proxy fd42::5 dev eth5',
    ]);
    expect(hostRoutes(nic)).toEqual([
      { to: '10.0.0.5', dev: 'lo' },
      { to: '10.0.0.5', dev: 'lo', table: 7 },
      { to: 'fd42::5', dev: 'lo' },
    ]);
    expect(routingSwitches(nic).map(({ path }) => path)).toEqual([
      '/proc/sys/net/ipv4/conf/eth5/forwarding',
      '/proc/sys/net/ipv6/conf/eth5/proxy_ndp',
    ]);
  });

  test('a VLAN is made once, a virtual function gets its address through its parent', () => {
    const vlan: NicRun = { ...veth, kind: 'macvlan', link: 'eth5.7', vlan: { parent: 'eth5', id: 7 } };
    expect(prepareNic(vlan, () => false, 'm')[0]).toBe('link add link eth5 name eth5.7 type vlan id 7');
    expect(prepareNic(vlan, () => true, 'm')).toEqual([]);
    const routing = { addresses: [], hostAddresses: [], tables: {}, parent: 'eth5.7', probed: [] };
    const { link: _none, ...apart } = vlan;
    expect(prepareNic({ ...apart, kind: 'veth', routing }, () => false, 'm')[0]).toContain('name eth5.7 type vlan');
    const vf: NicRun = { ...veth, kind: 'physical', virtualFunction: { parent: 'eth5', index: 3 } };
    expect(prepareNic(vf, () => true, 'm')).toEqual(['link set dev eth5 vf 3 mac 00:16:3e:00:00:01']);
  });

  test('names that a program would read as something else are refused', () => {
    for (const name of ['a b', 'x'.repeat(16), 'a/b', 'a"', '#c', '', '..']) {
      expect(() => checkNicNames({ ...veth, name })).toThrow(/interface names/);
    }
  });

  test('into the container is slowed on the host’s end, out of it on an interface between', () => {
    const both = shapeCommands({ ...veth, rates: { ingress: 20e6, egress: 10e6 } }, 'mark');
    const ifb = ifbName('veth1234');
    expect(ifb.length).toBeLessThanOrEqual(15);
    expect(both.ip).toEqual([`link add name ${ifb} type ifb`, `link set dev ${ifb} alias mark up`]);
    expect(both.tc[0]).toMatch(/^qdisc replace dev veth1234 root tbf rate 20000000bit burst 25000b/);
    expect(both.tc[3]).toContain(`mirred egress redirect dev ${ifb}`);
    expect(shapeCommands(veth, 'mark')).toEqual({ ip: [], tc: [] });
  });
});
