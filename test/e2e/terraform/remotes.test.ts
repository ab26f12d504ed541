// Objects on several servers from one provider block: `remote` on resources, data sources and in import ids, with certificates, and
// errors about unknown and unreachable remotes.
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { useDaemon } from '../../support/daemons/emptied.ts';
import { makeClient } from '../../support/daemons/tls.ts';
import { packImage } from '../../support/cli/daemon-with-manifests.ts';
import { useTerraform, type TerraformWorld } from '../../support/terraform/world.ts';
import { terraformMissing } from '../../support/terraform/terraform.ts';

const missing = terraformMissing('resources on several servers');

describe.skipIf(missing !== undefined)('a remote of the provider', () => {
  let world: TerraformWorld;
  let west: TestDaemon;
  let remotes = '';
  useTerraform((own) => (world = own));
  useDaemon((given) => void (west = given), { https: '127.0.0.1:0' });
  beforeEach(async () => {
    const client = await makeClient('terraform');
    const { dir } = world.terraform;
    writeFileSync(join(dir, 'client.crt'), client.certPem);
    writeFileSync(join(dir, 'client.key'), client.keyPem);
    const certificate = client.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
    await west.call('POST', '/1.0/certificates', { type: 'client', name: 'terraform', certificate });
    const pin = (await west.get('/1.0')).environment.certificate_fingerprint as string;
    remotes = `
    west = {
      address                 = "https://${west.daemon.httpsAddress() ?? ''}"
      server_certificate      = "${pin}"
      client_certificate_file = "${dir}/client.crt"
      client_key_file         = "${dir}/client.key"
    }
`;
  });

  const write = (body: string, more = ''): void =>
    world.terraform.write(`
provider "gantry" {
  address = "unix://${world.daemon.socketPath}"
  remotes = {${remotes}${more}}
}
${body}`);

  const onBoth = `
locals {
  paths = { here = null, west = "west" }
}
resource "gantry_storage_pool" "p" {
  for_each = local.paths
  remote   = each.value
  name     = "fast"
  driver   = "dir"
}
resource "gantry_container" "c" {
  for_each = local.paths
  remote   = each.value
  name     = each.key
  profiles = []
  config   = { "user.at" = each.key }
  devices  = { root = { type = "disk", path = "/", pool = gantry_storage_pool.p[each.key].name } }
}
resource "gantry_container_file" "f" {
  for_each  = local.paths
  remote    = each.value
  container = gantry_container.c[each.key].name
  path      = "/etc/at"
  content   = each.key
}
data "gantry_containers" "all" {
  for_each   = local.paths
  remote     = each.value
  depends_on = [gantry_container.c]
}
output "names" {
  value = { for place, found in data.gantry_containers.all : place => keys(found.containers) }
}
`;

  test('A remote has its own objects next to those of the provider block, imported and destroyed there', async () => {
    const { terraform, daemon } = world;
    write(onBoth);
    expect(await terraform.apply()).toContain('6 added, 0 changed, 0 destroyed');
    await terraform.expectNoChanges();
    expect(terraform.outputs()).toEqual({ names: { here: ['here'], west: ['west'] } });
    expect(await daemon.get('/1.0/containers')).toEqual(['/1.0/containers/here']);
    expect(await west.get('/1.0/containers')).toEqual(['/1.0/containers/west']);
    const file = await west.call('GET', '/1.0/containers/west/files?path=/etc/at');
    expect(file.bytes.toString()).toBe('west');

    // Drift on the remote is found and corrected there.
    await west.call('PATCH', '/1.0/containers/west', { config: { 'user.at': 'elsewhere' } });
    expect(await terraform.apply()).toContain('0 added, 1 changed, 0 destroyed');
    expect((await west.get('/1.0/containers/west')).config['user.at']).toBe('west');

    await terraform.forget(
      'gantry_container.c["west"]',
      'gantry_container_file.f["west"]',
      'gantry_storage_pool.p["west"]',
    );
    await terraform.import('gantry_container.c["west"]', 'west:west');
    await terraform.import('gantry_container_file.f["west"]', 'west//etc/at,remote=west');
    await terraform.import('gantry_storage_pool.p["west"]', 'fast,remote=west');
    expect(await terraform.settle()).toMatch(/0 added, \d changed, 0 destroyed/);
    expect(terraform.state('gantry_container.c["west"]').remote).toBe('west');
    await terraform.destroy();
    expect(await west.get('/1.0/containers')).toEqual([]);
    expect(await daemon.get('/1.0/containers')).toEqual([]);
  });

  test('Another remote replaces the object, and null means the server of the provider block', async () => {
    const { terraform, daemon } = world;
    const profile = (remote: string): string =>
      `resource "gantry_profile" "p" {\n  name = "p"\n  remote = ${remote}\n}\n`;
    write(profile('null'));
    await terraform.apply();
    write(profile('"west"'));
    expect((await terraform.plan()).output).toMatch(/remote += "west" # forces replacement/);
    expect(await terraform.apply()).toContain('1 added, 0 changed, 1 destroyed');
    expect(await daemon.get('/1.0/profiles')).toEqual(['/1.0/profiles/default']);
    expect(await west.get('/1.0/profiles')).toContain('/1.0/profiles/p');
    await terraform.expectNoChanges();
    write(profile('""'));
    expect(await terraform.apply()).toContain('1 added, 0 changed, 1 destroyed');
    expect(await daemon.get('/1.0/profiles')).toContain('/1.0/profiles/p');
  });

  test('A remote that is another name or address of the same server keeps its objects', async () => {
    const { terraform, daemon } = world;
    const aliases = `    local = { address = "unix://${daemon.socketPath}" }
    twin  = { address = "unix://${west.socketPath}" }
`;
    const all = (remote: string): string => `
resource "gantry_container" "c" {
  name     = "keep"
  remote   = ${remote}
  profiles = []
  devices  = { root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name } }
  exec     = { once = { command = ["true"] } }
}
resource "gantry_storage_pool" "p" {
  name   = "fast"
  remote = ${remote}
  driver = "dir"
}
resource "gantry_container_exec" "e" {
  container = gantry_container.c.name
  remote    = ${remote}
  command   = ["true"]
}
resource "gantry_container_file" "f" {
  container = gantry_container.c.name
  remote    = ${remote}
  path      = "/etc/at"
  content   = "same"
}
resource "gantry_snapshot" "s" {
  container = gantry_container.c.name
  remote    = ${remote}
  name      = "one"
}
resource "gantry_server_config" "s" {
  remote = ${remote}
  config = { "user.at" = "same" }
}
`;
    write(all('null'), aliases);
    await terraform.apply();
    const born = (await daemon.get('/1.0/containers/keep')).created_at as string;
    write(all('"local"'), aliases);
    expect(await terraform.settle()).toMatch(/0 added, \d changed, 0 destroyed/);
    expect((await daemon.get('/1.0/containers/keep')).created_at).toBe(born);
    await terraform.destroy();

    // One server over TLS and its socket: the addresses differ, the reported identity does not.
    write(all('"west"'), aliases);
    await terraform.apply();
    const first = (await west.get('/1.0/containers/keep')).created_at as string;
    write(all('"twin"'), aliases);
    expect(await terraform.apply()).toMatch(/0 added, \d+ changed, 0 destroyed/);
    await terraform.expectNoChanges();
    expect((await west.get('/1.0/containers/keep')).created_at).toBe(first);
  });

  test('A remote has its own images, made from local files', async () => {
    const { terraform, daemon } = world;
    packImage(terraform.dir, 'image.tar.gz', 'one');
    write(`
resource "gantry_image" "i" {
  remote = "west"
  source = { type = "file", file = "${terraform.dir}/image.tar.gz" }
}
resource "gantry_image_alias" "a" {
  remote = "west"
  name   = "base:1"
  target = gantry_image.i.fingerprint
}
data "gantry_image" "i" {
  remote = "west"
  alias  = gantry_image_alias.a.name
}`);
    await terraform.settle();
    expect(await daemon.get('/1.0/images')).toEqual([]);
    await terraform.forget('gantry_image_alias.a');
    await terraform.import('gantry_image_alias.a', 'base:1,remote=west');
    await terraform.expectNoChanges();
  });

  test('An unknown, misnamed or unreachable remote is an error only for its own objects', async () => {
    const { terraform, daemon } = world;
    write(`resource "gantry_profile" "p" {\n  name = "p"\n  remote = "wets"\n}\n`);
    const unknown = await terraform.fails('plan');
    expect(unknown).toContain('The provider has no remote "wets" (did you mean west?)');
    const dead = `    dead = { address = "unix:///nonexistent/socket" }\n`;
    write(
      `resource "gantry_profile" "p" {\n  name = "p"\n}\nresource "gantry_profile" "q" {\n  name = "q"\n  remote = "dead"\n}\n`,
      dead,
    );
    expect(await terraform.fails('apply', '-auto-approve')).toContain('The remote dead cannot be used');
    await terraform.apply('-target=gantry_profile.p');
    expect(await daemon.get('/1.0/profiles')).toContain('/1.0/profiles/p');
    write(`resource "gantry_profile" "p" {\n  name = "p"\n}\n`, `    "a b" = { address = "unix:///x" }\n`);
    expect(await terraform.fails('plan')).toContain('must consist of letters');
    write('resource "gantry_profile" "p" {\n  name = "p"\n}\n');
    expect(await terraform.fails('import', 'gantry_profile.p', 'east:p')).toContain(
      'The provider has no remote "east"',
    );
  });
});
