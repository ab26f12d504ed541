// Messages about wrong configurations: they appear at the plan where possible, and without values that may be secrets.
import { describe, expect, test } from 'vitest';
import { terraformMissing, type Terraform } from '../../support/terraform/terraform.ts';
import { useTerraform } from '../../support/terraform/world.ts';

const missing = terraformMissing('messages to Terraform');

describe.skipIf(missing !== undefined)('a configuration that is wrong', { timeout: 120_000 }, () => {
  let terraform: Terraform;
  useTerraform((world) => ({ terraform } = world));

  const pool = `
resource "gantry_storage_pool" "p" {
  name   = "fast"
  driver = "dir"
}
`;
  const container = (more: string): string => `${pool}
resource "gantry_container" "c" {
  name     = "web"
  profiles = []
  devices  = { root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name } }
  ${more}
}
`;

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
    expect(await terraform.fails('plan')).toContain('a directory cannot be limited in size');
    terraform.write(volume('"security.unmaped" = "true"'));
    expect(await terraform.fails('plan')).toContain('Invalid value of config["security.unmaped"]');
    terraform.write(volume('"security.unmapped" = "true"'));
    await terraform.apply();
    await terraform.expectNoChanges();
  });

  test('Messages never contain the value of a sensitive variable', async () => {
    const secret = 'do-not-say-this-1';
    const variable = `
variable "pw" {
  default   = "${secret}"
  sensitive = true
}
`;
    for (const more of [
      'config = { "limits.memory" = var.pw }',
      'config = { "security.nesting" = var.pw }',
      'config = { "user.pw" = var.pw, "limits.memory" = "nonsense" }',
      'files = { "/a" = { content = "x", mode = var.pw } }',
      'wait_for = [{ type = var.pw }]',
      'exec = { a = { command = ["sh", "-c", "echo $PW; exit 3"], environment = { PW = var.pw } } }',
      'devices = { root = { type = "disk", path = "/", pool = "fast" }, eth0 = { type = "nic", nictype = var.pw } }',
    ]) {
      terraform.write(variable + container(more).replace(/(devices {2}= .*)([^]*)(devices = )/, '$2$3'));
      const said = await terraform.fails('apply', '-auto-approve', '-input=false');
      expect(said, more).not.toContain(secret);
      expect(said, more).not.toContain('Plugin error');
    }
  });
});
