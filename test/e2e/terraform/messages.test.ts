// Messages about wrong configurations: they appear at the plan where possible, and without values that may be secrets.
import { describe, expect, test } from 'vitest';
import { fastPool } from '../../support/terraform/blocks.ts';
import { terraformMissing, type Terraform } from '../../support/terraform/terraform.ts';
import { useTerraform } from '../../support/terraform/world.ts';

const missing = terraformMissing('messages to Terraform');

describe.skipIf(missing !== undefined)('a configuration that is wrong', () => {
  let terraform: Terraform;
  useTerraform((world) => ({ terraform } = world));

  const pool = `
${fastPool}`;
  const container = (more: string): string => `${pool}
resource "gantry_container" "c" {
  name     = "web"
  profiles = []
  devices  = { root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name } }
  ${more}
}
`;

  test('The plan refuses lines of raw.lxc that the server would refuse, and warns about overlapping subnets', async () => {
    const kinds = ['gantry_profile', 'gantry_container'];
    const of = (line: string): string =>
      kinds
        .map(
          (kind) => `
resource "${kind}" "x" {
  name     = "x"
  config   = { "raw.lxc" = "${line}" }
  devices  = { root = { type = "disk", path = "/", pool = "fast" } }${kind === 'gantry_container' ? '\n  profiles = []' : ''}
}
`,
        )
        .join('');
    terraform.write(of('lxc.uts.name=x'));
    const refused = await terraform.fails('plan');
    for (const kind of kinds) expect(refused).toContain(`The server would refuse raw.lxc with ${kind}.x`);
    expect(refused.split('the name belongs to the daemon')).toHaveLength(kinds.length + 1);
    terraform.write(of('lxc.apparmor.profile=unconfined\\nlxc.cap.drop='));
    expect((await terraform.plan()).changes).toBe(true);
    const lan = (name: string, address: string): string => `
resource "gantry_network" "${name}" {
  name   = "${name}"
  config = { "ipv4.address" = "${address}", "ipv6.address" = "none" }
}
`;
    terraform.write(lan('lan0', '10.77.0.1/16'));
    await terraform.settle();
    terraform.write(`${lan('lan0', '10.77.0.1/16')}${lan('lan1', '10.77.3.1/24')}`);
    const { output } = await terraform.plan();
    expect(output).toContain('The subnet 10.77.3.1/24 overlaps that of the network lan0');
    expect(await terraform.fails('apply', '-auto-approve')).toContain('the network lan0 has 10.77.0.1/16');
  });

  test('The plan finds a static address outside its planned network, also if the network changes in the same apply', async () => {
    const lan = (address: string): string => `
resource "gantry_network" "lan" {
  name   = "lan0"
  config = { "ipv4.address" = "${address}", "ipv6.address" = "none" }
}
`;
    const nic = (address: string, network = 'gantry_network.lan.name'): string => `
resource "gantry_container" "c" {
  name     = "web"
  profiles = []
  devices  = {
    root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name }
    eth0 = { type = "nic", network = ${network}, "ipv4.address" = "${address}" }
  }
}
`;
    const first = lan('10.77.0.1/24');
    const outside = ['10.78.0.5', '10.77.0.1', '10.77.0.255'];
    const numbered = outside.map((address, at) =>
      nic(address).replace('"c"', `"c${at}"`).replace('"web"', `"web${at}"`),
    );
    terraform.write(`${pool}${first}${numbered.join('')}`);
    const wrong = await terraform.fails('plan');
    for (const at of outside.keys()) expect(wrong).toContain(`with gantry_container.c${at}`);
    expect(wrong.split('The nic eth0 cannot have its ipv4.address:')).toHaveLength(outside.length + 1);
    expect(wrong).toContain('the network lan0');
    const silent = first.replace('"ipv6.address"', '"ipv4.dhcp" = "false", "ipv6.address"');
    terraform.write(`${pool}${silent}${nic('10.77.0.5')}`);
    expect(await terraform.fails('plan')).toMatch(/the network lan0 gives out[\s\S]*ipv4.dhcp is false/);
    const filtered = nic('10.77.0.5').replace('"ipv4.address"', '"security.ipv4_filtering" = "true", "ipv4.address"');
    terraform.write(`${pool}${silent}${filtered}`);
    expect((await terraform.plan()).output).not.toContain('cannot have its');
    terraform.write(`${pool}${first}${nic('10.77.0.5')}`);
    await terraform.settle();
    terraform.write(`${pool}${lan('10.78.0.1/24')}${nic('10.78.0.5')}`);
    expect((await terraform.plan()).output).not.toContain('cannot have its');
    await terraform.settle();
    // A network that the configuration only names may change in the same apply.
    terraform.write(`${pool}${lan('10.78.0.1/24')}${nic('10.79.0.5', '"lan0"')}`);
    expect((await terraform.run(['plan'])).output).toMatch(
      /(Warning|Error): The nic eth0 cannot have its ipv4.address/,
    );
    terraform.write(`${pool}${lan('10.78.0.1/24')}${nic('10.78.0.5')}
resource "gantry_profile" "x" {
  name    = "x"
  devices = { eth0 = { type = "nic", nictype = "bridged", parent = "lan0", "ipv4.address" = "10.80.0.5" } }
}
resource "gantry_container_device" "d" {
  container  = "web"
  name       = "eth1"
  type       = "nic"
  properties = { network = "lan0", "ipv4.address" = "10.81.0.5" }
}
`);
    const { output } = await terraform.run(['plan']);
    expect(output).toMatch(/The nic eth0 cannot have its ipv4.address[\s\S]*with gantry_profile.x/);
    expect(output).toMatch(/The nic eth1 cannot have its ipv4.address[\s\S]*with gantry_container_device.d/);
  });

  test('The plan refuses unknown and unavailable drivers, wrong schedules, and wrong keys of volumes', async () => {
    terraform.write(pool.replace('"dir"', '"dri"'));
    expect(await terraform.fails('plan')).toContain('There is no storage driver dri (did you mean dir?)');
    terraform.write(pool.replace('"dir"', '"ceph"'));
    expect(await terraform.fails('plan')).toMatch(/This server has no storage driver ceph .* It has .*dir/);
    terraform.write(container('snapshots = { schedule = "often", pattern = "x", expiry = "later" }'));
    const said = await terraform.fails('plan');
    for (const name of ['schedule', 'expiry']) expect(said).toContain(`Invalid value of snapshots.${name}`);
    terraform.write(pool);
    await terraform.apply();
    const volume = (config: string): string => `${pool}
resource "gantry_storage_volume" "v" {
  pool   = gantry_storage_pool.p.name
  name   = "data"
  config = { ${config} }
}
`;
    terraform.write(volume('size = "1GiB"'));
    expect(await terraform.fails('apply', '-auto-approve')).toContain('cannot limit a volume');
    terraform.write(volume('"security.unmaped" = "true"'));
    expect(await terraform.fails('plan')).toContain('Invalid value of config["security.unmaped"]');
    terraform.write(volume('"security.unmapped" = "true"'));
    await terraform.settle();
  });

  test('Messages never contain the value of a sensitive variable', async () => {
    const secret = 'do-not-say-this-1';
    const written = (wrong: readonly string[]): void =>
      terraform.write(
        [
          `variable "pw" {\n  default   = "${secret}"\n  sensitive = true\n}\n`,
          ...wrong.map(
            (more, at) =>
              `resource "gantry_container" "c${at}" {\n  name     = "web${at}"\n  profiles = []\n  ${more}\n}\n`,
          ),
        ].join(''),
      );
    // Terraform knows variables at the plan, not before that, when it validates.
    for (const wrong of [
      ['config = { "user.pw" = var.pw, "limits.memory" = "nonsense" }'],
      [
        'config = { "limits.memory" = var.pw }',
        'config = { "security.nesting" = var.pw }',
        'files = { "/a" = { content = "x", mode = var.pw } }',
        'wait_for = [{ type = var.pw }]',
        'devices = { eth0 = { type = "nic", nictype = var.pw } }',
      ],
    ]) {
      written(wrong);
      const said = await terraform.fails('plan', '-input=false');
      const named = [...said.matchAll(/with gantry_container\.c(\d)/g)].map(([, at]) => Number(at));
      expect(new Set(named), said).toEqual(new Set(wrong.keys()));
      expect(said).not.toContain(secret);
      expect(said).not.toContain('Plugin error');
    }
  });
});
