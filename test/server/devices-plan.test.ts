// What is decided about devices before anything is done: steps of a change, rates, names, commands. Pure.
import { describe, expect, test } from 'vitest';
import { planDevices } from '../../server/services/containers/device-plan.ts';
import { mountSource, parseRates } from '../../server/drivers/devices/disk-rates.ts';
import { splitDev } from '../../server/drivers/devices/host-paths.ts';
import type { NicRun } from '../../server/drivers/run-parts.ts';
import { diskRateValues } from '../../server/drivers/runtime/disk-rates.ts';
import {
  checkNicNames,
  filterTable,
  ifbName,
  macFilter,
  plugNic,
  prepareNic,
  shapeCommands,
  tablesOf,
  unplugNic,
} from '../../server/drivers/runtime/nic-commands.ts';

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
    ['only its lease', { nic }, { nic: { ...nic, 'ipv4.address': '10.0.0.2' } }, ['adjust nic']],
    ['mtu of a nic', { nic }, { nic: { ...nic, mtu: '1400' } }, ['unplug nic', 'plug nic']],
    ['only rates of a disk', { data }, { data: { ...data, 'limits.read': '1MB' } }, ['adjust data']],
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
  test('max means both ways; iops are told from bytes', () => {
    expect(parseRates({ 'limits.max': '10MB' })).toEqual({ readBps: 10e6, writeBps: 10e6 });
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

  test('a VLAN is made once, a virtual function gets its address through its parent', () => {
    const vlan: NicRun = { ...veth, kind: 'macvlan', link: 'eth5.7', vlan: { parent: 'eth5', id: 7 } };
    expect(prepareNic(vlan, () => false, 'm')[0]).toBe('link add link eth5 name eth5.7 type vlan id 7');
    expect(prepareNic(vlan, () => true, 'm')).toEqual([]);
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
    expect(both.ip).toEqual([`link add name ${ifb} alias mark type ifb`, `link set dev ${ifb} up`]);
    expect(both.tc[0]).toMatch(/^qdisc replace dev veth1234 root tbf rate 20000000bit burst 25000b/);
    expect(both.tc[3]).toContain(`mirred egress redirect dev ${ifb}`);
    expect(shapeCommands(veth, 'mark')).toEqual({ ip: [], tc: [] });
  });

  test('the filter names interface and address, in a table of this daemon', () => {
    const rules = macFilter(veth, 'cafe0001');
    expect(rules).toContain('iifname "veth1234" ether saddr != 00:16:3e:00:00:01 drop');
    expect(rules).toContain('iifname "veth1234" arp saddr ether != 00:16:3e:00:00:01 drop');
    const listing = `table bridge ${filterTable('veth1234', 'cafe0001')}\ntable bridge gantry_other_1\ntable bridge x\n`;
    expect(tablesOf(listing, 'cafe0001')).toEqual([filterTable('veth1234', 'cafe0001')]);
  });
});
