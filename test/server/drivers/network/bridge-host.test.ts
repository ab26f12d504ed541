// Real bridges beyond the conformance suite: NAT, routing, tunnels, DHCPv6, and what happens when others touch our things.
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join as joinPath } from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bridgeAvailable, openBridgeNetwork } from '../../../../server/drivers/network/bridge.ts';
import type { NetworkDriver } from '../../../../server/drivers/network/driver.ts';
import { openNetworkFiles } from '../../../../server/drivers/network/network-files.ts';
import { exec } from '../../../../server/lib/exec.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { makeBridgeHarness, resolveAt, type BridgeHarness } from '../../../support/drivers/network-bridge.ts';
import { joinNetns, type Netns } from '../../../support/drivers/network-namespace.ts';
import { processSlowness } from '../../../support/hosts/slowness.ts';
import { until } from '../../../support/until.ts';

const available = await bridgeAvailable();
if (!available.ok) console.log(`bridge networks on the host skipped: ${available.reason}`);
const never = new AbortController().signal;
const dhcp6Client = new URL('../../../support/drivers/dhcp6-client.mjs', import.meta.url).pathname;

describe.skipIf(!available.ok)('bridge networks on the host', () => {
  let harness: BridgeHarness;
  let driver: NetworkDriver;
  let name: string;
  let ipv4: string;
  let ipv6: string;
  let config: Record<string, string>;
  const clients: Netns[] = [];
  const ip = async (...args: string[]): Promise<string> => (await exec(['ip', ...args])).stdout;
  const up = (changes: Record<string, string> = {}): Promise<void> =>
    driver.up({ name, config: { ...config, ...changes } }, never);
  const join = async (last: number): Promise<Netns> => {
    const hwaddr = `02:00:00:00:ff:${last.toString(16).padStart(2, '0')}`;
    const client = await joinNetns(harness.prefix, name, { hwaddr, hostname: 'client' });
    clients.push(client);
    return client;
  };

  beforeAll(async () => {
    harness = await makeBridgeHarness(1);
  });
  afterAll(async () => {
    await harness?.cleanup();
  });
  beforeEach(() => {
    driver = harness.open();
    ({ name, ipv4, ipv6 } = harness.fresh());
    config = { 'ipv4.address': `${ipv4}.1/24`, 'ipv6.address': 'none' };
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.leave();
    await driver.down(name);
  });

  /** A machine beyond the host that has no route to any of our networks: it answers only what was masqueraded. */
  async function outsideMachine(): Promise<string> {
    const outside = await joinNetns(harness.prefix, undefined, { hwaddr: '02:00:00:00:fe:01', hostname: 'outside' });
    clients.push(outside);
    await exec(['ip', 'addr', 'add', '198.18.213.1/30', 'dev', outside.hostEnd]);
    await exec(['ip', 'addr', 'add', 'fd42:ffff:213::1/126', 'dev', outside.hostEnd, 'nodad']);
    await outside.run(['ip', 'addr', 'add', '198.18.213.2/30', 'dev', 'eth0']);
    await outside.run(['ip', 'addr', 'add', 'fd42:ffff:213::2/126', 'dev', 'eth0', 'nodad']);
    return outside.netns;
  }
  const canPing = async (client: Netns, address: string): Promise<boolean> => {
    const program = address.includes(':') ? 'ping6' : 'ping';
    return (await client.run(['busybox', program, '-c', '1', '-W', '1', address], [0, 1])).code === 0;
  };
  /** Waits until the client reaches an address; a failure shows what IPv6 of client, host and outside machine looks like. */
  async function reaches(client: Netns, address: string): Promise<void> {
    try {
      await until(() => canPing(client, address));
    } catch (error) {
      const lists = ['addr', 'route', 'neigh'].map((list) => ['-6', list]);
      const inside = clients.map(async (each) => [
        each.netns,
        ...(await Promise.all(lists.map(async (list) => (await each.run(['ip', ...list])).stdout))),
      ]);
      const onHost = lists.map((list) => ip(...list));
      const rules = exec(['nft', 'list', 'ruleset']).then(({ stdout }) => stdout);
      const seen = [...(await Promise.all(inside)).flat(), 'host', ...(await Promise.all([...onHost, rules]))];
      throw new Error(`${address} does not answer:\n${seen.join('\n')}`, { cause: error });
    }
  }

  test('ipv4.nat masquerades what leaves the network, in either order', async () => {
    await outsideMachine();
    await up({ 'ipv4.nat': 'true' });
    const client = await join(1);
    await client.request();
    expect(await canPing(client, '198.18.213.2')).toBe(true);
    await up({ 'ipv4.nat': 'false' });
    expect(await canPing(client, '198.18.213.2')).toBe(false);
    await up({ 'ipv4.nat': 'true', 'ipv4.nat.order': 'after' });
    expect(await canPing(client, '198.18.213.2')).toBe(true);
  });

  test('the chain that docker keeps for others lets a network through while it is up, unless its firewall is off', async (context) => {
    const made = await exec(['iptables', '-w', '10', '-N', 'DOCKER-USER']).catch(() => undefined);
    if (made === undefined) {
      console.log('skipped: the chain of docker: there is no iptables, or docker runs here');
      context.skip();
    }
    const ours = async (): Promise<string[]> =>
      (await exec(['iptables', '-w', '10', '-S', 'DOCKER-USER'])).stdout
        .split('\n')
        .filter((line) => line.includes(name));
    try {
      await up();
      const rules = [`-A DOCKER-USER -o ${name} -j ACCEPT`, `-A DOCKER-USER -i ${name} -j ACCEPT`];
      expect(await ours()).toEqual(rules);
      await up();
      expect(await ours()).toEqual(rules);
      await up({ 'ipv4.firewall': 'false' });
      expect(await ours()).toEqual([]);
      await up();
      await driver.down(name);
      expect(await ours()).toEqual([]);
    } finally {
      await exec(['iptables', '-w', '10', '-F', 'DOCKER-USER']);
      await exec(['iptables', '-w', '10', '-X', 'DOCKER-USER']);
    }
  });

  test('ipv4.routing false rejects forwarding but not the host itself nor a neighbour', async () => {
    await outsideMachine();
    await up({ 'ipv4.nat': 'true', 'ipv4.routing': 'false' });
    const client = await join(1);
    const neighbour = await join(2);
    await client.request();
    const address = (await neighbour.request()) ?? '';
    expect(await canPing(client, '198.18.213.2')).toBe(false);
    expect(await canPing(client, `${ipv4}.1`)).toBe(true);
    expect(await canPing(client, address)).toBe(true);
  });

  test('ipv4.nat.address and ipv6.nat.address are what the outside sees, until they are unset', async () => {
    await outsideMachine();
    const outside = clients.at(-1) as Netns;
    await exec(['ip', 'addr', 'add', '198.18.214.1/32', 'dev', outside.hostEnd]);
    await exec(['ip', 'addr', 'add', 'fd42:ffff:214::1/128', 'dev', outside.hostEnd, 'nodad']);
    // The way back leads to these addresses alone.
    await outside.run(['ip', 'route', 'add', '198.18.214.1', 'via', '198.18.213.1']);
    await outside.run(['ip', '-6', 'route', 'add', 'fd42:ffff:214::1', 'via', 'fd42:ffff:213::1']);
    await outside.run(['ip', 'route', 'add', 'blackhole', '198.18.213.1/32']);
    await outside.run(['ip', '-6', 'route', 'add', 'blackhole', 'fd42:ffff:213::1/128']);
    const nat = { 'ipv4.nat': 'true', 'ipv6.address': `${ipv6}::1/64`, 'ipv6.nat': 'true' };
    await up({ ...nat, 'ipv4.nat.address': '198.18.214.1', 'ipv6.nat.address': 'fd42:ffff:214::1' });
    const client = await join(1);
    await client.request();
    await until(async () => (await client.run(['ip', '-6', 'route', 'show', 'default'])).stdout !== '');
    expect(await canPing(client, '198.18.213.2')).toBe(true);
    await reaches(client, 'fd42:ffff:213::2');
    await up(nat);
    expect(await canPing(client, '198.18.213.2')).toBe(false);
    expect(await canPing(client, 'fd42:ffff:213::2')).toBe(false);
  });

  test('dns.search reaches clients with their leases, and goes when it is unset', async () => {
    await up({ 'dns.search': 'lab.example, example.com' });
    const client = await join(1);
    expect(await client.searchList()).toBe('lab.example example.com');
    await up();
    expect(await client.searchList()).toBe('');
  });

  test('ipv6.nat masquerades IPv6', async () => {
    await outsideMachine();
    await up({ 'ipv6.address': `${ipv6}::1/64`, 'ipv6.nat': 'true' });
    const client = await join(1);
    await until(async () => (await client.ipv6()).length > 0);
    await until(async () => (await client.run(['ip', '-6', 'route', 'show', 'default'])).stdout !== '');
    // Duplicate address detection of the client takes a second or two.
    await reaches(client, 'fd42:ffff:213::2');
    await up({ 'ipv6.address': `${ipv6}::1/64`, 'ipv6.nat': 'false' });
    expect(await canPing(client, 'fd42:ffff:213::2')).toBe(false);
  });

  test('clients lease addresses, reservations included, and releaseLease takes them away', async () => {
    await up({ 'ipv6.address': `${ipv6}::1/64`, 'ipv6.dhcp.stateful': 'true' });
    const client = await join(1);
    await driver.setHosts(name, [{ id: 'v6', hwaddr: client.hwaddr, hostname: 'vsix', ipv6: `${ipv6}::50` }]);
    // The link-local address of the client must be ready first.
    await until(
      async () => (await client.run(['ip', '-6', '-o', 'addr', 'show', 'dev', 'eth0', 'tentative'])).stdout === '',
    );
    const { stdout } = await client.run(['node', dhcp6Client, 'eth0', client.hwaddr], [0, 1]);
    expect(stdout.trim()).toBe(`${ipv6}:0:0:0:0:50`);
    expect(await driver.leases(name)).toEqual([{ hostname: 'vsix', hwaddr: client.hwaddr, address: `${ipv6}::50` }]);
    const pid = harness.dnsmasqPid(name);
    await driver.releaseLease(name, client.hwaddr);
    expect(await driver.leases(name)).toEqual([]);
    expect(harness.dnsmasqPid(name)).toBe(pid);
  });

  test('releaseLease works when the last client has left, without a restart of dnsmasq', async () => {
    await up();
    const client = await join(1);
    await client.request();
    clients.splice(0);
    await client.leave();
    const pid = harness.dnsmasqPid(name);
    await driver.releaseLease(name, client.hwaddr);
    expect(await driver.leases(name)).toEqual([]);
    expect(harness.dnsmasqPid(name)).toBe(pid);
  });

  test('releaseLease falls back to a restart when dnsmasq does not answer', async () => {
    await up();
    const client = await join(1);
    await client.request();
    const pid = harness.dnsmasqPid(name);
    process.kill(pid, 'SIGSTOP');
    const released = driver.releaseLease(name, client.hwaddr);
    try {
      await until(() => !existsSync(`/proc/${pid}`) || readPid() !== pid);
    } finally {
      await released;
    }
    expect(await driver.leases(name)).toEqual([]);
    expect(readPid()).not.toBe(pid);
    function readPid(): number {
      try {
        return harness.dnsmasqPid(name);
      } catch {
        return 0;
      }
    }
  });

  test('routes, gateway and MTU reach clients and kernel, and leave again', async () => {
    await up({
      'ipv4.routes': `10.214.${ipv4.split('.')[2]}.0/25,10.215.0.7/32`,
      'ipv4.dhcp.gateway': `${ipv4}.254`,
      'bridge.mtu': '1390',
    });
    const client = await join(1);
    await client.request();
    expect((await client.run(['ip', 'route', 'show', 'default'])).stdout).toContain(`via ${ipv4}.254`);
    expect((await client.run(['ip', 'link', 'show', 'dev', 'eth0'])).stdout).toContain('mtu 1390');
    expect(await ip('route', 'show', 'dev', name, 'proto', 'static')).toContain('/25');
    expect(await ip('route', 'show', 'dev', name, 'proto', 'static')).toContain('10.215.0.7');
    await up({ 'ipv4.routes': '10.215.0.7/32' });
    await up({ 'ipv4.routes': '10.215.0.7/32' });
    expect((await ip('route', 'show', 'dev', name, 'proto', 'static')).trim().split('\n')).toHaveLength(1);
  });

  test('vxlan tunnels join the bridge, change with their config and go with the network', async () => {
    const tunnels = {
      'tunnel.m.protocol': 'vxlan',
      'tunnel.m.id': '4213',
      'tunnel.m.interface': 'lo',
      'tunnel.m.ttl': '9',
      'tunnel.u.protocol': 'vxlan',
      'tunnel.u.id': '4214',
      'tunnel.u.local': '198.18.213.1',
      'tunnel.u.remote': '198.18.213.2',
    };
    await up(tunnels);
    const show = async (tunnel: string): Promise<string> => ip('-d', 'link', 'show', 'dev', `${name}-${tunnel}`);
    expect(await show('m')).toMatch(
      new RegExp(`mtu 1400 .*master ${name} [^]*id 4213 group 239.0.0.1 dev lo [^]*ttl 9 `),
    );
    expect(await show('u')).toMatch(/id 4214 remote 198.18.213.2 local 198.18.213.1/);
    const index = async (): Promise<string> => (await show('u')).split(':')[0] ?? '';
    const before = await index();
    await up(tunnels);
    expect(await index()).toBe(before);
    // Releases before this one named no network in the alias.
    const alias = async (): Promise<string> => /alias (\S+)/.exec(await show('u'))?.[1] ?? '';
    const named = await alias();
    expect(named).toMatch(new RegExp(`:${name}$`));
    await ip('link', 'set', 'dev', `${name}-u`, 'alias', named.slice(0, named.lastIndexOf(':')));
    await up(tunnels);
    expect([await index(), await alias()]).toEqual([before, named]);
    await up({ ...tunnels, 'tunnel.u.remote': '198.18.213.3' });
    expect(await show('u')).toMatch(/remote 198.18.213.3/);
    await up();
    expect(await harness.remains(name)).not.toContain(`link ${name}-u`);
    await up(tunnels);
    await driver.down(name);
    expect(await harness.remains(name)).toEqual([]);
  });

  test.each([
    ['unicast', { local: '198.18.213.1', remote: '198.18.213.2' }, 'remote 198.18.213.1 local 198.18.213.2'],
    ['multicast', { group: '239.9.9.9' }, 'group 239.9.9.9 dev eth0'],
  ] as const)(
    'a %s vxlan tunnel carries DHCP, pings and whole packets to another machine',
    async (_kind, ends, theirs) => {
      await outsideMachine();
      const other = clients.at(-1) as Netns;
      const facts = {
        protocol: 'vxlan',
        id: '4215',
        ...('group' in ends ? { ...ends, interface: other.hostEnd } : ends),
      };
      await up(Object.fromEntries(Object.entries(facts).map(([key, value]) => [`tunnel.far.${key}`, value])));
      const near = await join(1);
      const nearAddress = (await near.request()) ?? '';
      const lines = [
        `link add vx0 mtu 1400 type vxlan id 4215 dstport 0 ${theirs}`,
        'link set dev vx0 up',
        'link set dev eth0 up',
      ];
      await exec(['ip', '-n', other.netns, '-batch', '-'], { input: `${lines.join('\n')}\n` });
      const lease = ['busybox', 'udhcpc', '-i', 'vx0', '-n', '-q', '-f', '-t', '5', '-T', '1', '-s', '/bin/true'];
      expect((await other.run(lease, [0, 1])).code).toBe(0);
      await other.run(['ip', 'addr', 'add', `${ipv4}.250/24`, 'dev', 'vx0']);
      await until(() => canPing(other, `${ipv4}.1`));
      expect(await canPing(other, nearAddress)).toBe(true);
      expect(await canPing(near, `${ipv4}.250`)).toBe(true);
      const whole = ['ping', '-c', '3', '-W', '2', '-s', '1372', '-M', 'do', nearAddress];
      const { code } = await other.run(['which', 'ping'], [0, 1]);
      if (code === 0) expect((await other.run(whole, [0, 1])).code).toBe(0);
      else
        expect(
          (await other.run(['busybox', 'ping', '-c', '3', '-W', '2', '-s', '1372', nearAddress], [0, 1])).code,
        ).toBe(0);
      await up();
      expect(await canPing(other, nearAddress)).toBe(false);
    },
  );

  test('a host that went down gets all of a network back: addresses, rules, members, tunnels, service and leases', async () => {
    const outside = await joinNetns(harness.prefix, undefined, { hwaddr: '02:00:00:00:fe:03', hostname: 'outside' });
    clients.push(outside);
    const all = {
      'ipv4.nat': 'true',
      'ipv6.address': `${ipv6}::1/64`,
      'ipv6.nat': 'true',
      'ipv4.routes': '10.215.0.8/32',
      'bridge.external_interfaces': outside.hostEnd,
      'tunnel.t.protocol': 'vxlan',
      'tunnel.t.local': '198.18.213.1',
      'tunnel.t.remote': '198.18.213.2',
    };
    await up(all);
    await driver.setHosts(name, [{ id: 'a', hwaddr: '02:00:00:00:ff:09', hostname: 'alpha', ipv4: `${ipv4}.90` }]);
    const client = await join(9);
    expect(await client.request()).toBe(`${ipv4}.90`);
    // Its cable would go with the host, too.
    await client.leave();
    const whole = async (): Promise<object> => ({
      addresses: (await ip('-o', 'addr', 'show', 'dev', name, 'scope', 'global')).match(/inet6? [^ ]+/g),
      routes: (await ip('route', 'show', 'dev', name, 'proto', 'static')).trim(),
      members: (await ip('-o', 'link', 'show', 'master', name))
        .match(/^\d+: ([^@:]+)/gm)
        ?.map((line) => line.replace(/^\d+: /, ''))
        .sort(),
      rules: (await exec(['nft', 'list', 'table', 'inet', `gantry_${name}`])).stdout,
      names: await resolveAt(name, 'alpha.gantry'),
    });
    const before = await whole();
    expect(before).toMatchObject({ names: [`${ipv4}.90`] });
    // A reboot: what the kernel had is gone, and so is /run.
    process.kill(harness.dnsmasqPid(name), 'SIGKILL');
    await ip('link', 'del', 'dev', `${name}-t`);
    await ip('link', 'del', 'dev', name);
    await exec(['nft', 'delete', 'table', 'inet', `gantry_${name}`]);
    const files = openNetworkFiles(harness.dir, '/run/gantry/networks');
    rmSync(dirname(files.pidFile(name)), { recursive: true, force: true });
    driver = harness.open();
    await up(all);
    expect(await whole()).toEqual(before);
  });

  test('a crash between the record of a config without tunnels and their removal leaves none of them', async () => {
    await up({ 'tunnel.u.protocol': 'vxlan', 'tunnel.u.local': '198.18.213.1', 'tunnel.u.remote': '198.18.213.2' });
    const file = joinPath(harness.dir, name, 'network.json');
    const recorded = JSON.parse(await readFile(file, 'utf8')) as object;
    await writeFile(file, JSON.stringify({ ...recorded, config }));
    await up();
    expect(await harness.remains(name)).not.toContain(`link ${name}-u`);
  });

  test('a tunnel that cannot be made leaves the network without half of it', async () => {
    await up();
    const gre = { 'tunnel.g.protocol': 'gre', 'tunnel.g.local': '198.18.213.1', 'tunnel.g.remote': '198.18.213.2' };
    const hasGre = await ip(
      'link',
      'add',
      'name',
      `${harness.prefix}g`,
      'type',
      'gretap',
      'local',
      '198.18.213.1',
      'remote',
      '198.18.213.9',
    ).then(
      () => ip('link', 'del', 'dev', `${harness.prefix}g`).then(() => true),
      () => false,
    );
    if (hasGre) {
      await up(gre);
      expect(await harness.remains(name)).toContain(`link ${name}-g`);
      return;
    }
    console.log('gre tunnels: this kernel has none, so only the refusal is tested');
    await expect(up(gre)).rejects.toMatchObject({
      code: 'NotSupported',
      message: expect.stringContaining('gretap') as unknown,
    });
    expect((await driver.state(name))?.mtu).toBe(1500);
    expect(await harness.remains(name)).not.toContain(`link ${name}-g`);
  });

  test('external interfaces join and leave, and one with an address is refused', async () => {
    const outside = await joinNetns(harness.prefix, undefined, { hwaddr: '02:00:00:00:fe:02', hostname: 'outside' });
    clients.push(outside);
    const master = async (): Promise<string> => ip('-o', 'link', 'show', 'dev', outside.hostEnd);
    await up({ 'bridge.external_interfaces': outside.hostEnd });
    expect(await master()).toContain(`master ${name}`);
    await up();
    expect(await master()).not.toContain('master');
    await exec(['ip', 'addr', 'add', '198.18.214.1/30', 'dev', outside.hostEnd]);
    await expect(up({ 'bridge.external_interfaces': outside.hostEnd })).rejects.toMatchObject({ code: 'InUse' });
  });

  test('a network resolves the names of another one of the host whose domain it is told to ask there', async () => {
    const other = harness.fresh();
    try {
      const lab = { 'ipv4.address': `${other.ipv4}.1/24`, 'ipv6.address': 'none', 'dns.domain': 'lab.example' };
      await driver.up({ name: other.name, config: lab }, never);
      const alpha = { id: 'a', hwaddr: '02:00:00:00:fd:01', hostname: 'alpha', ipv4: `${other.ipv4}.9` };
      await driver.setHosts(other.name, [alpha]);
      const client = await joinNetns(harness.prefix, other.name, alpha);
      clients.push(client);
      expect(await client.request()).toBe(`${other.ipv4}.9`);
      await up();
      expect(await resolveAt(name, 'alpha.lab.example')).toEqual([]);
      await up({ 'raw.dnsmasq': `server=/lab.example/${other.ipv4}.1` });
      expect(await resolveAt(name, 'alpha.lab.example')).toEqual([`${other.ipv4}.9`]);
    } finally {
      await driver.down(other.name);
    }
  });

  test('raw.dnsmasq takes effect, changes restart the service, the same text does not', async () => {
    const raw = 'address=/raw.test/203.0.113.7\n# two lines\ntxt-record=x,y';
    await up({ 'raw.dnsmasq': raw });
    expect(await resolveAt(name, 'raw.test')).toEqual(['203.0.113.7']);
    const pid = harness.dnsmasqPid(name);
    await up({ 'raw.dnsmasq': raw });
    expect(harness.dnsmasqPid(name)).toBe(pid);
    await up({ 'raw.dnsmasq': raw.replace('.7', '.8') });
    expect(await resolveAt(name, 'raw.test')).toEqual(['203.0.113.8']);
  });

  test('a dnsmasq that was killed and a bridge that was deleted come back with the next up', async () => {
    await up();
    const client = await join(1);
    const address = await client.request();
    const isServing = (changes = {}): boolean => driver.isServing({ name, config: { ...config, ...changes } });
    expect(isServing()).toBe(true);
    process.kill(harness.dnsmasqPid(name), 'SIGKILL');
    await until(() => !isServing());
    expect(isServing({ 'ipv4.address': 'none' })).toBe(true);
    await up();
    expect(isServing()).toBe(true);
    expect(await client.request()).toBe(address);
    await exec(['ip', 'link', 'del', 'dev', name]);
    await up();
    await exec(['ip', 'link', 'set', 'dev', client.hostEnd, 'master', name]);
    expect(await client.request()).toBe(address);
  });

  test('flushed firewall rules and a flushed address come back with the next up', async () => {
    await up({ 'ipv4.nat': 'true' });
    await exec(['nft', 'delete', 'table', 'inet', `gantry_${name}`]);
    await exec(['ip', 'addr', 'flush', 'dev', name]);
    await up({ 'ipv4.nat': 'true' });
    expect((await exec(['nft', 'list', 'table', 'inet', `gantry_${name}`])).stdout).toContain('masquerade');
    expect(await ip('-4', 'addr', 'show', 'dev', name)).toContain(`${ipv4}.1/24`);
  });

  test('dnsmasq gets no new privileges, keeps few capabilities, and writes in its own folders only', async () => {
    await up();
    const status = readFileSync(`/proc/${harness.serviceId(name)}/status`, 'utf8');
    expect(status).toMatch(/NoNewPrivs:\t1/);
    // chown, setgid, setuid, net_bind_service, net_admin, net_raw
    expect(status).toMatch(/CapBnd:\t00000000000034c1/);
    const elsewhere = joinPath(mkdtempSync(joinPath(tmpdir(), 'gtydm-')), 'packets');
    chmodSync(dirname(elsewhere), 0o777);
    try {
      await expect(up({ 'raw.dnsmasq': `dumpfile=${elsewhere}\ndumpmask=0xffff` })).rejects.toThrow(
        'Permission denied',
      );
      expect(existsSync(elsewhere)).toBe(false);
    } finally {
      rmSync(dirname(elsewhere), { recursive: true });
    }
  });

  test('a pid file that names a stranger gets nobody killed', async () => {
    await up();
    const pidFile = openNetworkFiles(harness.dir, '/run/gantry/networks').pidFile(name);
    const own = harness.dnsmasqPid(name);
    const stranger = spawn('sleep', ['60']);
    try {
      await writeFile(pidFile, String(stranger.pid));
      await driver.releaseLease(name, '02:00:00:00:00:77');
      await driver.down(name);
      expect(stranger.exitCode).toBeNull();
      expect(await readFile(`/proc/${stranger.pid}/comm`, 'utf8')).toBe('sleep\n');
    } finally {
      stranger.kill('SIGKILL');
      await once(stranger, 'exit');
      const argv = await readFile(`/proc/${own}/cmdline`, 'utf8').catch(() => '');
      if (argv.includes(pidFile)) process.kill(own, 'SIGKILL');
    }
  });

  test('another daemon on this host is refused the bridge, and its down does not touch it', async () => {
    await up();
    const other = openBridgeNetwork({ dir: `${harness.dir}-other`, log: silentLog });
    await expect(other.up({ name, config }, never)).rejects.toMatchObject({ code: 'InUse' });
    await other.down(name);
    expect(await harness.remains(name)).toContain(`link ${name}`);
    expect((await exec(['nft', 'list', 'tables'])).stdout).toContain(`gantry_${name}`);
    expect(existsSync(`${harness.dir}-other`)).toBe(false);
  });

  test('a bridge half made by a daemon that died is taken up again', async () => {
    const files = openNetworkFiles(harness.dir, '/run/gantry/networks');
    await files.write(name, { config, external: [], hosts: [], creating: true });
    await exec(['ip', 'link', 'add', 'name', name, 'type', 'bridge']);
    await up();
    expect(await ip('link', 'show', 'dev', name)).toContain('alias gantry:');
  });

  test('a container cannot become a router of the host by announcements', async () => {
    await up({ 'ipv6.address': `${ipv6}::1/64` });
    expect((await readFile(`/proc/sys/net/ipv6/conf/${name}/accept_ra`, 'utf8')).trim()).toBe('0');
  });

  test('a fresh network is up in less than 250 ms', async () => {
    const times: number[] = [];
    const limitMs = 250 * processSlowness();
    // On a busy machine more tries, until one had the processor for itself.
    for (let count = 0; count < 7 || (count < 40 && Math.min(...times) >= limitMs); count += 1) {
      const start = performance.now();
      await up({ 'ipv4.nat': 'true', 'ipv6.address': `${ipv6}::1/64`, 'ipv6.nat': 'true' });
      times.push(performance.now() - start);
      await driver.down(name);
    }
    times.sort((a, b) => a - b);
    console.log(`up of a fresh network: median ${times[3]?.toFixed(0)} ms, fastest ${times[0]?.toFixed(0)} ms`);
    expect(times[0]).toBeLessThan(limitMs);
  });
});
