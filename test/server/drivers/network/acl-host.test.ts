// Network ACLs on real bridges: which packets of containers, of the host and of machines beyond it pass.
import { spawn, type ChildProcess } from 'node:child_process';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { NetworkAclRule } from '../../../../server/api/network/network-acl.ts';
import { bridgeAvailable } from '../../../../server/drivers/network/bridge.ts';
import type { NetworkDriver } from '../../../../server/drivers/network/driver.ts';
import { exec } from '../../../../server/lib/exec.ts';
import { makeBridgeHarness, type BridgeHarness } from '../../../support/drivers/network-bridge.ts';
import { joinNetns, type Netns } from '../../../support/drivers/network-namespace.ts';
import { until } from '../../../support/until.ts';

const available = await bridgeAvailable();
if (!available.ok) console.log(`skipped: network ACLs on the host: ${available.reason}`);
const never = new AbortController().signal;
const rule = (more: Partial<NetworkAclRule>): NetworkAclRule => ({ action: 'allow', state: 'enabled', ...more });
type Rules = { readonly ingress?: readonly NetworkAclRule[]; readonly egress?: readonly NetworkAclRule[] };

describe.skipIf(!available.ok)('network ACLs on the host', () => {
  let harness: BridgeHarness;
  let driver: NetworkDriver;
  let name: string;
  let ipv4: string;
  let config: Record<string, string>;
  let inside: Netns;
  let outside: Netns;
  let address: string;
  let beyond: string;
  const clients: Netns[] = [];
  const servers: ChildProcess[] = [];

  const spec = ({ ingress = [], egress = [] }: Rules, more: object = {}) => ({
    name,
    config: { ...config, 'security.acls': 'web', ...more },
    acls: [{ name: 'web', ingress, egress }],
  });
  const join = async (last: number, network: string | undefined): Promise<Netns> => {
    const client = await joinNetns(harness.prefix, network, {
      hwaddr: `02:00:00:00:fd:0${last}`,
      hostname: `c${last}`,
    });
    clients.push(client);
    return client;
  };
  const serve = (client: Netns): void => {
    const program = "require('net').createServer((s) => s.end('ok')).listen(8080, '0.0.0.0')";
    servers.push(spawn('ip', ['netns', 'exec', client.netns, process.execPath, '-e', program], { stdio: 'ignore' }));
  };
  const runs = async (client: Netns, ...command: string[]): Promise<boolean> =>
    (await client.run(['busybox', ...command], [0, 1])).code === 0;
  const pings = (client: Netns, to: string): Promise<boolean> => runs(client, 'ping', '-c', '1', '-W', '1', to);
  const connects = (client: Netns, to: string): Promise<boolean> => runs(client, 'nc', '-w', '1', to, '8080');

  beforeAll(async () => {
    harness = await makeBridgeHarness();
    beyond = `${harness.outside.ipv4}.2`;
    driver = harness.open();
    ({ name, ipv4 } = harness.fresh());
    config = { 'ipv4.address': `${ipv4}.1/24`, 'ipv6.address': 'none' };
    await driver.up({ name, config }, never);
    inside = await join(1, name);
    address = (await inside.request()) ?? '';
    outside = await join(2, undefined);
    await exec(['ip', 'addr', 'add', `${harness.outside.ipv4}.1/30`, 'dev', outside.hostEnd]);
    await outside.run(['ip', 'addr', 'add', `${beyond}/30`, 'dev', 'eth0']);
    await outside.run(['ip', 'route', 'add', 'default', 'via', `${harness.outside.ipv4}.1`]);
    serve(inside);
    serve(outside);
    await until(async () => (await connects(inside, beyond)) && (await connects(outside, address)));
  });
  afterEach(() => driver.up({ name, config }, never));
  afterAll(async () => {
    for (const server of servers) server.kill('SIGKILL');
    for (const client of clients) await client.leave();
    await driver?.down(name);
    await harness?.cleanup();
  });

  test('what no rule allows is rejected both ways, while addresses and the neighbours of the bridge stay', async () => {
    const other = await join(3, name);
    await driver.up(spec({}), never);
    expect(await connects(inside, beyond)).toBe(false);
    expect(await connects(outside, address)).toBe(false);
    expect(await pings(inside, `${ipv4}.1`)).toBe(false);
    const found = await other.request();
    expect(found).toMatch(`${ipv4}.`);
    expect(await pings(inside, found ?? '')).toBe(true);
    await driver.up({ name, config }, never);
    expect(await connects(inside, beyond)).toBe(true);
  });

  test('answers pass to what an allowed connection asked, and nothing else does', async () => {
    await driver.setRules(
      spec({ egress: [rule({ protocol: 'tcp', destination: `${beyond},${ipv4}.0/24`, destination_port: '8080' })] }),
    );
    expect(await connects(inside, beyond)).toBe(true);
    expect(await connects(outside, address)).toBe(false);
    expect(await pings(inside, beyond)).toBe(false);
  });

  test('a rule that drops wins over one that allows, also where all is allowed by default', async () => {
    const open = { 'security.acls.default.ingress.action': 'allow', 'security.acls.default.egress.action': 'allow' };
    await driver.setRules(
      spec({ ingress: [rule({}), rule({ action: 'drop', state: 'logged', protocol: 'icmp4', icmp_type: '8' })] }, open),
    );
    expect([await pings(outside, address), await connects(outside, address)]).toEqual([false, true]);
    expect(await pings(inside, beyond)).toBe(true);
    expect((await exec(['nft', 'list', 'table', 'inet', `gantry_${name}`])).stdout).toContain(
      `icmp type echo-request log prefix "${name}-web-ingress-1 " drop`,
    );
  });

  test('rules that the kernel refuses change nothing, and 500 rules are set in one go', async () => {
    await driver.setRules(spec({ egress: [rule({ protocol: 'icmp4' })] }));
    await expect(
      driver.setRules(spec({ egress: [rule({ protocol: 'tcp', destination_port: '70000' })] })),
    ).rejects.toThrow(`set the firewall of network ${name}`);
    expect((await exec(['nft', 'list', 'table', 'inet', `gantry_${name}`])).stdout).toContain(
      'ip protocol icmp accept',
    );
    const many = Array.from({ length: 500 }, (_, port) =>
      rule({ protocol: 'tcp', destination_port: String(port + 1) }),
    );
    await driver.setRules(spec({ egress: many }));
    expect(await pings(inside, beyond)).toBe(false);
  });

  test('a change of rules leaves the other chains of the network alone, and makes a table again that is gone', async () => {
    const table = ['table', 'inet', `gantry_${name}`];
    const handles = async (): Promise<readonly string[]> =>
      (await exec(['nft', '-a', 'list', ...table])).stdout.split('\n').filter((line) => /^table|chain /.test(line));
    await driver.setRules(spec({ egress: [rule({ protocol: 'icmp4' })] }));
    const before = await handles();
    await driver.setRules(spec({ ingress: [rule({ protocol: 'tcp', destination_port: '8080' })] }));
    expect(await handles()).toEqual(before);
    expect([await pings(inside, beyond), await connects(outside, address)]).toEqual([false, true]);
    await exec(['nft', 'delete', ...table]);
    await driver.setRules(spec({ egress: [rule({ protocol: 'icmp4' })] }));
    expect([await pings(inside, beyond), await connects(outside, address)]).toEqual([true, false]);
  });

  test('a driver that failed to change a network leaves the rules as they were', async () => {
    await driver.up(spec({ egress: [rule({ protocol: 'icmp4' })] }), never);
    const broken = spec({}, { 'raw.dnsmasq': 'no-such-option=1' });
    await expect(driver.up(broken, never)).rejects.toThrow();
    expect([await pings(inside, beyond), await connects(inside, beyond)]).toEqual([true, false]);
  });
});
