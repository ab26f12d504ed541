// kill -9 of a daemon with real bridges around changes of network ACLs: the next start gives the kernel the rules that are recorded.
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPrograms } from '../../support/cli/programs.ts';
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import { startGantryd, type Gantryd } from '../../support/daemons/gantryd.ts';
import { freeSubnet } from '../../support/hosts/free-resources.ts';
import { hostParts, nothing, remove } from '../../support/hosts/remains.ts';
import { seededRandom } from '../../support/random.ts';
import { until } from '../../support/until.ts';

const missing = await realRuntimeMissing();
const random = seededRandom();
const name = `gtka${process.pid % 100_000}`;
const table = `gantry_${name}`;
const rules = (): string => execFileSync('nft', ['list', 'table', 'inet', table], { encoding: 'utf8' });
const opens = (port: number): object => ({
  ingress: [{ action: 'allow', state: 'enabled', protocol: 'tcp', destination_port: String(port) }],
});

describe.skipIf(missing !== undefined)('a killed daemon and network ACLs', () => {
  let gantryd: Gantryd;
  const put = (port: number) => gantryd.call('PUT', '/1.0/network-acls/wall', opens(port));
  beforeAll(async () => {
    gantryd = await startGantryd(buildPrograms(), { runtime: 'lxc' });
    await gantryd.call('POST', '/1.0/network-acls', { name: 'wall', ...opens(80) });
    const config = { 'ipv4.address': `${freeSubnet()}.1/24`, 'ipv6.address': 'none', 'security.acls': 'wall' };
    expect((await gantryd.call('POST', '/1.0/networks', { name, config })).status).toBe(200);
  });
  afterAll(async () => {
    if (gantryd === undefined) return;
    await remove(gantryd, [name]);
    expect(hostParts(gantryd.dir, [name])).toEqual(nothing);
  });

  test('a start after kill -9 restores rules that the kernel lost', async () => {
    expect(rules()).toContain('tcp dport 80 accept');
    await gantryd.kill();
    execFileSync('nft', ['delete', 'table', 'inet', table]);
    await gantryd.start();
    await until(() => rules().includes('tcp dport 80 accept'));
  });

  test('kill -9 during a change leaves the old or the new rules, and the next start applies the recorded ones', async () => {
    for (let port = 81; port < 83; port += 1) {
      const change = put(port).catch(() => undefined);
      await sleep(random.next() * 40);
      await gantryd.kill();
      await change;
      const left = rules();
      expect(left).toMatch(new RegExp(`tcp dport (${port - 1}|${port}|80) accept`));
      await gantryd.start();
      const { ingress } = await gantryd.get('/1.0/network-acls/wall');
      await until(() => rules().includes(`tcp dport ${ingress[0].destination_port} accept`));
      await put(port);
      expect(rules()).toContain(`tcp dport ${port} accept`);
    }
  });

  test('a change of an ACL reaches the kernel before its answer', async () => {
    for (let port = 100; port < 104; port += 1) {
      expect((await put(port)).status).toBe(200);
      expect(rules()).toContain(`tcp dport ${port} accept`);
    }
  });
});
