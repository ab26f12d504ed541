// Network ACLs as documents, on the simulation: created before networks that name them, corrected, exported, adopted, pruned last.
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { network, openBench, type Bench } from '../../support/cli/daemon-with-manifests.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { freeSubnet } from '../../support/hosts/free-resources.ts';

const subnet = freeSubnet();
const lan = (acls: string): string =>
  `kind: network\nname: ${network}\nconfig: { ipv4.address: ${subnet}.1/24, ipv6.address: none${acls} }\n`;
const acl = (more: string): string => `kind: network_acl\nname: wall\n${more}`;
const web = 'ingress:\n  - { action: allow, state: enabled, protocol: tcp, destination_port: 80 }\n';

describe('network ACLs as documents', () => {
  let bench: Bench;
  let original: Bench['parts'];
  const run = (...argv: readonly string[]): Promise<CliRun> =>
    cli([...argv, '--host', `unix://${bench.daemon.socketPath}`]);
  beforeAll(async () => {
    bench = await openBench('sim');
    original = { ...bench.parts, network: lan('') };
  });
  afterAll(() => bench?.close());
  const declare = (rules: string): void => {
    bench.parts = { ...original, acl: acl(rules), network: lan(', security.acls: wall') };
  };

  test('an ACL is made before the network that names it, and changes live; a second plan is empty each time', async () => {
    declare(web);
    const planned = await bench.planned();
    expect(planned).toEqual(['network_acl/wall: create live', `network/${network}: update live`]);
    await bench.settle();
    expect(await bench.get('/1.0/network-acls/wall')).toMatchObject({ used_by: [`/1.0/networks/${network}`] });
    declare(`description: more\n${web}egress:\n  - { action: allow, state: logged, destination: 10.0.0.0/8 }\n`);
    expect(await bench.planned()).toEqual(['network_acl/wall: update live']);
    await bench.settle();
    expect(await bench.get('/1.0/network-acls/wall')).toMatchObject({
      description: 'more',
      egress: [{ action: 'allow', state: 'logged', destination: '10.0.0.0/8' }],
    });
  });

  test('a rule that others changed is a difference, and an apply restores the declared rules', async () => {
    declare(web);
    await bench.settle();
    const { ingress } = await bench.get('/1.0/network-acls/wall');
    const more = { action: 'allow', state: 'enabled', source: '192.0.2.1' };
    await bench.daemon.call('PATCH', '/1.0/network-acls/wall', { ingress: [...ingress, more] });
    const seen = await bench.gantry('plan', '--detailed-exitcode');
    expect(seen.code, seen.stderr).toBe(2);
    expect(seen.stdout).toMatch(/~ ingress = .* # was changed outside/);
    expect(seen.stdout).toContain('- {"action":"allow","state":"enabled","source":"192.0.2.1"}\n');
    expect(seen.stdout).not.toContain('          + ');
    await bench.settle();
    expect((await bench.get('/1.0/network-acls/wall')).ingress).toEqual(ingress);
  });

  test('an export plans to nothing, and under another set adopts the ACL as it is', async () => {
    declare(web);
    await bench.settle();
    const out = mkdtempSync(join(bench.dir, 'acls-'));
    const exported = await run('export', '-o', out);
    expect(exported.code, exported.stderr).toBe(0);
    expect(readFileSync(join(out, 'network_acl.yaml'), 'utf8')).toContain('name: wall');
    for (const set of ['default', 'other']) {
      const plan = await run('plan', out, '--set', set, '--detailed-exitcode');
      expect(plan.code, plan.stdout + plan.stderr).toBe(0);
    }
  });

  test('an undeclared ACL stays until a prune, which deletes it after its network releases it', async () => {
    declare(web);
    await bench.settle();
    bench.parts = original;
    const kept = await bench.gantry('apply', '--auto-approve', '--set', 'default', '--prune');
    expect(kept.stdout + kept.stderr).toContain('network_acl/wall');
    await bench.apply('--set', 'default', '--prune', '--allow-destroy');
    await bench.expectSettled();
    expect(await bench.get('/1.0/network-acls')).toEqual([]);
    expect((await bench.get(`/1.0/networks/${network}`)).config).not.toHaveProperty(['security.acls']);
  });
});
