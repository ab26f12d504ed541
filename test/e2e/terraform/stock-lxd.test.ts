// Terraform on a stock LXD server where it differs from gantryd: modes of files, copies, projects, names.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { found } from '../../support/cluster/form.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { startStockLxd, stockLxdMissing, type StockLxd } from '../../support/hosts/stock-lxd.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { serveHere, Terraform, terraformMissing, type Attached } from '../../support/terraform/terraform.ts';

const missing = terraformMissing('Terraform on a stock LXD server') ?? busyboxMissing() ?? stockLxdMissing();
if (missing !== undefined) console.log(`skipped: Terraform on a stock LXD server, since ${missing}`);

describe.skipIf(missing !== undefined)('Terraform on a stock LXD server', { timeout: 300_000 }, () => {
  let attached: Attached;
  let lxd: StockLxd;
  let terraform: Terraform;
  let base = '';

  beforeAll(async () => {
    attached = await serveHere();
    lxd = await startStockLxd();
    const image = await buildBusyboxImage(tempFolder('gtf-image-'));
    base = `
resource "gantry_storage_pool" "p" {
  name   = "tfpool"
  driver = "dir"
}
resource "gantry_image" "i" {
  source = { type = "file", file = "${image.metadataPath}" }
}
`;
  });
  afterAll(async () => {
    attached?.stop();
    await lxd?.cleanUp();
  });
  beforeEach(() => void (terraform = new Terraform(attached, { address: `unix://${lxd.socketPath}` })));

  const root = 'root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name }';
  const container = (name: string, more = ''): string => `
resource "gantry_container" "${name}" {
  name         = "${name}"
  profiles     = []
  source       = { type = "image", fingerprint = gantry_image.i.fingerprint }
  devices      = { ${root} }
  stop_timeout = 2
  ${more}
}
`;

  test('A file with a changed mode is hidden, and a change that is impossible for a directory is refused', async () => {
    const files = (mode: string, directory = '0755'): string => `${base}${container(
      'a',
      `files = { "/etc/secret" = { content = "hush", mode = "${mode}" } }`,
    )}
resource "gantry_container_file" "f" {
  container = gantry_container.a.name
  path      = "/etc/other"
  content   = "hush"
  mode      = "${mode}"
}
resource "gantry_container_file" "d" {
  container = gantry_container.a.name
  path      = "/srv/data"
  type      = "directory"
  mode      = "${directory}"
}
resource "gantry_container_exec" "modes" {
  container = gantry_container.a.name
  command   = ["sh", "-c", "stat -c %a /etc/secret /etc/other; sleep 1"]
  record_output = true
  triggers  = { mode = gantry_container_file.f.mode }
}
`;
    terraform.write(files('0644'));
    await terraform.settle();
    terraform.write(files('0600'));
    await terraform.settle();
    expect(terraform.state('gantry_container_exec.modes').stdout).toBe('600\n600\n');
    terraform.write(files('0600', '0700'));
    expect(await terraform.fails('apply', '-auto-approve')).toContain('cannot change mode and owner of a directory');
    terraform.write(files('0600'));
    await terraform.expectNoChanges();
    await terraform.destroy();
  });

  test('Config of the server has keys that only LXD has, also with their defaults, and is unset on destroy', async () => {
    const config = (values: string): string => `resource "gantry_server_config" "s" {\n  config = { ${values} }\n}\n`;
    terraform.write(config('"core.shutdown_timeout" = "5", "images.default_architecture" = "x86_64"'));
    await terraform.settle();
    terraform.write(config('"core.shutdown_timeout" = "7"'));
    await terraform.settle();
    expect((await lxd.get('/1.0')).config).toMatchObject({ 'core.shutdown_timeout': '7' });
    await terraform.destroy();
    expect((await lxd.get('/1.0')).config).toEqual({});
  });

  test('A copy has the profiles of its source, a copied snapshot also the config of its container, it is published, and a container from a backup has only the configured values', async () => {
    const all = `${base}
resource "gantry_profile" "x" {
  name    = "disks"
  devices = { ${root} }
}
resource "gantry_container" "a" {
  name     = "a"
  profiles = [gantry_profile.x.name]
  running  = false
  config   = { "user.old" = "1" }
  source   = { type = "image", fingerprint = gantry_image.i.fingerprint }
}
resource "gantry_snapshot" "s" {
  container = gantry_container.a.name
  name      = "before"
}
resource "gantry_container" "whole" {
  name       = "whole"
  running    = false
  source     = { type = "copy", source = gantry_container.a.name }
  # While LXD copies the container, it cannot snapshot it.
  depends_on = [gantry_snapshot.s]
}
resource "gantry_container" "b" {
  name    = "b"
  running = false
  source  = { type = "copy", source = gantry_container.a.name, snapshot = gantry_snapshot.s.name }
}
resource "gantry_image" "of" {
  source     = { type = "snapshot", container = gantry_container.a.name, snapshot = gantry_snapshot.s.name }
  properties = { os = "ours" }
}
`;
    terraform.write(all);
    await terraform.settle();
    const made = await lxd.call('POST', '/1.0/containers/a/backups', { name: 'all' });
    const { operation } = JSON.parse(made.bytes.toString()) as { operation: string };
    await lxd.get(`${operation}/wait`);
    const file = join(terraform.dir, 'a.backup');
    writeFileSync(file, (await lxd.call('GET', '/1.0/containers/a/backups/all/export')).bytes);
    terraform.write(`${all}
resource "gantry_container" "r" {
  name    = "r"
  running = false
  source  = { type = "backup", file = "${file}" }
}
`);
    await terraform.settle();
    for (const name of ['whole', 'b', 'r']) {
      const { config, profiles } = await lxd.get(`/1.0/containers/${name}`);
      expect(profiles).toEqual(['disks']);
      expect(config['user.old']).toBe(name === 'r' ? undefined : '1');
    }
    expect(await lxd.get('/1.0/containers/r/snapshots')).toHaveLength(1);
    await terraform.destroy();
  });

  test('A running container is renamed with its snapshots and files, and so are its volume, profile and image alias', async () => {
    const all = (n: string): string => `${base}
resource "gantry_image_alias" "a" {
  name   = "base${n}"
  target = gantry_image.i.fingerprint
}
resource "gantry_profile" "x" {
  name   = "web${n}"
  config = { "user.x" = "1" }
}
resource "gantry_storage_volume" "v" {
  pool = gantry_storage_pool.p.name
  name = "data${n}"
}
${container('c', '')
  .replace('"c"\n  profiles     = []', `"web${n}"\n  profiles     = [gantry_profile.x.name]`)
  .replace('fingerprint = gantry_image.i.fingerprint', 'alias = gantry_image_alias.a.name')}
resource "gantry_snapshot" "s" {
  container = gantry_container.c.name
  name      = "one${n}"
}
resource "gantry_container_file" "f" {
  container = gantry_container.c.name
  path      = "/etc/motd"
  content   = "hello"
}
`;
    terraform.write(all('1'));
    await terraform.settle();
    const { created_at: created } = await lxd.get('/1.0/containers/web1');
    terraform.write(all('2'));
    expect(await terraform.apply()).toContain('0 added, 6 changed, 0 destroyed');
    await terraform.expectNoChanges();
    expect(await lxd.get('/1.0/containers/web2')).toMatchObject({ created_at: created, status: 'Running' });
    await terraform.destroy();
  });

  test('Separate devices are added to a running container in parallel with its update, and removed again', async () => {
    const devices = (count: number, description: string): string => `${base}
resource "gantry_storage_volume" "v" {
  count = 6
  pool  = gantry_storage_pool.p.name
  name  = "data\${count.index}"
}
${container('a', `description = "${description}"`)}
resource "gantry_container_device" "d" {
  count      = ${count}
  container  = "a"
  name       = "data\${count.index}"
  type       = "disk"
  properties = { pool = "tfpool", source = gantry_storage_volume.v[count.index].name, path = "/srv/data\${count.index}" }
}
`;
    const mounts = (): string => {
      const env = { ...process.env, LXD_DIR: lxd.dir };
      const command = ['exec', 'a', '--', 'grep', '-c', '/srv/data', '/proc/mounts'];
      return spawnSync('lxc', command, { env, encoding: 'utf8' }).stdout.trim();
    };
    terraform.write(devices(0, 'x'));
    await terraform.apply();
    terraform.write(devices(6, 'y'));
    expect(await terraform.apply()).toContain('6 added, 1 changed, 0 destroyed');
    await terraform.expectNoChanges();
    expect(mounts()).toBe('6');
    terraform.write(devices(2, 'z'));
    await terraform.settle();
    const live = await lxd.get('/1.0/containers/a');
    expect(Object.keys(live.devices).toSorted()).toEqual(['data0', 'data1', 'root']);
    expect(live).toMatchObject({ description: 'z', status: 'Running' });
    await terraform.destroy();
  });

  test('Volumes are copied from other projects, and a project is destroyed with its contents', async () => {
    const all = `${base}
resource "gantry_project" "t" {
  name          = "team"
  force_destroy = true
  config        = { "features.images" = "true", "features.profiles" = "true", "features.storage.volumes" = "true" }
}
resource "gantry_storage_volume" "v" {
  pool = gantry_storage_pool.p.name
  name = "data"
}
`;
    terraform.write(all);
    await terraform.apply();
    // Objects of others in the project are deleted with it.
    const made = async (path: string, body: object): Promise<void> => {
      const answer = await lxd.call('POST', `${path}?project=team`, body);
      if (answer.status === 202) await lxd.call('GET', `${String(answer.body.operation)}/wait`);
      else expect([200, 201], answer.bytes.toString()).toContain(answer.status);
    };
    const disk = { root: { type: 'disk', path: '/', pool: 'tfpool' } };
    await made('/1.0/profiles', { name: 'extra' });
    await made('/1.0/containers', { name: 'c', source: { type: 'none' }, profiles: ['default'], devices: disk });
    await made('/1.0/storage-pools/tfpool/volumes/custom', {
      name: 'theirs',
      type: 'custom',
      config: { 'user.x': '1' },
    });
    terraform.write(`${all}
resource "gantry_storage_volume" "copy" {
  pool   = gantry_storage_pool.p.name
  name   = "copy"
  source = { name = "theirs", project = gantry_project.t.name }
}
`);
    await terraform.settle();
    await terraform.destroy();
    expect(await lxd.get('/1.0/projects')).toEqual(['/1.0/projects/default']);
  });

  // Last, since the server stays a cluster.
  test('A pool and a network of a cluster keep what each member has for itself, and other changes of them are taken', async () => {
    await found({
      name: 'one',
      address: `127.0.0.1:${await freePort()}`,
      dir: lxd.dir,
      call: (...sent) => lxd.call(...sent),
    });
    mkdirSync(join(terraform.dir, 'pool'));
    const all = (description: string, card: string): string => `
resource "gantry_storage_pool" "p" {
  name        = "own"
  driver      = "dir"
  description = "${description}"
  config      = { "source" = "${terraform.dir}/pool", "rsync.bwlimit" = "1MiB" }
}
resource "gantry_network" "n" {
  name        = "gttl0"
  description = "${description}"
  config      = { "ipv4.address" = "none", "ipv6.address" = "none", "bridge.external_interfaces" = "${card}" }
}
`;
    const cards = ['gttl1', 'gttl2'];
    const link = (...words: readonly string[]): void => void spawnSync('ip', ['link', ...words]);
    for (const card of cards) link('add', card, 'type', 'dummy');
    try {
      terraform.write(all('first', 'gttl1'));
      await terraform.settle();
      terraform.write(all('second', 'gttl1'));
      expect(await terraform.settle()).toContain('0 added, 2 changed, 0 destroyed');
      terraform.write(all('second', 'gttl2'));
      expect(await terraform.settle()).toContain('0 added, 1 changed, 0 destroyed');
      const own = await lxd.get('/1.0/networks/gttl0?target=one');
      expect(own).toMatchObject({ description: 'second', config: { 'bridge.external_interfaces': 'gttl2' } });
      await terraform.forget('gantry_storage_pool.p', 'gantry_network.n');
      await terraform.import('gantry_storage_pool.p', 'own');
      await terraform.import('gantry_network.n', 'gttl0');
      expect(await terraform.settle()).toContain('0 added, 2 changed, 0 destroyed');
      await terraform.destroy();
    } finally {
      for (const card of cards) link('delete', card);
    }
  });
});
