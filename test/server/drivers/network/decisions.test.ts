// The pure half of networks: config checks, firewall and dnsmasq text, ip commands.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseIp } from '../../../../server/api/text/ip.ts';
import { findNetworkConfigKey, networkConfigKeys } from '../../../../server/api/network/network-config.ts';
import { networkValueRule } from '../../../../server/api/network/network-values.ts';
import { validateNetworkConfig } from '../../../../server/api/network/validate-network-config.ts';
import { planNetwork } from '../../../../server/drivers/network/config.ts';
import {
  distinctHosts,
  dnsmasqArguments,
  isServableName,
  parseLeases,
  renderHosts,
  withoutLeases,
} from '../../../../server/drivers/network/dnsmasq/format.ts';
import { dhcpRelease } from '../../../../server/drivers/network/dnsmasq/dhcp-release.ts';
import { renderFirewall } from '../../../../server/drivers/network/firewall.ts';
import {
  addressCommands,
  memberCommands,
  parseLinks,
  routeCommands,
} from '../../../../server/drivers/network/ip-commands.ts';

describe('config keys', () => {
  const problemsOf = (config: Record<string, string>): string[] =>
    validateNetworkConfig('net0', config).map((each) => each.message);

  test('every default in the table is a valid value of its key, and every key is found by its own name', () => {
    for (const entry of networkConfigKeys) {
      if (entry.default !== undefined) expect(networkValueRule(entry.type, entry.default), entry.key).toBeUndefined();
      expect(findNetworkConfigKey(entry.key.replace('NAME', 'one').replace('*', 'any.thing'))).toBe(entry);
      expect(entry.doc).toMatch(/^[A-Za-z].*\.$/);
    }
  });

  test('all problems are told at once, each with its path, value and rule', () => {
    const problems = validateNetworkConfig('x', {
      'ipv4.nat': 'maybe',
      'ipv4.adress': '10.0.0.1/24',
      'ipv6.address': '10.0.0.1/24',
      'dns.mode': 'static',
    });
    expect(problems.map((each) => each.path)).toEqual([
      'name',
      'config.ipv4.nat',
      'config.ipv4.adress',
      'config.ipv6.address',
      'config.dns.mode',
    ]);
    expect(problems.map((each) => each.message).join('\n')).toMatchInlineSnapshot(`
      "name "x" must be 2 to 15 of letters, digits, - _ .
      ipv4.nat: "maybe" must be true or false
      ipv4.adress: unknown key (did you mean ipv4.address?)
      ipv6.address: "10.0.0.1/24" must be none or auto or an IPv6 address with prefix length (fd42:1:2:3::1/64)
      dns.mode: "static" must be one of managed, dynamic, none"
    `);
  });

  test.each<[string, Record<string, string>, RegExp]>([
    ['MTU too small for IPv6', { 'bridge.mtu': '1000', 'ipv6.address': 'fd42::1/64' }, /bridge\.mtu.*1280/],
    ['MTU too small for IPv4', { 'bridge.mtu': '60' }, /68/],
    ['fan key without fan', { 'fan.type': 'vxlan' }, /bridge\.mode/],
    ['ipv4 key in fan mode', { 'bridge.mode': 'fan', 'ipv4.nat': 'true' }, /ipv4\.nat/],
    ['MTU too large in fan mode', { 'bridge.mode': 'fan', 'bridge.mtu': '1500' }, /1450/],
    ['range outside', { 'ipv4.address': '10.1.1.1/24', 'ipv4.dhcp.ranges': '10.1.2.2-10.1.2.9' }, /within/],
    ['gateway outside', { 'ipv4.address': '10.1.1.1/24', 'ipv4.dhcp.gateway': '10.1.2.1' }, /within/],
    ['base address', { 'ipv4.address': '10.1.1.0/24' }, /base or broadcast/],
    ['no /64', { 'ipv6.address': 'fd42::1/80' }, /\/64/],
    ['tunnel without protocol', { 'tunnel.a.id': '3' }, /tunnel\.a\.protocol/],
    [
      'tunnel with half its addresses',
      { 'tunnel.a.protocol': 'vxlan', 'tunnel.a.local': '1.2.3.4' },
      /tunnel\.a\.remote/,
    ],
    ['gre without addresses', { 'tunnel.a.protocol': 'gre' }, /gre/],
    ['tunnel name too long', { 'tunnel.abcdefghijk.protocol': 'vxlan' }, /14 characters/],
    ['tunnel typing mistake', { 'tunnel.a.protocol': 'vxlan', 'tunnel.a.prot': '1' }, /tunnel\.a\.p/],
    ['domain that is an option', { 'dns.domain': 'a,b' }, /domain/],
    ['search list that is an option', { 'dns.search': 'lab,-x' }, /domain/],
    ['search list with a gap', { 'dns.search': 'lab,,x' }, /empty parts/],
    ['search list beyond one option', { 'dns.search': Array(30).fill('lab.example').join(',') }, /255 bytes/],
    ['nat address of the other family', { 'ipv4.nat.address': 'fd42::1' }, /ipv4\.nat\.address.*IPv4/],
    ['nat address with a port', { 'ipv6.nat.address': '[fd42::1]:80' }, /IPv6 address/],
    ['expiry that is an option', { 'ipv4.dhcp.expiry': '1h,set:x' }, /expiry/],
    ['interface that is an option', { 'bridge.external_interfaces': 'eth0,-batch' }, /interface name/],
    ['line break in an address', { 'ipv4.address': '10.0.0.1/24\nlink del eth0' }, /ipv4\.address/],
    ['multicast hardware address', { 'bridge.hwaddr': '01:00:00:00:00:01' }, /multicast/],
    ['route into itself', { 'ipv4.address': '10.1.1.1/24', 'ipv4.routes': '10.1.0.0/16' }, /overlap/],
  ])('%s', (_title, config, message) => {
    const problems = problemsOf(config);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(message);
  });

  test.each<Record<string, string>>([
    {},
    { 'ipv4.address': 'auto', 'ipv6.address': 'none', 'ipv4.nat': '' },
    { 'ipv6.address': 'fd42::1/80', 'ipv6.dhcp.stateful': 'true' },
    { 'ipv6.address': 'fd42::1/80', 'ipv6.dhcp': 'false' },
    { 'raw.dnsmasq': 'a\nb', 'user.any thing': 'x\ny' },
    { 'tunnel.a.protocol': 'vxlan', 'tunnel.a.id': '0', 'tunnel.a.port': '8472', 'tunnel.a.ttl': '255' },
    { 'bridge.mode': 'fan', 'bridge.mtu': '1450' },
    { 'ipv4.address': '10.0.0.1/31', 'ipv4.dhcp': 'false' },
  ])('%j is fine', (config) => {
    expect(problemsOf(config)).toEqual([]);
  });

  test('any text at all is either refused or harmless: one argument word, no line break, no option', () => {
    const odd = fc.oneof(
      fc.string({ maxLength: 20 }),
      fc.string({ unit: fc.constantFrom('1', '.', '/', 'a', '\n', ' ', ',', '-', ':', '"', ';'), maxLength: 12 }),
    );
    const keys = networkConfigKeys
      .map((entry) => entry.key)
      .filter((key) => !/^(raw\.|user\.|fan\.|tunnel\.|bridge\.(mode|driver))/.test(key));
    const places = { pidFile: '/p', leaseFile: '/l', hostsFile: '/h', logFile: '/g', confFile: '/c' };
    fc.assert(
      fc.property(fc.constantFrom(...keys), odd, (key, value) => {
        const config = { 'ipv4.address': '10.1.1.1/24', 'ipv6.address': 'fd42::1/64', [key]: value };
        if (problemsOf(config).length > 0 || value === 'auto') return;
        const plan = planNetwork({ name: 'net0', config });
        const texts = [
          ...dnsmasqArguments(plan, places),
          ...addressCommands(plan, undefined),
          ...memberCommands(plan, [], []),
        ];
        for (const text of texts) expect(text).not.toMatch(/[\n\r\0]/);
        for (const text of dnsmasqArguments(plan, places)) expect(text).toMatch(/^--[a-z0-9-]+(=|$)/);
        for (const line of addressCommands(plan, undefined))
          expect(line).toMatch(/^(addr replace [0-9a-f.:/]+ dev net0( nodad)?|link set dev net0 up)$/);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('firewall', () => {
  test('renders one table, replaced as a whole', () => {
    const config = {
      'ipv4.address': '10.1.1.1/24',
      'ipv4.nat': 'true',
      'ipv6.address': 'fd42::1/64',
      'ipv6.routing': 'false',
      'ipv6.nat': 'true',
      'ipv6.nat.order': 'after',
    };
    expect(renderFirewall(planNetwork({ name: 'net0', config }))).toMatchInlineSnapshot(`
      "add table inet gantry_net0
      delete table inet gantry_net0
      table inet gantry_net0 {
        chain net_in {
          type filter hook input priority 0; policy accept;
          iifname "net0" meta nfproto ipv4 udp dport { 53, 67 } accept
          iifname "net0" meta nfproto ipv4 tcp dport 53 accept
          iifname "net0" meta nfproto ipv6 udp dport { 53, 547 } accept
          iifname "net0" meta nfproto ipv6 tcp dport 53 accept
          iifname "net0" meta nfproto ipv6 icmpv6 type { 133, 135, 136 } accept
        }
        chain net_fwd {
          type filter hook forward priority 0; policy accept;
          iifname "net0" oifname "net0" accept
          iifname "net0" meta nfproto ipv4 accept
          oifname "net0" meta nfproto ipv4 accept
          iifname "net0" meta nfproto ipv6 reject
          oifname "net0" meta nfproto ipv6 reject
        }
        chain net_nat_before {
          type nat hook postrouting priority 95; policy accept;
          ip saddr 10.1.1.0/24 ip daddr != 10.1.1.0/24 masquerade
        }
        chain net_nat_after {
          type nat hook postrouting priority 105; policy accept;
          ip6 saddr fd42::/64 ip6 daddr != fd42::/64 masquerade
        }
      }
      "
    `);
  });

  test('only NAT is left without firewall, and only the empty table without NAT', () => {
    const config = { 'ipv4.address': '10.1.1.1/24', 'ipv4.firewall': 'false' };
    expect(renderFirewall(planNetwork({ name: 'net0', config }))).not.toMatch(/hook/);
    const nat = renderFirewall(planNetwork({ name: 'net0', config: { ...config, 'ipv4.nat': 'true' } }));
    expect(nat).toMatch(/hook postrouting/);
    expect(nat).not.toMatch(/hook (input|forward)/);
  });

  test('traffic leaves by the nat.address, each family by its own', () => {
    const config = {
      'ipv4.address': '10.1.1.1/24',
      'ipv6.address': 'fd42::1/64',
      'ipv4.nat': 'true',
      'ipv6.nat': 'true',
      'ipv4.nat.address': '192.0.2.9',
      'ipv6.nat.address': '2001:DB8:0::9',
    };
    const text = renderFirewall(planNetwork({ name: 'net0', config }));
    expect(text).toContain('ip saddr 10.1.1.0/24 ip daddr != 10.1.1.0/24 snat ip to 192.0.2.9\n');
    expect(text).toContain('ip6 saddr fd42::/64 ip6 daddr != fd42::/64 snat ip6 to 2001:db8::9\n');
    expect(text).not.toContain('masquerade');
  });
});

describe('dnsmasq', () => {
  const places = { pidFile: '/p', leaseFile: '/l', hostsFile: '/h', logFile: '/g', confFile: '/dev/null' };

  test('the command line says everything of the config', () => {
    const config = {
      'ipv4.address': '10.1.1.1/24',
      'ipv6.address': 'fd42::1/64',
      'ipv4.dhcp.expiry': '2h',
      'ipv4.dhcp.gateway': '10.1.1.254',
      'bridge.mtu': '1400',
      'dns.domain': 'lab',
      'dns.search': 'lab, example.com',
    };
    expect(dnsmasqArguments(planNetwork({ name: 'net0', config }), places)).toMatchInlineSnapshot(`
      [
        "--strict-order",
        "--bind-interfaces",
        "--except-interface=lo",
        "--interface=net0",
        "--listen-address=10.1.1.1",
        "--listen-address=fd42::1",
        "--no-ping",
        "--quiet-dhcp",
        "--quiet-dhcp6",
        "--quiet-ra",
        "--pid-file=/p",
        "--log-facility=/g",
        "--user=nobody",
        "--group=nogroup",
        "--dhcp-no-override",
        "--dhcp-authoritative",
        "--dhcp-rapid-commit",
        "--dhcp-leasefile=/l",
        "--dhcp-hostsfile=/h",
        "--dhcp-range=10.1.1.2,10.1.1.253,2h",
        "--dhcp-option-force=3,10.1.1.254",
        "--dhcp-option-force=26,1400",
        "--dhcp-range=::,constructor:net0,ra-stateless,ra-names",
        "--enable-ra",
        "--dhcp-option-force=option:domain-search,lab,example.com",
        "--dhcp-option=option6:domain-search,lab,example.com",
        "--domain=lab",
        "--local=/lab/",
        "--interface-name=_gateway.lab,net0",
        "--dhcp-ignore-names",
        "--conf-file=/dev/null",
      ]
    `);
    const plain = dnsmasqArguments(
      planNetwork({
        name: 'net0',
        config: { 'ipv4.address': '10.1.1.1/24', 'ipv4.dhcp': 'false', 'dns.mode': 'none', 'dns.search': 'lab' },
      }),
      places,
    );
    expect(plain.join(' ')).not.toMatch(/domain-search|dhcp-range|--domain|leasefile|ignore-names/);
  });

  test('leases of IPv6 are handed out with their ranges and expiry only where DHCPv6 is stateful', () => {
    const config = {
      'ipv6.address': 'fd42::1/64',
      'ipv6.dhcp.stateful': 'true',
      'ipv6.dhcp.ranges': 'fd42::10-fd42::20,fd42::40-fd42::41',
      'ipv6.dhcp.expiry': '30m',
    };
    const ranges = (changes: object): string[] =>
      dnsmasqArguments(planNetwork({ name: 'net0', config: { ...config, ...changes } }), places).filter((word) =>
        word.startsWith('--dhcp-range'),
      );
    expect(ranges({})).toEqual(['--dhcp-range=fd42::10,fd42::20,64,30m', '--dhcp-range=fd42::40,fd42::41,64,30m']);
    expect(ranges({ 'ipv6.dhcp.stateful': 'false' })).toEqual([
      '--dhcp-range=::,constructor:net0,ra-stateless,ra-names',
    ]);
  });

  test('ipv6.firewall leaves out the rules of IPv6 alone, and ipv6.routes lead to the bridge', () => {
    const config = { 'ipv4.address': '10.1.1.1/24', 'ipv6.address': 'fd42::1/64', 'ipv6.firewall': 'false' };
    const rules = renderFirewall(planNetwork({ name: 'net0', config }));
    expect(rules).toContain('meta nfproto ipv4');
    expect(rules).not.toContain('meta nfproto ipv6');
    const routed = planNetwork({ name: 'net0', config: { ...config, 'ipv6.routes': 'fd42:9::/48' } });
    expect(routeCommands(routed, [])).toEqual(['route add fd42:9::/48 dev net0 proto static']);
  });

  test.each(['fan.overlay_subnet', 'fan.underlay_subnet', 'fan.type'])(
    '%s is refused without bridge.mode fan, which no kernel of Debian has',
    (key) => {
      const value = key === 'fan.type' ? 'vxlan' : '240.0.0.0/8';
      expect(() => planNetwork({ name: 'net0', config: { [key]: value } })).toThrow(/needs bridge.mode to be fan/);
      expect(() => planNetwork({ name: 'net0', config: { [key]: value, 'bridge.mode': 'fan' } })).toThrow(
        /Ubuntu's fan-map/,
      );
    },
  );

  test.each([
    ['web', true],
    ['web-1', true],
    ['project_web', true],
    ['12h', false],
    ['42', false],
    ['infinite', false],
    ['ignore', false],
    ['-web', false],
    ['a.b', false],
    ['a b', false],
    ['x'.repeat(64), false],
    ['', false],
    ['a\nb', false],
  ])('%j is served: %s', (name, expected) => {
    expect(isServableName(name)).toBe(expected);
  });

  test('host lines hold address and name in the order dnsmasq reads, and nothing for a host with neither', () => {
    const hosts = [
      { id: 'a', hwaddr: '02:00:00:00:00:AA', hostname: 'web', ipv4: '10.1.1.5', ipv6: 'FD42::0:5' },
      { id: 'b', hwaddr: '02:00:00:00:00:bb', hostname: 'not a name' },
    ];
    expect(renderHosts(hosts, 'managed')).toBe('02:00:00:00:00:aa,10.1.1.5,[fd42::5],web\n');
    expect(renderHosts(hosts, 'dynamic')).toBe('02:00:00:00:00:aa,10.1.1.5,[fd42::5]\n');
  });

  test('the host with the smaller id is kept of those that clash, in any order of input', () => {
    const host = (id: string, hwaddr: string, ipv4?: string): Parameters<typeof distinctHosts>[0][number] => ({
      id,
      hwaddr: `02:00:00:00:00:${hwaddr}`,
      hostname: id,
      ...(ipv4 === undefined ? {} : { ipv4 }),
    });
    const hosts = [host('a', '01', '10.0.0.1'), host('b', '01'), host('c', '02', '10.0.0.1'), host('d', '03')];
    fc.assert(
      fc.property(fc.shuffledSubarray(hosts, { minLength: 4 }), (shuffled) => {
        const { kept, dropped } = distinctHosts(shuffled);
        expect(kept.map((each) => each.id)).toEqual(['a', 'd']);
        expect(dropped).toHaveLength(2);
      }),
    );
  });

  const file = [
    '1795231968 02:00:00:00:00:02 10.213.250.162 beta 01:02:00:00:00:00:02',
    '0 02:00:00:00:00:03 10.213.250.163 * *',
    'duid 00:01:00:01:2f:aa:bb:cc:00:16:3e:01:02:03',
    '1795231968 7 fd42::50 vsix 00:03:00:01:02:00:00:00:00:04',
    '1795231968 T9 fd42::51 * 00:01:00:01:2f:aa:bb:cc:02:00:00:00:00:05',
    '1795231968 1 fd42::52 * 00:02:00:00:ab:11:01',
    '17952319',
    '',
  ].join('\n');

  test('the lease file is read in both families, and a torn line is passed over', () => {
    const { leases, serverId } = parseLeases(file);
    expect(serverId).toBe('00:01:00:01:2f:aa:bb:cc:00:16:3e:01:02:03');
    expect(leases.map((lease) => [lease.hwaddr, lease.address, lease.hostname, lease.clientId, lease.iaid])).toEqual([
      ['02:00:00:00:00:02', '10.213.250.162', 'beta', '01:02:00:00:00:00:02', 0],
      ['02:00:00:00:00:03', '10.213.250.163', '', '', 0],
      ['02:00:00:00:00:04', 'fd42::50', 'vsix', '00:03:00:01:02:00:00:00:00:04', 7],
      ['02:00:00:00:00:05', 'fd42::51', '', '00:01:00:01:2f:aa:bb:cc:02:00:00:00:00:05', 9],
      ['', 'fd42::52', '', '00:02:00:00:ab:11:01', 1],
    ]);
  });

  test('leases are taken out of the file without touching any other line', () => {
    const left = withoutLeases(file, (lease) => lease.hwaddr === '02:00:00:00:00:03');
    expect(left).toBe(
      file
        .split('\n')
        .filter((line) => !line.startsWith('0 '))
        .join('\n'),
    );
    expect(withoutLeases(file, () => false)).toBe(file);
  });

  test('a release carries the address, the hardware address and the client identifier of the lease', () => {
    const [lease] = parseLeases(file).leases;
    const server = parseIp('10.213.250.1')!;
    const message = dhcpRelease(lease!, server, 0x01020304);
    expect(message.subarray(0, 8).toString('hex')).toBe('0101060001020304');
    expect(message.subarray(12, 16).toString('hex')).toBe('0ad5faa2');
    expect(message.subarray(28, 34).toString('hex')).toBe('020000000002');
    expect(message.subarray(236).toString('hex')).toBe('6382536335010736040ad5fa013d0701020000000002ff');
  });

  test('reading never fails, whatever the file holds', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => {
        expect(parseLeases(text).leases.length).toBeLessThanOrEqual(text.split('\n').length);
      }),
    );
  });
});

describe('ip', () => {
  const bridge = (addresses: string[]): ReturnType<typeof parseLinks>[number] => ({
    ...parseLinks('[{"ifname":"net0","flags":["UP"],"mtu":1500}]')[0]!,
    addresses: addresses.map((text) => {
      const [address = '', prefix = ''] = text.split('/');
      return { family: address.includes(':') ? 'inet6' : 'inet', address, prefix: Number(prefix), scope: 'global' };
    }),
  });

  test('a bridge that already is as wanted needs no command', () => {
    const plan = planNetwork({
      name: 'net0',
      config: { 'ipv4.address': '10.1.1.1/24', 'ipv6.address': 'fd42::1/64', 'ipv4.routes': '10.2.0.9/24,10.3.0.1/32' },
    });
    expect(addressCommands(plan, bridge(['10.1.1.1/24', 'fd42::1/64']))).toEqual([]);
    expect(routeCommands(plan, ['10.2.0.0/24', '10.3.0.1'])).toEqual([]);
  });

  test('a subnet that the config names twice gets one route: the kernel refuses a second one', () => {
    const config = { 'ipv4.address': '10.1.1.1/24', 'ipv4.routes': '10.2.0.0/24,10.2.0.9/24' };
    expect(routeCommands(planNetwork({ name: 'net0', config }), [])).toEqual([
      'route add 10.2.0.0/24 dev net0 proto static',
    ]);
  });

  test('stale addresses leave before new ones come, and those of IPv6 are left to the kernel when IPv6 is switched off', () => {
    const plan = planNetwork({ name: 'net0', config: { 'ipv4.address': '10.1.2.1/24' } });
    expect(addressCommands(plan, bridge(['10.1.1.1/24', 'fd42::1/64']))).toEqual([
      'addr del 10.1.1.1/24 dev net0',
      'addr replace 10.1.2.1/24 dev net0',
    ]);
  });
});
