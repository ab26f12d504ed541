// What the runtime reads: names, addresses, cgroup trees, facts of the host, reasons of failures.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCgroupTree } from '../../../../server/drivers/runtime/cgroup/cgroup.ts';
import { parseHaltSignal } from '../../../../server/drivers/runtime/lxc/halt-signal.ts';
import { firstReason } from '../../../../server/drivers/runtime/lxc/failure-reason.ts';
import { encodeName, quoteShell } from '../../../../server/drivers/runtime/safe-names.ts';
import { formatIpv6, parseIpJson, scopeOf } from '../../../../server/drivers/runtime/nic/netlink.ts';
import { linkLocal } from '../../../../server/drivers/runtime/sim/metrics.ts';

describe('small parsers', () => {
  test('encoded names are unique, whatever the names contain', () => {
    const name = fc.string({ minLength: 1, maxLength: 64 });
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect(encodeName(a)).toMatch(/^[A-Za-z0-9_@][A-Za-z0-9_.@-]*$/);
        expect(encodeName(a).length).toBeLessThanOrEqual(200);
        expect(encodeName(a) === encodeName(b)).toBe(a === b);
      }),
    );
    expect(encodeName('web-1.x')).toBe('web-1.x');
  });

  test('shell words survive quotes', () => {
    expect(quoteShell(`a'b$c`)).toBe(`'a'\\''b$c'`);
  });

  test('the first error line of the log is the reason, else stderr', () => {
    const log = [
      'lxc-start c1 20260101 WARN     conf - ../src/lxc/conf.c:f:1 - just a warning',
      'lxc-start c1 20260101 ERROR    network - ../src/lxc/network.c:f:2 - No such device - bridge "x" is missing',
      'lxc-start c1 20260101 ERROR    start - ../src/lxc/start.c:f:3 - Failed to spawn container "c1"',
    ].join('\n');
    expect(firstReason(log, 'generic')).toBe('No such device - bridge "x" is missing');
    expect(firstReason('', 'lxc-start: c1: ../src/lxc/confile.c: parse: 1 Unknown key\nmore')).toBe('Unknown key');
    expect(firstReason('', '')).toMatch(/no reason/);
  });

  test('halt signals by name, number and offset', () => {
    expect(parseHaltSignal('lxc.signal.halt = SIGRTMIN+4')).toBe(38);
    expect(parseHaltSignal('lxc.signal.halt = SIGTERM\nlxc.signal.halt = 12')).toBe(12);
    expect(parseHaltSignal('lxc.signal.halt = SIGUSR1')).toBe(10);
    expect(parseHaltSignal('')).toBeUndefined();
  });

  test('finds control groups on hosts of both generations', () => {
    const v2 = parseCgroupTree(
      '30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n',
      '0::/init.scope\n',
    );
    expect(v2).toEqual({ version: 2, roots: new Map([['', '/sys/fs/cgroup']]) });
    const hybrid = parseCgroupTree(
      [
        '32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct',
        '40 31 0:37 / /sys/fs/cgroup/systemd rw shared:5 - cgroup cgroup rw,xattr,name=systemd',
        '41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
      ].join('\n'),
      '2:cpu,cpuacct:/\n1:name=systemd:/init.scope\n0::/init.scope\n',
    );
    expect(hybrid.version).toBe(1);
    expect(hybrid.roots.get('cpuacct')).toBe('/sys/fs/cgroup/cpu,cpuacct');
    expect(hybrid.roots.get('name=systemd')).toBe('/sys/fs/cgroup/systemd');
  });

  test('addresses: text and scope', () => {
    expect(formatIpv6(Uint8Array.of(0xfd, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))).toBe('fd42::1');
    expect(formatIpv6(new Uint8Array(16))).toBe('::');
    expect(formatIpv6(Uint8Array.from({ length: 16 }, (_, at) => at))).toBe('1:203:405:607:809:a0b:c0d:e0f');
    expect(['127.0.0.1', '::1', 'fe80::1', '169.254.3.4', '10.0.0.1', 'fd00::1'].map(scopeOf)).toEqual([
      'local',
      'local',
      'link',
      'link',
      'global',
      'global',
    ]);
    expect(linkLocal('00:16:3e:00:00:01')).toBe('fe80::216:3eff:fe00:1');
  });

  test('understands `ip -j`, the way without koffi', () => {
    const text = JSON.stringify([
      {
        ifindex: 2,
        ifname: 'eth0',
        mtu: 1500,
        address: '00:16:3e:00:00:01',
        flags: ['BROADCAST', 'UP'],
        link_index: 7,
        stats64: {
          rx: { bytes: 1, packets: 2, errors: 5, dropped: 6 },
          tx: { bytes: 3, packets: 4, errors: 7, dropped: 8 },
        },
        addr_info: [{ family: 'inet', local: '10.0.0.2', prefixlen: 24 }],
      },
    ]);
    expect(parseIpJson(text)).toEqual([
      {
        index: 2,
        name: 'eth0',
        mtu: 1500,
        hwaddr: '00:16:3e:00:00:01',
        isUp: true,
        type: 'broadcast',
        peerIndex: 7,
        counters: {
          bytes_received: 1,
          packets_received: 2,
          errors_received: 5,
          packets_dropped_inbound: 6,
          bytes_sent: 3,
          packets_sent: 4,
          errors_sent: 7,
          packets_dropped_outbound: 8,
        },
        addresses: [{ family: 'inet', address: '10.0.0.2', netmask: '24', scope: 'global' }],
      },
    ]);
  });
});
