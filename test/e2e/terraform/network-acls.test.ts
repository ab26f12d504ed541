// Real Terraform with network ACLs against gantryd on the simulation.
import { describe, expect, test } from 'vitest';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { type Terraform, terraformMissing } from '../../support/terraform/terraform.ts';
import { useTerraform } from '../../support/terraform/world.ts';

const missing = terraformMissing('real Terraform with network ACLs');

let daemon: TestDaemon;
let terraform: Terraform;

const stack = (rules: string, more = '', name = 'web'): string => `
resource "gantry_network_acl" "a" {
  name = "${name}"
  ${rules}
}
resource "gantry_network" "n" {
  name   = "tfacl0"
  config = { "ipv4.address" = "10.87.3.1/24", "ipv6.address" = "none", ${more} }
}
`;
const named = '"security.acls" = gantry_network_acl.a.name';
const web = `ingress = [
    { action = "allow", protocol = "tcp", destination_port = " 80, 443" },
    { action = "drop", state = "logged", source = "192.0.2.0/24" },
  ]`;

describe.skipIf(missing !== undefined)('network ACLs', () => {
  useTerraform((world) => void ({ daemon, terraform } = world));

  test('an ACL is created before its network, has an empty plan, changes, is imported, and is deleted with it', async () => {
    terraform.write(stack(web, named));
    expect(await terraform.apply()).toContain('2 added, 0 changed, 0 destroyed');
    await terraform.expectNoChanges();
    expect(await daemon.get('/1.0/network-acls/web')).toMatchObject({
      ingress: [
        { action: 'allow', state: 'enabled', protocol: 'tcp', destination_port: '80,443' },
        { action: 'drop', state: 'logged', source: '192.0.2.0/24' },
      ],
      egress: [],
      used_by: ['/1.0/networks/tfacl0'],
    });

    const only = 'ingress = [{ action = "allow", protocol = "icmp4" }]\n  egress = [{ action = "reject" }]';
    terraform.write(stack(only, named));
    expect(await terraform.apply()).toContain('0 added, 1 changed, 0 destroyed');
    await terraform.expectNoChanges();
    await terraform.forget('gantry_network_acl.a');
    await terraform.import('gantry_network_acl.a', 'web');
    await terraform.expectNoChanges();

    expect(await terraform.destroy()).toContain('2 destroyed');
    expect(await daemon.get('/1.0/network-acls')).toEqual([]);
  });

  test('changes of others are reverted, and a data source shows the ACL', async () => {
    const data =
      'data "gantry_network_acl" "d" {\n  name = gantry_network_acl.a.name\n}\noutput "d" {\n  value = data.gantry_network_acl.d\n}\n';
    terraform.write(stack(web, named) + data);
    await terraform.apply();
    await daemon.call('PATCH', '/1.0/network-acls/web', { ingress: [{ action: 'allow', state: 'enabled' }] });
    const { changes, output } = await terraform.plan();
    expect(changes, output).toBe(true);
    await terraform.apply();
    expect((await daemon.get('/1.0/network-acls/web')).ingress).toHaveLength(2);
    await terraform.expectNoChanges();
    expect(terraform.outputs()['d']).toMatchObject({
      ingress: [
        { action: 'allow', state: 'enabled', protocol: 'tcp', source: null },
        { action: 'drop', state: 'logged', source: '192.0.2.0/24' },
      ],
      egress: [],
    });
  });

  test('a mistake in a rule is reported at its place before anything is created', async () => {
    terraform.write(stack('ingress = [{ action = "allow", protocol = "tcp", destination_port = "http" }]'));
    expect(await terraform.fails('plan')).toMatch(/ingress\[0\]\.destination_port[^]*must be a port from 0 to 65535/);
    terraform.write(stack('ingress = [{ action = "allow" }, { action = "allow" }]'));
    expect(await terraform.fails('plan')).toContain('leave one of them out');
    terraform.write(stack('config = { "limits.x" = "1" }'));
    expect(await terraform.fails('plan')).toContain('config["limits.x"]');
  });
});
