// Two teams on one network: root in a container of one impersonates the other, the router or the DHCP server. Real containers and frames.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dirTag } from '../../../../server/drivers/runtime/safe-names.ts';
import { makeDaemon, realRuntimeMissing, seed, type TestDaemon } from '../../../support/daemons/daemon.ts';
import { makeProject } from '../../../support/daemons/projects.ts';
import {
  about,
  arpProbe,
  arpReply,
  ethernet,
  hiddenIcmp6,
  icmp6,
  linkAddress,
  routerBody,
  seenBy,
  send,
  udp4,
  udp6,
  type Endpoint,
} from '../../../support/hostile/raw-frames.ts';
import { freeSubnet } from '../../../support/hosts/free-resources.ts';
import { buildBusyboxImage } from '../../../support/images/busybox.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';
import { execIn } from '../../../support/drivers/exec-in.ts';

const missing = await realRuntimeMissing();

describe.skipIf(missing !== undefined)('a network that two restricted projects share', () => {
  const bridge = 'gtysn0';
  const subnet = freeSubnet();
  const prefix = `fd42:${subnet.split('.')[1]}:${subnet.split('.')[2]}:5`;
  let real: TestDaemon;
  const work = tempFolder('gtysn-');

  const names = { victim: 'victim', attacker: 'attacker', watcher: 'watcher' } as const;
  const projectOf = { victim: 'red', attacker: 'blue', watcher: 'default' } as const;
  type Who = keyof typeof names;
  const keyOf = (who: Who): string => (who === 'watcher' ? who : `${projectOf[who]}%${who}`);
  const urlOf = (who: Who, rest = ''): string => `/1.0/containers/${who}${rest}?project=${projectOf[who]}`;
  const pidOf = (who: Who): number => real.host.runtime.probe(keyOf(who)).initPid ?? 0;
  const sh = async (who: Who, script: string): Promise<{ code: number; out: string }> => {
    const { exitCode, stdout, stderr } = await execIn(real.host.runtime, keyOf(who), ['sh', '-c', script]);
    return { code: exitCode, out: `${stdout}${stderr}` };
  };
  const state = async (who: Who, action: string, more: object = {}): Promise<void> => {
    expect((await real.run('PUT', urlOf(who, '/state'), { action, ...more })).err).toBe('');
  };
  const configOf = async (who: Who): Promise<Record<string, string>> =>
    (await real.get(urlOf(who))).config as Record<string, string>;
  const endpoint = async (who: Who): Promise<Endpoint> => {
    const config = await configOf(who);
    const mac = config['volatile.eth0.hwaddr'] ?? '';
    const link = linkAddress(mac);
    const reserved = config['volatile.eth0.ipv4.address'];
    return { mac, link, ipv4: reserved ?? `${subnet}.2`, ipv6: `${prefix}${link.replace('fe80:', '')}` };
  };
  const table = (): string => `gantrynic_${dirTag(join(real.dir, 'runtime'))}`;
  const portOf = async (who: Who): Promise<string> => (await configOf(who))['volatile.eth0.host_name'] ?? '';
  const restrict = async (project: string, spoofing: 'allow' | ''): Promise<void> => {
    const config = { 'restricted.networks.spoofing': spoofing };
    expect((await real.call('PATCH', `/1.0/projects/${project}`, { config })).status).toBe(200);
  };

  beforeAll(async () => {
    const built = await buildBusyboxImage(join(work, 'image'), {});
    real = await makeDaemon({ runtime: 'lxc', dir: await mkdtemp('/var/tmp/gtysn-') });
    const eth0 = { type: 'nic', network: bridge, name: 'eth0' };
    await seed(real);
    const config = { 'ipv4.address': `${subnet}.1/24`, 'ipv6.address': `${prefix}::1/64`, 'ipv4.nat': 'false' };
    const made = await real.call('POST', '/1.0/networks', { name: bridge, config });
    expect([made.status, made.bytes.toString()]).toEqual([200, expect.anything()]);
    await real.ok('POST', '/1.0/images', await readFile(built.metadataPath), { 'x-svc-aliases': 'alias=busybox' });
    for (const project of ['red', 'blue'])
      await makeProject(real, project, { restricted: 'true', 'features.images': 'false' }, { eth0 });
    for (const who of ['victim', 'attacker', 'watcher'] as const) {
      const source = { type: 'image', alias: 'busybox' };
      const devices = who === 'watcher' ? { eth0 } : {};
      await real.ok('POST', `/1.0/containers?project=${projectOf[who]}`, { name: who, source, devices });
      await state(who, 'start');
    }
  });
  afterAll(async () => {
    await real?.cleanUp();
    expect(execFileSync('nft', ['list', 'tables'], { encoding: 'utf8' })).not.toContain(table());
  });

  /** Frames to the watcher: an honest container's, and a hostile one's. */
  const frames = async (): Promise<{ honest: Record<string, Buffer>; hostile: Record<string, Buffer> }> => {
    const [me, victim, to] = [await endpoint('attacker'), await endpoint('victim'), await endpoint('watcher')];
    const frame = (type: number, payload: Buffer, from = me.mac): Buffer => ethernet(to.mac, from, type, payload);
    const [arp, ipv4, ipv6] = [0x0806, 0x0800, 0x86dd];
    return {
      honest: {
        'own arp': frame(arp, arpReply(me.mac, me.ipv4, to.ipv4)),
        'probe for own address': frame(arp, arpProbe(me.mac, me.ipv4)),
        'own ipv4': frame(ipv4, udp4(me.ipv4, to.ipv4, [1000, 1000])),
        'question for an address': frame(ipv4, udp4('0.0.0.0', '255.255.255.255', [68, 67])),
        'own ipv6': frame(ipv6, udp6(me.ipv6, to.ipv6, [1000, 1000])),
        'own advertisement': frame(ipv6, icmp6(me.link, 'ff02::1', 136, about(me.ipv6))),
        'is my address free': frame(ipv6, icmp6('::', 'ff02::1', 135, about(me.ipv6))),
        'report of groups': frame(ipv6, icmp6('::', 'ff02::16', 143, Buffer.alloc(4))),
        'question for a router': frame(ipv6, icmp6(me.link, 'ff02::2', 133, Buffer.alloc(4))),
      },
      hostile: {
        'hardware address of the victim': frame(ipv4, udp4(me.ipv4, to.ipv4, [1000, 1000]), victim.mac),
        'arp for the victim': frame(arp, arpReply(me.mac, victim.ipv4, to.ipv4)),
        'arp with the hardware address of the victim': frame(arp, arpReply(victim.mac, me.ipv4, to.ipv4)),
        'arp for the router': frame(arp, arpReply(me.mac, `${subnet}.1`, to.ipv4)),
        'arp in a VLAN': frame(
          0x8100,
          Buffer.concat([Buffer.from('00000806', 'hex'), arpReply(me.mac, victim.ipv4, to.ipv4)]),
        ),
        'ipv4 of the victim': frame(ipv4, udp4(victim.ipv4, to.ipv4, [1000, 1000])),
        'server of addresses': frame(ipv4, udp4(me.ipv4, to.ipv4, [67, 68])),
        'ipv6 of the victim': frame(ipv6, udp6(victim.ipv6, to.ipv6, [1000, 1000])),
        'link address of the victim': frame(ipv6, udp6(victim.link, to.link, [1000, 1000])),
        'advertisement for the victim': frame(ipv6, icmp6(me.link, 'ff02::1', 136, about(victim.ipv6))),
        'advertisement behind a header': frame(ipv6, hiddenIcmp6(me.link, 'ff02::1', 136, about(victim.ipv6))),
        'the victim has no free address': frame(ipv6, icmp6('::', 'ff02::1', 135, about(victim.ipv6))),
        'router announcement': frame(ipv6, icmp6(me.link, 'ff02::1', 134, routerBody())),
        'router announcement behind a header': frame(ipv6, hiddenIcmp6(me.link, 'ff02::1', 134, routerBody())),
        redirect: frame(ipv6, icmp6(me.link, to.link, 137, about(victim.ipv6))),
        'server of ipv6 addresses': frame(ipv6, udp6(me.link, to.link, [547, 546])),
      },
    };
  };
  let run = 0;
  const arriving = async (): Promise<readonly string[]> => {
    const { honest, hostile } = await frames();
    const [me, to] = [await endpoint('attacker'), await endpoint('watcher')];
    const end = ethernet(to.mac, me.mac, 0x0800, udp4(me.ipv4, to.ipv4, [1000, 1000]));
    // Receivers answer some frames of the last run with its names, a little later.
    run += 1;
    const named = Object.entries({ ...hostile, ...honest, end }).map(
      ([name, frame]) => [`${run} ${name}`, frame] as const,
    );
    const seen = await seenBy(pidOf('watcher'), `${run} end`, () => send(pidOf('attacker'), Object.fromEntries(named)));
    return seen.flatMap((name) => (name.startsWith(`${run} `) ? [name.slice(`${run} `.length)] : []));
  };
  const expectHeld = async (): Promise<void> => {
    expect(await arriving()).toEqual(Object.keys((await frames()).honest).sort());
  };

  test('a container gets its reserved address, derives its IPv6 address, and reaches the network', async () => {
    const leaseArgs = '-s /usr/share/udhcpc/default.script -i eth0 -n -q -t 10 -T 1';
    for (const who of ['victim', 'attacker'] as const) {
      const { ipv4, ipv6 } = await endpoint(who);
      expect((await configOf(who))['volatile.eth0.ipv4.address']).toMatch(
        new RegExp(`^${subnet.replaceAll('.', '\\.')}\\.`),
      );
      expect((await sh(who, `udhcpc ${leaseArgs}`)).out).toContain(`lease of ${ipv4}`);
      await until(async () => (await sh(who, 'ip -6 addr show dev eth0')).out.includes(`${ipv6}/64`));
      await until(
        async () => (await sh(who, `ping -c 1 -W 1 ${subnet}.1 && ping -6 -c 1 -W 1 ${prefix}::1`)).code === 0,
      );
    }
    const [victim, attacker] = [await endpoint('victim'), await endpoint('attacker')];
    expect(victim.ipv4).not.toBe(attacker.ipv4);
    await until(
      async () =>
        (await sh('attacker', `ping -c 1 -W 1 ${victim.ipv4} && ping -6 -c 1 -W 1 ${victim.ipv6}`)).code === 0,
    );
  });

  test('no frame with a foreign address gets through, every honest one does', expectHeld);

  test('the bridge keeps delivering frames for the victim to the victim', async () => {
    const { mac } = await endpoint('victim');
    await sh('victim', `ping -c 1 -W 1 ${subnet}.1`);
    const me = await endpoint('attacker');
    // LLDP is link-local: no nftables rule sees it.
    send(pidOf('attacker'), {
      plain: ethernet('ff:ff:ff:ff:ff:ff', mac, 0x0800, udp4(me.ipv4, `${subnet}.255`, [1, 1])),
      lldp: ethernet('01:80:c2:00:00:0e', mac, 0x88cc, Buffer.alloc(50)),
      stp: ethernet('01:80:c2:00:00:00', mac, 0x0026, Buffer.alloc(50)),
      other: ethernet('01:80:c2:00:00:03', mac, 0x888e, Buffer.alloc(50)),
    });
    const known = execFileSync('bridge', ['fdb', 'show', 'br', bridge], { encoding: 'utf8' });
    const places = known.split('\n').filter((line) => line.startsWith(mac));
    expect(places).toEqual([expect.stringContaining(`dev ${await portOf('victim')} `)]);
  });

  test('ten of ten connections to the victim reach it, whatever address root in the other container gives itself', async () => {
    const [victim, me] = [await endpoint('victim'), await endpoint('attacker')];
    await sh('victim', 'nc -ll -p 7 -e echo victim >/dev/null 2>&1 </dev/null &');
    await sh('attacker', 'nc -ll -p 7 -e echo attacker >/dev/null 2>&1 </dev/null &');
    await sh(
      'attacker',
      `ip link set eth0 down; ip link set eth0 address ${victim.mac}; ip addr add ${victim.ipv4}/24 dev eth0; ip link set eth0 up`,
    );
    await sh('attacker', `arping -U -c 2 -I eth0 ${victim.ipv4}`);
    const answers: string[] = [];
    for (let count = 0; count < 10; count += 1)
      answers.push(
        (
          await sh(
            'watcher',
            `ip addr replace ${subnet}.2/24 dev eth0; until nc -w 2 ${victim.ipv4} 7; do sleep 0.05; done`,
          )
        ).out.trim(),
      );
    expect(answers).toEqual(Array(10).fill('victim'));
    await sh(
      'attacker',
      `ip link set eth0 down; ip link set eth0 address ${me.mac}; ip addr del ${victim.ipv4}/24 dev eth0; ip link set eth0 up; ip addr replace ${me.ipv4}/24 dev eth0`,
    );
  });

  test('an administrator may allow it to the project; both ways, the running container follows', async () => {
    await restrict('blue', 'allow');
    const { hostile, honest } = await frames();
    try {
      expect(await arriving()).toEqual([...Object.keys(hostile), ...Object.keys(honest)].sort());
    } finally {
      await restrict('blue', '');
    }
    await expectHeld();
  });

  test('a restart of the daemon restores rules that were flushed in between', async () => {
    await real.restart(() => {
      expect(execFileSync('nft', ['list', 'table', 'bridge', table()], { encoding: 'utf8' })).toContain('jump');
      execFileSync('nft', ['delete', 'table', 'bridge', table()]);
    });
    expect(real.logged.filter((line) => line.includes('no filters'))).toEqual([]);
    await expectHeld();
  });

  test('a filter cannot be turned off inside the project', async () => {
    const devices = { eth0: { type: 'nic', network: bridge, name: 'eth0', 'security.ipv4_filtering': 'false' } };
    const answer = await real.call('PATCH', urlOf('attacker'), { devices });
    expect([answer.status, answer.body.metadata.message]).toEqual([
      403,
      expect.stringContaining('restricted.networks.spoofing is block'),
    ]);
  });

  test('a new subnet of the network gives new addresses, even to running containers', async () => {
    const other = freeSubnet();
    const config = { 'ipv4.address': `${other}.1/24` };
    expect((await real.call('PATCH', `/1.0/networks/${bridge}`, { config })).status).toBe(200);
    expect((await configOf('victim'))['volatile.eth0.ipv4.address']).toContain(`${other}.`);
    expect(
      (await real.call('PATCH', `/1.0/networks/${bridge}`, { config: { 'ipv4.address': `${subnet}.1/24` } })).status,
    ).toBe(200);
    await expectHeld();
  });

  test('isolated nics reach the host and others, not each other, before and after a reboot from inside', async () => {
    const isolated = { eth0: { type: 'nic', network: bridge, name: 'eth0', 'security.port_isolation': 'true' } };
    for (const who of ['victim', 'attacker'] as const) {
      expect((await real.call('PATCH', urlOf(who), { devices: isolated })).status).toBe(200);
      const { ipv4 } = await endpoint(who);
      await sh(who, `ip addr flush dev eth0; ip addr add ${ipv4}/24 dev eth0`);
    }
    const { ipv4 } = await endpoint('victim');
    expect((await sh('attacker', `ping -c 2 -W 1 ${ipv4}`)).code).not.toBe(0);
    await until(async () => (await sh('attacker', `ping -c 1 -W 1 ${subnet}.1`)).code === 0);
    await until(async () => (await sh('watcher', `ping -c 1 -W 1 ${ipv4}`)).code === 0);
    const flag = async (): Promise<string> => {
      const file = `/sys/class/net/${await portOf('attacker')}/brport/isolated`;
      return existsSync(file) ? readFileSync(file, 'utf8').trim() : 'gone';
    };
    expect(await flag()).toBe('1');
    const before = pidOf('attacker');
    process.kill(before, 'SIGINT');
    await until(() => ![0, before].includes(pidOf('attacker')));
    await until(async () => (await flag()) === '1');
    expect(await flag()).toBe('1');
  });

  test('a stop removes the rules of a container, which keeps its address', async () => {
    const port = await portOf('attacker');
    const { ipv4 } = await endpoint('attacker');
    await state('attacker', 'stop', { force: true });
    await until(() => !execFileSync('nft', ['list', 'table', 'bridge', table()], { encoding: 'utf8' }).includes(port));
    await state('attacker', 'start');
    expect((await endpoint('attacker')).ipv4).toBe(ipv4);
    await sh('attacker', `ip addr replace ${ipv4}/24 dev eth0`);
    await expectHeld();
  });
});
