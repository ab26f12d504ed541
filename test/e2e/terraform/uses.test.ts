// Objects that leave a configuration together with their use: Terraform deletes them in parallel with the update that ends the use.
import { describe, expect, test } from 'vitest';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { fastPool } from '../../support/terraform/blocks.ts';
import { terraformMissing, type Terraform } from '../../support/terraform/terraform.ts';
import { useTerraform } from '../../support/terraform/world.ts';

const missing = terraformMissing('Terraform and objects in use');

describe.skipIf(missing !== undefined)('an object that is deleted together with its use', () => {
  let daemon: TestDaemon;
  let terraform: Terraform;
  useTerraform((world) => ({ daemon, terraform } = world));

  const base = (profiles: string, devices: string): string => `
${fastPool}resource "gantry_container" "c" {
  name         = "web"
  profiles     = [${profiles}]
  stop_timeout = 0
  devices = {
    root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name }
    ${devices}
  }
}
`;
  const lifecycle = '\n  lifecycle {\n    create_before_destroy = true\n  }';
  const used = (more = ''): string => `
resource "gantry_network" "n" {
  name   = "uses0"
  config = { "ipv4.address" = "none", "ipv6.address" = "none" }${more}
}
resource "gantry_storage_volume" "v" {
  pool = gantry_storage_pool.p.name
  name = "data"${more}
}
resource "gantry_profile" "x" {
  name   = "extra"
  config = { "user.x" = "1" }${more}
}
`;
  const devices = (network: string, volume: string): string => `
    eth0 = { type = "nic", nictype = "bridged", parent = ${network} }
    data = { type = "disk", pool = gantry_storage_pool.p.name, source = ${volume}, path = "/data" }`;
  const referring = base('gantry_profile.x.name', devices('gantry_network.n.name', 'gantry_storage_volume.v.name'));

  test('An object named in text is deleted in parallel with the update that ends its use', async () => {
    terraform.write(used() + base('', ''));
    await terraform.apply();
    const named = base('"extra"', devices('"uses0"', '"data"'));
    terraform.write(used() + named);
    await terraform.apply();
    terraform.write(base('', ''));
    expect(await terraform.apply()).toContain('0 added, 1 changed, 3 destroyed');
    await terraform.expectNoChanges();
    expect(await daemon.get('/1.0/storage-pools/fast/volumes/custom')).toEqual([]);
  });

  test('An object with create_before_destroy is deleted after the update that ends its use', async () => {
    terraform.write(used(lifecycle) + referring);
    await terraform.apply();
    terraform.write(base('', ''));
    expect(await terraform.apply()).toContain('0 added, 1 changed, 3 destroyed');
    await terraform.expectNoChanges();
  });

  test('An object that was referred to is not deleted before the update, and the message explains how to delete it', async () => {
    terraform.write(used() + referring);
    await terraform.apply();
    terraform.write(base('', ''));
    const said = await terraform.fails('apply', '-auto-approve', '-input=false');
    for (const what of ['profile extra', 'network uses0', 'storage volume fast/data']) expect(said).toContain(what);
    expect(said).toContain('terraform apply -target');
    expect(said).toContain('create_before_destroy = true');
    await terraform.apply('-target=gantry_container.c');
    await terraform.settle();
    expect(await daemon.get('/1.0/profiles')).toEqual(['/1.0/profiles/default']);
  });

  test('An object whose use this provider does not end is refused at once, and the message names the user', async () => {
    terraform.write(used() + base('', ''));
    await terraform.apply();
    await daemon.call('PATCH', '/1.0/containers/web', { profiles: ['extra'] });
    terraform.write(
      `${used().slice(0, used().indexOf('resource "gantry_profile"'))}${base('', '')}`.replace(
        'stop_timeout = 0',
        'stop_timeout = 0\n  lifecycle {\n    ignore_changes = [profiles]\n  }',
      ),
    );
    const said = await terraform.fails('apply', '-auto-approve', '-input=false');
    expect(said).toContain('The profile extra is in use by');
    expect(said).toContain('web');
    expect(terraform.state('gantry_profile.x')).toMatchObject({ name: 'extra' });
  });
});
