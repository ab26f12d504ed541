// Changed names in a configuration, on the simulation: every object that the API can rename is renamed with its contents.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { packImage } from '../../support/cli/daemon-with-manifests.ts';
import { fastPool } from '../../support/terraform/blocks.ts';
import { terraformMissing, type Terraform } from '../../support/terraform/terraform.ts';
import { useTerraform } from '../../support/terraform/world.ts';

const missing = terraformMissing('Terraform and names that change');

describe.skipIf(missing !== undefined)('another name in the configuration', () => {
  let daemon: TestDaemon;
  let terraform: Terraform;
  useTerraform((world) => ({ daemon, terraform } = world));

  const pool = `
${fastPool}`;
  const root = 'root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name }';
  const container = (name: string, more = ''): string => `
resource "gantry_container" "c" {
  name         = "${name}"
  profiles     = []
  devices      = { ${root} }
  stop_timeout = 0
  ${more}
}
`;
  const withObjects = (its: string, snapshot: string): string => `${pool}${its}
resource "gantry_snapshot" "s" {
  container = gantry_container.c.name
  name      = "${snapshot}"
}
resource "gantry_container_file" "f" {
  container = gantry_container.c.name
  path      = "/etc/motd"
  content   = "hello"
}
resource "gantry_container_exec" "e" {
  container = gantry_container.c.name
  command   = ["true"]
}
`;

  test('Another name renames a container with its files, snapshots, commands and data, and the container runs again', async () => {
    const onCreate = 'exec = { a = { command = ["sh", "-c", "echo ran >>/log"], on = "create" } }';
    const all = (name: string, snapshot = 'one'): string => withObjects(container(name, onCreate), snapshot);
    terraform.write(all('web'));
    await terraform.apply();
    const before = await daemon.get('/1.0/containers/web');
    const snapshot = await daemon.get('/1.0/containers/web/snapshots/one');
    terraform.write(all('shop'));
    const said = await terraform.apply();
    expect(said).toContain('The container web will be restarted');
    expect(said).toContain('A running container cannot be renamed');
    expect(said).toContain('0 added, 4 changed, 0 destroyed');
    await terraform.expectNoChanges();
    expect((await daemon.call('GET', '/1.0/containers/web')).status).toBe(404);
    const after = await daemon.get('/1.0/containers/shop');
    expect(after).toMatchObject({ status: 'Running', created_at: before.created_at });
    expect(await daemon.get('/1.0/containers/shop/snapshots/one')).toMatchObject({ created_at: snapshot.created_at });
    terraform.write(all('shop', 'two'));
    expect(await terraform.apply()).toContain('0 added, 1 changed, 0 destroyed');
    await terraform.expectNoChanges();
    expect(await daemon.get('/1.0/containers/shop/snapshots/two')).toMatchObject({ created_at: snapshot.created_at });
  });

  test('The plan refuses to rename a container that may not restart, and accepts it while it is stopped', async () => {
    terraform.write(`${pool}${container('web', 'allow_restart = false')}`);
    await terraform.apply();
    terraform.write(`${pool}${container('shop', 'allow_restart = false')}`);
    const said = await terraform.fails('plan');
    expect(said).toContain('The container web would have to restart');
    expect(said).toContain('A running container cannot be renamed, and allow_restart is false');
    terraform.write(`${pool}${container('shop', 'allow_restart = false\n  running = false')}`);
    expect(await terraform.apply()).toContain('0 added, 1 changed, 0 destroyed');
    await terraform.expectNoChanges();
    expect(await daemon.get('/1.0/containers/shop')).toMatchObject({ status: 'Stopped' });
  });

  test('A rename whose state was lost is found by the next refresh, and a rename by hand is reverted with its objects', async () => {
    const all = (name: string): string => withObjects(container(name), `of-${name}`);
    terraform.write(all('web'));
    await terraform.apply();
    const before = await daemon.get('/1.0/containers/web');
    const state = join(terraform.dir, 'terraform.tfstate');
    const former = readFileSync(state);
    terraform.write(all('shop'));
    await terraform.apply();
    writeFileSync(state, former);
    // A file is written again.
    expect(await terraform.settle()).toContain('1 added, 0 changed, 0 destroyed');
    await daemon.ok('PUT', '/1.0/containers/shop/state', { action: 'stop', force: true });
    await daemon.ok('POST', '/1.0/containers/shop', { name: 'by-hand' });
    expect(await terraform.settle()).toContain('1 added, 3 changed, 0 destroyed');
    expect(await daemon.get('/1.0/containers/shop')).toMatchObject({
      status: 'Running',
      created_at: before.created_at,
    });
    await daemon.get('/1.0/containers/shop/snapshots/of-shop');
  });

  test('Names that two containers would exchange are refused by the plan, whose message says how to exchange them', async () => {
    const two = (first: string, second: string, more = ''): string =>
      `${pool}${container(first, more)}${container(second).replace('"c"', '"d"')}`;
    terraform.write(two('a', 'b'));
    await terraform.apply();
    const former = await daemon.get('/1.0/containers/a');
    terraform.write(two('b', 'a'));
    expect(await terraform.fails('plan')).toMatch(
      /The gantry_container (a|b) cannot become (a|b) in this apply .*two applies: first give this one a name that nothing has/,
    );
    terraform.write(two('free', 'b'));
    await terraform.apply();
    terraform.write(two('b', 'a', 'depends_on = [gantry_container.d]'));
    expect(await terraform.settle()).toContain('0 added, 2 changed, 0 destroyed');
    expect(await daemon.get('/1.0/containers/b')).toMatchObject({ created_at: former.created_at });
  });

  test('A name that another container already has leaves both containers and the state as they are', async () => {
    terraform.write(`${pool}${container('web')}`);
    await terraform.apply();
    await daemon.ok('POST', '/1.0/containers', {
      name: 'shop',
      source: { type: 'none' },
      profiles: [],
      devices: { root: { type: 'disk', path: '/', pool: 'fast' } },
    });
    terraform.write(`${pool}${container('shop')}`);
    expect(await terraform.fails('apply', '-auto-approve')).toContain('shop');
    expect(terraform.state('gantry_container.c')).toMatchObject({ name: 'web' });
    terraform.write(`${pool}${container('web')}`);
    await terraform.settle();
  });

  test('A snapshot of a volume is deleted at the time that its configuration says, also after a change by hand', async () => {
    const snapshot = (expires: string): void =>
      terraform.write(`${pool}
resource "gantry_storage_volume" "v" {
  pool = gantry_storage_pool.p.name
  name = "data"
}
resource "gantry_volume_snapshot" "s" {
  pool       = "fast"
  volume     = gantry_storage_volume.v.name
  name       = "one"
  expires_at = "${expires}"
}
`);
    const path = '/1.0/storage-pools/fast/volumes/custom/data/snapshots/one';
    const live = async (): Promise<number> =>
      Date.parse(((await daemon.get(path)) as { expires_at: string }).expires_at);
    snapshot('2090-01-31T12:00:00Z');
    await terraform.settle();
    expect(await live()).toBe(Date.parse('2090-01-31T12:00:00Z'));
    snapshot('2091-01-31T13:00:00+01:00');
    expect(await terraform.apply()).toContain('0 added, 1 changed, 0 destroyed');
    expect(await live()).toBe(Date.parse('2091-01-31T12:00:00Z'));
    expect((await daemon.call('PUT', path, { expires_at: '2092-01-31T12:00:00Z' })).status).toBe(200);
    expect((await terraform.plan()).output).toContain('2092-01-31T12:00:00Z');
    await terraform.apply();
    expect(await live()).toBe(Date.parse('2091-01-31T12:00:00Z'));
    snapshot('0001-01-01T00:00:00Z');
    await terraform.settle();
    expect((await daemon.get(path)).expires_at).toMatch(/^0001-01-01/);
    snapshot('soon');
    expect(await terraform.fails('plan')).toContain('must be a timestamp');
  });

  test('Another name renames profiles, networks, volumes, their snapshots and aliases, and does not change their users', async () => {
    packImage(terraform.dir, 'image.tar.gz', 'names');
    const all = (n: string): string => `${pool}
resource "gantry_image" "i" {
  source = { type = "file", file = "${terraform.dir}/image.tar.gz" }
}
resource "gantry_image_alias" "a" {
  name   = "base${n}"
  target = gantry_image.i.fingerprint
}
resource "gantry_profile" "p" {
  name    = "web${n}"
  devices = { ${root} }
}
resource "gantry_network" "n" {
  name   = "names${n}"
  config = { "ipv4.address" = "none", "ipv6.address" = "none" }
}
resource "gantry_storage_volume" "v" {
  pool = gantry_storage_pool.p.name
  name = "data${n}"
}
resource "gantry_storage_volume" "copy" {
  pool   = gantry_storage_pool.p.name
  name   = "copy"
  source = { name = gantry_storage_volume.v.name }
}
resource "gantry_volume_snapshot" "s" {
  pool   = gantry_storage_pool.p.name
  volume = gantry_storage_volume.v.name
  name   = "one${n}"
}
resource "gantry_container" "c" {
  name     = "web${n}"
  profiles = [gantry_profile.p.name]
  running  = false
  source   = { type = "image", alias = gantry_image_alias.a.name }
  devices  = { data = { type = "disk", pool = "fast", source = gantry_storage_volume.v.name, path = "/data" } }
}
resource "gantry_container" "copy" {
  name     = "copy"
  profiles = [gantry_profile.p.name]
  running  = false
  source   = { type = "copy", source = gantry_container.c.name }
}
`;
    terraform.write(all('1'));
    await terraform.apply();
    const created = async (name: string): Promise<string> => (await daemon.get(`/1.0/containers/${name}`)).created_at;
    const before = [await created('web1'), await created('copy')];
    terraform.write(all('2'));
    const said = await terraform.apply();
    expect(said).toContain('0 added, 8 changed, 0 destroyed');
    expect(said).toContain('The volume copy stays as it is');
    await terraform.expectNoChanges();
    expect([await created('web2'), await created('copy')]).toEqual(before);
    expect(await daemon.get('/1.0/containers/web2')).toMatchObject({
      profiles: ['web2'],
      devices: { data: { source: 'data2' } },
    });
    expect(await daemon.get('/1.0/storage-pools/fast/volumes/custom/data2/snapshots')).toHaveLength(1);
    await terraform.destroy();
  });

  test('A new name that turns out to be another alias or container is refused at the apply, and the next plan replaces', async () => {
    for (const name of ['one', 'two']) packImage(terraform.dir, `${name}.tar.gz`, name);
    const all = (n: string): string => `${pool}
resource "gantry_image" "one" {
  source = { type = "file", file = "${terraform.dir}/one.tar.gz" }
}
resource "gantry_image" "two" {
  source = { type = "file", file = "${terraform.dir}/two.tar.gz" }
}
resource "gantry_image_alias" "${n}" {
  name   = "base-${n}"
  target = gantry_image.${n}.fingerprint
}
${container('web', `source = { type = "image", alias = gantry_image_alias.${n}.name }`)}
`;
    terraform.write(all('one'));
    await terraform.apply();
    terraform.write(all('two'));
    const said = await terraform.fails('apply', '-auto-approve');
    expect(said).toContain('The container web was not made from base-two');
    const { changes, output } = await terraform.plan();
    expect(changes).toBe(true);
    expect(output).toContain('gantry_container.c must be replaced');
    await terraform.settle();
  });

  test("Profiles that take over each other's former names are renamed by one apply, whichever comes first", async () => {
    const chain = (names: readonly string[]): string =>
      names
        .map((name, at) => `resource "gantry_profile" "p${at}" {\n  name = "${name}"\n  description = "${at}"\n}\n`)
        .join('');
    terraform.write(chain(['a', 'b', 'c', 'd']));
    await terraform.apply();
    terraform.write(chain(['b', 'c', 'd', 'e']));
    await terraform.apply();
    for (const [at, name] of ['b', 'c', 'd', 'e'].entries())
      expect(await daemon.get(`/1.0/profiles/${name}`)).toMatchObject({ description: String(at) });
    await terraform.expectNoChanges();
  });

  const profile = (key: string, name: string): string =>
    `resource "gantry_profile" "${key}" {\n  name = ${name}\n  description = "${key}"\n}\n`;

  test('Names that the plan does not know and that go round are refused by the apply with the same recipe', async () => {
    const two = (input: string, [a, b]: readonly [string, string]): string =>
      `resource "terraform_data" "x" {\n  input = "${input}"\n}\n` +
      profile('a', `substr("${a}\${terraform_data.x.output}", 0, 1)`) +
      profile('b', `substr("${b}\${terraform_data.x.output}", 0, 1)`);
    terraform.write(two('1', ['a', 'b']));
    await terraform.apply();
    terraform.write(two('2', ['b', 'a']));
    const said = await terraform.fails('apply', '-auto-approve');
    expect(said).toContain('The gantry_profile a cannot become b in this apply');
    expect(said).toContain('The gantry_profile b cannot become a in this apply');
  });

  test('A new object gets the name that another one loses in the same apply, by a rename or by its end', async () => {
    terraform.write(profile('a', '"a"'));
    await terraform.apply();
    terraform.write(profile('a', '"b"') + profile('second', '"a"'));
    await terraform.apply();
    terraform.write(profile('third', '"a"'));
    await terraform.apply();
    expect(await daemon.get('/1.0/profiles/a')).toMatchObject({ description: 'third' });
    expect((await daemon.call('GET', '/1.0/profiles/b')).status).toBe(404);
  });

  test('Another name of a pool, which the API cannot rename, replaces the pool', async () => {
    terraform.write(pool);
    await terraform.apply();
    terraform.write(pool.replace('"fast"', '"slow"'));
    expect((await terraform.plan()).output).toContain('gantry_storage_pool.p must be replaced');
  });
});
