// Nics of type routed and ipvlan over the daemon: on the simulation and on real containers, with a neighbour in the network of the parent.
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { removal } from '../../../../server/drivers/nft-tables.ts';
import { filterTable } from '../../../../server/drivers/runtime/nic/filter-rules.ts';
import { dirTag } from '../../../../server/drivers/runtime/safe-names.ts';
import { freeSubnet } from '../../../support/hosts/free-resources.ts';
import {
  createContainer,
  hostRemains,
  makeSeeded,
  realRuntimeMissing,
  setState,
  type TestDaemon,
} from '../../../support/daemons/daemon.ts';
import { uploadBusybox } from '../../../support/images/busybox.ts';
import { until } from '../../../support/until.ts';
import { execIn } from '../../../support/drivers/exec-in.ts';

const missing = await realRuntimeMissing();
if (missing !== undefined) console.log(`skipped: nics with addresses of their parent's network: ${missing}`);
const kernelHas = (type: string): boolean => {
  const name = `gtyk${process.pid % 10_000}`;
  const made = spawnSync('ip', ['link', 'add', name, 'type', 'veth', 'peer', 'name', `${name}p`]).status === 0;
  const has = spawnSync('ip', ['link', 'add', `${name}i`, 'link', name, 'type', type]).status === 0;
  if (made) spawnSync('ip', ['link', 'delete', name]);
  return has;
};
const hasIpvlan = missing === undefined && kernelHas('ipvlan');
if (missing === undefined && !hasIpvlan) console.log('skipped: traffic of ipvlan nics: this kernel has no ipvlan');

const subnet = freeSubnet();
const prefix6 = `fd42:fffe:${subnet.split('.').slice(1).join('')}`;
const [own, neighbour, host] = [`${subnet}.5`, `${subnet}.9`, `${subnet}.1`];
const [own6, neighbour6] = [`${prefix6}::5`, `${prefix6}::9`];
const parent = `gtyr${process.pid % 100_000}`;
const space = `${parent}n`;

const ip = (...words: readonly string[]): string => execFileSync('ip', words, { encoding: 'utf8' });
const proxies = (): string => ip('neighbour', 'show', 'proxy', 'dev', parent);
/** Behind a nic. */
const behind = '198.18.217.0/24';
/** Other files of tests have routes and rules on this host too. */
const ownNets = [
  ['-4', `${subnet}.0/24`],
  ['-4', behind],
  ['-6', `${prefix6}::/64`],
] as const;
const hostRoutes = (): string =>
  ownNets.map(([family, net]) => ip(family, 'route', 'show', 'proto', '73', 'root', net)).join('');
const answers = (address: string): boolean =>
  spawnSync('ip', ['netns', 'exec', space, 'busybox', 'ping', '-c1', '-W2', address]).status === 0;

describe.skipIf(missing !== undefined).each(['sim', 'lxc'] as const)('on %s', (runtime) => {
  const isReal = runtime === 'lxc';
  let daemon: TestDaemon;
  beforeAll(async () => {
    ip('netns', 'add', space);
    ip('link', 'add', parent, 'type', 'veth', 'peer', 'name', 'lan0', 'netns', space);
    for (const words of [
      ['link', 'set', parent, 'up'],
      ['address', 'add', `${host}/24`, 'dev', parent],
      ['address', 'add', `${prefix6}::1/64`, 'dev', parent, 'nodad'],
      ['-n', space, 'link', 'set', 'lan0', 'up'],
      ['-n', space, 'address', 'add', `${neighbour}/24`, 'dev', 'lan0'],
      ['-n', space, 'address', 'add', `${neighbour6}/64`, 'dev', 'lan0', 'nodad'],
    ])
      ip(...words);
    daemon = await makeSeeded({ runtime });
    await uploadBusybox(daemon, { busybox: { dhcp: false } });
    await createContainer(daemon, 'c1', { source: { type: 'image', alias: 'busybox' } });
    // Before it has an address of the link the parent asks nobody.
    await until(() => /scope link(?! tentative)/.test(ip('-6', 'address', 'show', 'dev', parent)));
  });
  afterAll(async () => {
    const dir = daemon?.dir;
    await daemon?.cleanUp();
    spawnSync('ip', ['link', 'delete', parent]);
    spawnSync('ip', ['netns', 'delete', space]);
    expect(hostRemains(dir ?? 'none')).toEqual([]);
  });
  afterEach(async () => {
    await setState(daemon, 'c1', 'stop', { force: true });
    await patched({ n0: { type: 'none' } });
    expect(hostRoutes()).toBe('');
    expect(proxies()).toBe('');
  });

  const patch = (devices: object) => daemon.call('PATCH', '/1.0/containers/c1', { devices });
  const patched = async (devices: object): Promise<void> => {
    const answer = await patch(devices);
    expect([answer.status, answer.bytes.toString()]).toEqual([200, expect.anything()]);
  };
  const state = async (action: string) => (await setState(daemon, 'c1', action, { force: true })).err;
  const sh = async (script: string): Promise<string> =>
    (await execIn(daemon.host.runtime, 'c1', ['sh', '-c', script])).stdout;
  const reaches = async (address: string): Promise<boolean> =>
    (await sh(`ping -c1 -W2 ${address} >/dev/null && echo yes`)).trim() === 'yes';
  const inside = async (): Promise<readonly string[]> => {
    const { network } = await daemon.get('/1.0/containers/c1/state');
    const { addresses } = (network as Record<string, { addresses: { address: string; scope: string }[] }>)['eth0']!;
    return addresses.flatMap(({ address, scope }) => (scope === 'global' ? [address] : []));
  };
  const routed = {
    type: 'nic',
    nictype: 'routed',
    parent,
    name: 'eth0',
    'ipv4.address': own,
    'ipv6.address': own6,
  };

  test('a routed nic is reached by neighbours of its parent and reaches them, from its start, plugged in and after a reboot', async () => {
    await patched({ n0: routed });
    expect(await state('start')).toBe('');
    const works = async (): Promise<void> => {
      expect(await inside()).toEqual([own, own6]);
      if (!isReal) return;
      await until(() => answers(own) && answers(own6));
      expect([await reaches(neighbour), await reaches(neighbour6), await reaches(host)]).toEqual([true, true, true]);
      expect(proxies()).toContain(own6);
    };
    await works();
    const { initPid } = daemon.host.runtime.probe('c1');
    await patched({ n0: { type: 'none' } });
    if (isReal) expect([hostRoutes(), proxies()]).toEqual(['', '']);
    await patched({ n0: routed });
    await works();
    expect(daemon.host.runtime.probe('c1').initPid).toBe(initPid);
    if (!isReal) return;
    await execIn(daemon.host.runtime, 'c1', ['/bin/busybox', 'reboot', '-f']).catch(() => undefined);
    await until(() => ![0, initPid].includes(daemon.host.runtime.probe('c1').initPid));
    await until(async () => (await inside().catch(() => [])).length === 2);
    await until(() => answers(own));
    await works();
  });

  test('a changed address takes the place of the former one, and a rate is changed without taking the nic out', async () => {
    await patched({ n0: routed });
    expect(await state('start')).toBe('');
    const index = async (): Promise<string> => (isReal ? sh('cat /sys/class/net/eth0/ifindex') : '');
    const before = await index();
    await patched({ n0: { ...routed, 'limits.max': '20Mbit' } });
    expect(await index()).toBe(before);
    await patched({ n0: { ...routed, 'ipv4.address': `${subnet}.6, ${subnet}.7` } });
    expect(await inside()).toEqual([`${subnet}.6`, `${subnet}.7`, own6]);
    if (!isReal) return;
    await until(() => answers(`${subnet}.6`) && answers(`${subnet}.7`));
    expect(answers(own)).toBe(false);
    expect(
      proxies()
        .split('\n')
        .filter((line) => line.includes(`${own} `)),
    ).toEqual([]);
  });

  test('what the host had of a routed nic is back when the daemon starts again', async () => {
    await patched({ n0: routed });
    expect(await state('start')).toBe('');
    await daemon.restart(() => {
      if (!isReal) return;
      for (const [family, net] of ownNets) ip(family, 'route', 'flush', 'proto', '73', 'root', net);
      for (const address of [own, own6]) ip('neighbour', 'delete', 'proxy', address, 'dev', parent);
      const tables = [filterTable(dirTag(join(daemon.dir, 'runtime')), 'inet')];
      execFileSync('nft', ['-f', '-'], { input: removal(tables) });
      expect(answers(own)).toBe(false);
    });
    if (isReal) await until(() => answers(own) && answers(own6));
    expect(await inside()).toEqual([own, own6]);
  });

  test('an address of a neighbour is refused unless the probe is off, and one of the host always', async () => {
    await patched({ n0: { ...routed, 'ipv4.address': neighbour } });
    const err = await state('start');
    if (!isReal) return;
    expect(err).toContain(`somebody in the network of ${parent} has ${neighbour} already`);
    await patched({ n0: { ...routed, 'ipv4.address': neighbour, 'ipv4.neighbor_probe': 'false' } });
    expect(await state('start')).toBe('');
    expect(await state('stop')).toBe('');
    await patched({ n0: { ...routed, 'ipv4.address': host } });
    expect(await state('start')).toContain(`the host has ${host} already`);
  });

  test('two nics with one address are refused where they are written, and on the host', async () => {
    await patched({ n0: routed });
    await createContainer(daemon, 'c2', { source: { type: 'image', alias: 'busybox' } });
    const second = (nic: object) => daemon.call('PATCH', '/1.0/containers/c2', { devices: { n0: nic } });
    const answer = await second({ ...routed, 'ipv4.address': `${subnet}.4,${own}` });
    expect([answer.status, answer.bytes.toString()]).toEqual([400, expect.stringContaining(own)]);
    const apart = { ...routed, parent: undefined };
    expect((await second(apart)).status).toBe(200);
    if (isReal) {
      expect(await state('start')).toBe('');
      const { err } = await setState(daemon, 'c2', 'start');
      expect(err).toMatch(/the host has a route to .* already/);
    }
    await daemon.ok('DELETE', '/1.0/containers/c2');
  });

  test('routes, tables and addresses of the host are those of the keys', async () => {
    const nic = {
      ...routed,
      'ipv4.routes': behind,
      'ipv4.host_table': '7717',
      'ipv4.host_address': '169.254.7.7',
      'ipv6.gateway': 'none',
    };
    await patched({ n0: nic });
    expect(await state('start')).toBe('');
    if (!isReal) {
      const [run] = daemon.sim.runOf('c1').nics;
      expect(run).toMatchObject({
        kind: 'veth',
        inside: { addresses: [`${own}/32`, `${own6}/128`], gateways: { ipv4: '169.254.7.7' } },
        routing: { hostAddresses: ['169.254.7.7', 'fe80::1'], tables: { ipv4: 7717 }, parent, probed: [own, own6] },
        routes: [behind],
      });
      return;
    }
    expect(hostRoutes()).toContain(`${behind} via ${own} dev veth`);
    expect(ip('-4', 'route', 'show', 'table', '7717')).toContain(own);
    expect(await sh('ip -6 route show default')).toBe('');
    expect(await sh('ip route show default')).toContain('via 169.254.7.7');
    expect(await state('stop')).toBe('');
    expect(spawnSync('ip', ['-4', 'route', 'show', 'table', '7717'], { encoding: 'utf8' }).stdout).toBe('');
  });

  test.runIf(isReal)('a routed nic sends with no address of others', async () => {
    await patched({ n0: routed });
    expect(await state('start')).toBe('');
    await until(() => answers(own6));
    const stolen = `${prefix6}::77`;
    await sh(`ip address add ${stolen}/128 dev eth0 nodad`);
    const seen = (): string =>
      /Icmp6InEchos\s+([0-9]+)/.exec(ip('netns', 'exec', space, 'cat', '/proc/net/snmp6'))?.[1] ?? '';
    const before = seen();
    await sh(`ping -c2 -W1 -I ${stolen} ${neighbour6} || true`);
    expect(seen()).toBe(before);
    // The kernel might send with the newer of two addresses.
    await sh(`ip address del ${stolen}/128 dev eth0`);
    await until(() => reaches(neighbour6));
    expect(seen()).not.toBe(before);
  });

  const ipvlan = { type: 'nic', nictype: 'ipvlan', parent, name: 'eth0', 'ipv4.address': own, 'ipv6.address': own6 };

  test.runIf(!isReal || hasIpvlan)('an ipvlan nic is reached by neighbours of its parent', async () => {
    for (const nic of [ipvlan, { ...ipvlan, mode: 'l2', 'ipv4.gateway': host }]) {
      await patched({ n0: nic });
      expect(await state('start')).toBe('');
      expect(await inside()).toEqual([own, own6]);
      if (isReal) await until(() => answers(own));
      await patched({ n0: { type: 'none' } });
      await patched({ n0: nic });
      if (isReal) await until(() => answers(own));
      expect(await state('stop')).toBe('');
    }
  });

  test.runIf(isReal && !hasIpvlan)(
    'a kernel without ipvlan refuses the nic, and the container is as it was',
    async () => {
      expect(await state('start')).toBe('');
      const answer = await patch({ n0: ipvlan });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.bytes.toString()).toContain('this kernel lacks');
      expect((await daemon.get('/1.0/containers/c1')).devices).not.toHaveProperty('n0.nictype');
      expect(await state('stop')).toBe('');
      await patched({ n0: ipvlan });
      expect(await state('start')).toMatch(/ipvlan|eth0/);
    },
  );
});
