// Tunnels of real bridges: they carry frames to another machine, follow their config, and leave nothing half made.
import { readFile, writeFile } from 'node:fs/promises';
import { join as joinPath } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bridgeAvailable } from '../../../../server/drivers/network/bridge.ts';
import { exec } from '../../../../server/lib/exec.ts';
import { bridgeOnHost, canPing, ip } from '../../../support/drivers/bridge-on-host.ts';
import { until } from '../../../support/until.ts';

const available = await bridgeAvailable();
if (!available.ok) console.log(`tunnels of bridge networks on the host skipped: ${available.reason}`);

describe.skipIf(!available.ok)('tunnels of bridge networks on the host', () => {
  const net = bridgeOnHost();
  const { far, join, outsideMachine, up } = net;

  test('vxlan tunnels join the bridge, change with their config and go with the network', async () => {
    const tunnels = {
      'tunnel.m.protocol': 'vxlan',
      'tunnel.m.id': '4213',
      'tunnel.m.interface': 'lo',
      'tunnel.m.ttl': '9',
      'tunnel.u.protocol': 'vxlan',
      'tunnel.u.id': '4214',
      'tunnel.u.local': far(1),
      'tunnel.u.remote': far(2),
    };
    await up(tunnels);
    const show = async (tunnel: string): Promise<string> => ip('-d', 'link', 'show', 'dev', `${net.name}-${tunnel}`);
    expect(await show('m')).toMatch(
      new RegExp(`mtu 1400 .*master ${net.name} [^]*id 4213 group 239.0.0.1 dev lo [^]*ttl 9 `),
    );
    expect(await show('u')).toContain(`id 4214 remote ${far(2)} local ${far(1)}`);
    const index = async (): Promise<string> => (await show('u')).split(':')[0] ?? '';
    const before = await index();
    await up(tunnels);
    expect(await index()).toBe(before);
    // Releases before this one named no network in the alias.
    const alias = async (): Promise<string> => /alias (\S+)/.exec(await show('u'))?.[1] ?? '';
    const named = await alias();
    expect(named).toMatch(new RegExp(`:${net.name}$`));
    await ip('link', 'set', 'dev', `${net.name}-u`, 'alias', named.slice(0, named.lastIndexOf(':')));
    await up(tunnels);
    expect([await index(), await alias()]).toEqual([before, named]);
    await up({ ...tunnels, 'tunnel.u.remote': far(3) });
    expect(await show('u')).toContain(`remote ${far(3)}`);
    await up();
    expect(await net.harness.remains(net.name)).not.toContain(`link ${net.name}-u`);
    await up(tunnels);
    await net.driver.down(net.name);
    expect(await net.harness.remains(net.name)).toEqual([]);
  });

  test.each(['unicast', 'multicast'])(
    'a %s vxlan tunnel carries DHCP, pings and whole packets to another machine',
    async (kind) => {
      const [ends, theirs] =
        kind === 'unicast'
          ? [{ local: far(1), remote: far(2) }, `remote ${far(1)} local ${far(2)}`]
          : [{ group: '239.9.9.9' }, 'group 239.9.9.9 dev eth0'];
      const other = await outsideMachine();
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
      await other.run(['ip', 'addr', 'add', `${net.ipv4}.250/24`, 'dev', 'vx0']);
      await until(() => canPing(other, `${net.ipv4}.1`));
      expect(await canPing(other, nearAddress)).toBe(true);
      expect(await canPing(near, `${net.ipv4}.250`)).toBe(true);
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

  test('a crash between the record of a config without tunnels and their removal leaves none of them', async () => {
    await up({ 'tunnel.u.protocol': 'vxlan', 'tunnel.u.local': far(1), 'tunnel.u.remote': far(2) });
    const file = joinPath(net.harness.dir, net.name, 'network.json');
    const recorded = JSON.parse(await readFile(file, 'utf8')) as object;
    await writeFile(file, JSON.stringify({ ...recorded, config: net.config }));
    await up();
    expect(await net.harness.remains(net.name)).not.toContain(`link ${net.name}-u`);
  });

  test('a tunnel that cannot be made leaves the network without half of it', async () => {
    await up();
    const gre = { 'tunnel.g.protocol': 'gre', 'tunnel.g.local': far(1), 'tunnel.g.remote': far(2) };
    const hasGre = await ip(
      'link',
      'add',
      'name',
      `${net.harness.prefix}g`,
      'type',
      'gretap',
      'local',
      far(1),
      'remote',
      far(9),
    ).then(
      () => ip('link', 'del', 'dev', `${net.harness.prefix}g`).then(() => true),
      () => false,
    );
    if (hasGre) {
      await up(gre);
      expect(await net.harness.remains(net.name)).toContain(`link ${net.name}-g`);
      return;
    }
    console.log('gre tunnels: this kernel has none, so only the refusal is tested');
    await expect(up(gre)).rejects.toMatchObject({
      code: 'NotSupported',
      message: expect.stringContaining('gretap') as unknown,
    });
    expect((await net.driver.state(net.name))?.mtu).toBe(1500);
    expect(await net.harness.remains(net.name)).not.toContain(`link ${net.name}-g`);
  });
});
