// Real bridges and their dnsmasq: what happens when others touch, end or imitate them, and what dnsmasq may do.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join as joinPath } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bridgeAvailable, openBridgeNetwork } from '../../../../server/drivers/network/bridge.ts';
import { openNetworkFiles } from '../../../../server/drivers/network/network-files.ts';
import { exec } from '../../../../server/lib/exec.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { bridgeOnHost, ip, never } from '../../../support/drivers/bridge-on-host.ts';
import { resolveAt } from '../../../support/drivers/network-bridge.ts';
import { joinNetns } from '../../../support/drivers/network-namespace.ts';
import { until } from '../../../support/until.ts';

const available = await bridgeAvailable();
if (!available.ok) console.log(`bridge networks that others touch skipped: ${available.reason}`);

describe.skipIf(!available.ok)('bridge networks that others touch', () => {
  const net = bridgeOnHost();
  const { cable, far, join, up } = net;

  test('releaseLease falls back to a restart when dnsmasq does not answer', async () => {
    await up();
    const client = await join(1);
    await client.request();
    const pid = net.harness.dnsmasqPid(net.name);
    process.kill(pid, 'SIGSTOP');
    const released = net.driver.releaseLease(net.name, client.hwaddr);
    try {
      await until(() => !existsSync(`/proc/${pid}`) || readPid() !== pid);
    } finally {
      await released;
    }
    expect(await net.driver.leases(net.name)).toEqual([]);
    expect(readPid()).not.toBe(pid);
    function readPid(): number {
      try {
        return net.harness.dnsmasqPid(net.name);
      } catch {
        return 0;
      }
    }
  });

  test('a host that went down gets all of a network back: addresses, rules, members, tunnels, service and leases', async () => {
    const outside = await cable(3);
    const all = {
      'ipv4.nat': 'true',
      'ipv6.address': `${net.ipv6}::1/64`,
      'ipv6.nat': 'true',
      'ipv4.routes': '10.215.0.8/32',
      'bridge.external_interfaces': outside.hostEnd,
      'tunnel.t.protocol': 'vxlan',
      // The kernel has each id once.
      'tunnel.t.id': '4216',
      'tunnel.t.local': far(1),
      'tunnel.t.remote': far(2),
    };
    await up(all);
    await net.driver.setHosts(net.name, [
      { id: 'a', hwaddr: '02:00:00:00:ff:09', hostname: 'alpha', ipv4: `${net.ipv4}.90` },
    ]);
    const client = await join(9);
    expect(await client.request()).toBe(`${net.ipv4}.90`);
    // Its cable would go with the host, too.
    await client.leave();
    const whole = async (): Promise<object> => ({
      addresses: (await ip('-o', 'addr', 'show', 'dev', net.name, 'scope', 'global')).match(/inet6? [^ ]+/g),
      routes: (await ip('route', 'show', 'dev', net.name, 'proto', 'static')).trim(),
      members: (await ip('-o', 'link', 'show', 'master', net.name))
        .match(/^\d+: ([^@:]+)/gm)
        ?.map((line) => line.replace(/^\d+: /, ''))
        .sort(),
      rules: (await exec(['nft', 'list', 'table', 'inet', `gantry_${net.name}`])).stdout,
      names: await resolveAt(net.name, 'alpha.gantry'),
    });
    const before = await whole();
    expect(before).toMatchObject({ names: [`${net.ipv4}.90`] });
    // A reboot: what the kernel had is gone, and so is /run.
    process.kill(net.harness.dnsmasqPid(net.name), 'SIGKILL');
    await ip('link', 'del', 'dev', `${net.name}-t`);
    await ip('link', 'del', 'dev', net.name);
    await exec(['nft', 'delete', 'table', 'inet', `gantry_${net.name}`]);
    const files = openNetworkFiles(net.harness.dir, '/run/gantry/networks');
    rmSync(dirname(files.pidFile(net.name)), { recursive: true, force: true });
    net.driver = net.harness.open();
    await up(all);
    expect(await whole()).toEqual(before);
  });

  test('a network resolves the names of another one of the host whose domain it is told to ask there', async () => {
    const other = net.harness.fresh();
    try {
      const lab = { 'ipv4.address': `${other.ipv4}.1/24`, 'ipv6.address': 'none', 'dns.domain': 'lab.example' };
      await net.driver.up({ name: other.name, config: lab }, never);
      const alpha = { id: 'a', hwaddr: '02:00:00:00:fd:01', hostname: 'alpha', ipv4: `${other.ipv4}.9` };
      await net.driver.setHosts(other.name, [alpha]);
      const client = await joinNetns(net.harness.prefix, other.name, alpha);
      net.clients.push(client);
      expect(await client.request()).toBe(`${other.ipv4}.9`);
      await up();
      expect(await resolveAt(net.name, 'alpha.lab.example')).toEqual([]);
      await up({ 'raw.dnsmasq': `server=/lab.example/${other.ipv4}.1` });
      expect(await resolveAt(net.name, 'alpha.lab.example')).toEqual([`${other.ipv4}.9`]);
    } finally {
      await net.driver.down(other.name);
    }
  });

  test('raw.dnsmasq takes effect, changes restart the service, the same text does not', async () => {
    const raw = 'address=/raw.test/203.0.113.7\n# two lines\ntxt-record=x,y';
    await up({ 'raw.dnsmasq': raw });
    expect(await resolveAt(net.name, 'raw.test')).toEqual(['203.0.113.7']);
    const pid = net.harness.dnsmasqPid(net.name);
    await up({ 'raw.dnsmasq': raw });
    expect(net.harness.dnsmasqPid(net.name)).toBe(pid);
    await up({ 'raw.dnsmasq': raw.replace('.7', '.8') });
    expect(await resolveAt(net.name, 'raw.test')).toEqual(['203.0.113.8']);
  });

  test('a dnsmasq that was killed and a bridge that was deleted come back with the next up', async () => {
    await up();
    const client = await join(1);
    const address = await client.request();
    const isServing = (changes = {}): Promise<boolean> =>
      net.driver.isServing({ name: net.name, config: { ...net.config, ...changes } });
    expect(await isServing()).toBe(true);
    process.kill(net.harness.dnsmasqPid(net.name), 'SIGKILL');
    await until(async () => !(await isServing()));
    expect(await isServing({ 'ipv4.address': 'none' })).toBe(true);
    await up();
    expect(await isServing()).toBe(true);
    expect(await client.request()).toBe(address);
    await exec(['ip', 'link', 'del', 'dev', net.name]);
    expect([await isServing(), await isServing({ 'ipv4.address': 'none' })]).toEqual([false, false]);
    await up();
    expect(await isServing()).toBe(true);
    await exec(['ip', 'link', 'set', 'dev', client.hostEnd, 'master', net.name]);
    expect(await client.request()).toBe(address);
  });

  test('flushed firewall rules and a flushed address, which is noticed, come back with the next up', async () => {
    const both = { 'ipv4.nat': 'true', 'ipv6.address': `${net.ipv6}::1/64` };
    const isServing = () => net.driver.isServing({ name: net.name, config: { ...net.config, ...both } });
    await up(both);
    await exec(['ip', 'addr', 'add', '192.0.2.1/32', 'dev', net.name]);
    expect(await isServing()).toBe(true);
    for (const lost of ['addr flush', '-6 addr flush', 'link set']) {
      await exec(['ip', ...lost.split(' '), 'dev', net.name, ...(lost === 'link set' ? ['down'] : [])]);
      expect([lost, await isServing()]).toEqual([lost, false]);
      await up(both);
      expect([lost, await isServing()]).toEqual([lost, true]);
    }
    await exec(['nft', 'delete', 'table', 'inet', `gantry_${net.name}`]);
    await exec(['ip', 'addr', 'flush', 'dev', net.name]);
    await up(both);
    expect((await exec(['nft', 'list', 'table', 'inet', `gantry_${net.name}`])).stdout).toContain('masquerade');
    expect(await ip('-4', 'addr', 'show', 'dev', net.name)).toContain(`${net.ipv4}.1/24`);
  });

  test('dnsmasq gets no new privileges, keeps few capabilities, and writes in its own folders only', async () => {
    await up();
    const status = readFileSync(`/proc/${net.harness.serviceId(net.name)}/status`, 'utf8');
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
    const pidFile = openNetworkFiles(net.harness.dir, '/run/gantry/networks').pidFile(net.name);
    const own = net.harness.dnsmasqPid(net.name);
    const stranger = spawn('sleep', ['60']);
    try {
      await writeFile(pidFile, String(stranger.pid));
      await net.driver.releaseLease(net.name, '02:00:00:00:00:77');
      await net.driver.down(net.name);
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
    const other = openBridgeNetwork({ dir: `${net.harness.dir}-other`, log: silentLog });
    await expect(other.up({ name: net.name, config: net.config }, never)).rejects.toMatchObject({ code: 'InUse' });
    await other.down(net.name);
    expect(await net.harness.remains(net.name)).toContain(`link ${net.name}`);
    expect((await exec(['nft', 'list', 'tables'])).stdout).toContain(`gantry_${net.name}`);
    expect(existsSync(`${net.harness.dir}-other`)).toBe(false);
  });

  test('a bridge half made by a daemon that died is taken up again', async () => {
    const files = openNetworkFiles(net.harness.dir, '/run/gantry/networks');
    await files.write(net.name, { config: net.config, external: [], hosts: [], creating: true });
    await exec(['ip', 'link', 'add', 'name', net.name, 'type', 'bridge']);
    await up();
    expect(await ip('link', 'show', 'dev', net.name)).toContain('alias gantry:');
  });
});
