// Terraform over a cluster of three stock LXD servers: objects of all members and of single ones, a move, a group as target, imports.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostsMissing } from '../../../support/cluster/hosts.ts';
import { startStockCluster, type StockCluster } from '../../../support/cluster/stock-cluster.ts';
import { stockLxdMissing } from '../../../support/hosts/stock-lxd.ts';
import { busyboxMissing } from '../../../support/images/busybox-rootfs.ts';
import { buildBusyboxImage } from '../../../support/images/busybox.ts';
import { serveHere, Terraform, terraformMissing, type Attached } from '../../../support/terraform/terraform.ts';

const missing =
  terraformMissing('Terraform over a cluster of LXD') ?? busyboxMissing() ?? stockLxdMissing() ?? hostsMissing();
if (missing !== undefined) console.log(`skipped: Terraform over a cluster of LXD, since ${missing}`);

const pool = 'pool = gantry_storage_pool.p.name';
const box = 'container = gantry_container.c.name';

/** `text`: in each place that may change. */
const stack = (folder: string, image: string, target: string, text: string): string => `
resource "gantry_storage_pool" "p" {
  name             = "fast"
  driver           = "dir"
  description      = "${text}"
  member_overrides = { lxd2 = { config = { source = "${folder}" } } }
}
resource "gantry_network" "n" {
  name        = "gtsp0"
  description = "${text}"
  config      = { "ipv4.address" = "10.188.0.1/24", "ipv6.address" = "none" }
}
resource "gantry_profile" "p" {
  name        = "web"
  description = "${text}"
  devices = {
    root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name }
    eth0 = { type = "nic", network = gantry_network.n.name }
  }
}
resource "gantry_image" "i" {
  source = { type = "file", file = "${image}" }
}
resource "gantry_storage_volume" "one" {
  name        = "data"
  target      = "lxd1"
  description = "${text}"
  ${pool}
}
resource "gantry_storage_volume" "two" {
  name        = "data"
  target      = "lxd2"
  description = "${text} too"
  ${pool}
}
resource "gantry_volume_snapshot" "s" {
  name        = "s0"
  volume      = gantry_storage_volume.two.name
  target      = gantry_storage_volume.two.location
  description = "${text}"
  ${pool}
}
resource "gantry_storage_volume" "copy" {
  name   = "copy"
  target = "lxd2"
  source = { name = gantry_storage_volume.two.name }
  ${pool}
}
resource "gantry_container" "c" {
  name         = "web"
  profiles     = [gantry_profile.p.name]
  source       = { type = "image", fingerprint = gantry_image.i.fingerprint }
  target       = "${target}"
  description  = "${text}"
  stop_timeout = 1
  files        = { "/etc/a" = { content = "${text}" } }
}
resource "gantry_snapshot" "s" {
  name = "s0"
  ${box}
}
`;

const ids = {
  'gantry_storage_pool.p': 'fast',
  'gantry_network.n': 'gtsp0',
  'gantry_profile.p': 'web',
  'gantry_storage_volume.one': 'fast/data,target=lxd1',
  'gantry_storage_volume.two': 'fast/data,target=lxd2',
  'gantry_storage_volume.copy': 'fast/copy,copy=data,target=lxd2',
  'gantry_volume_snapshot.s': 'fast/data/s0,target=lxd2',
  'gantry_container.c': 'web',
  'gantry_snapshot.s': 'web/s0',
};

describe.skipIf(missing !== undefined)('Terraform over a cluster of LXD', { timeout: 300_000 }, () => {
  let attached: Attached;
  let cluster: StockCluster;

  beforeAll(async () => {
    attached = await serveHere();
    cluster = await startStockCluster({ ownHosts: true });
  }, 240_000);
  afterAll(async () => {
    attached?.stop();
    await cluster?.remove();
  });

  test('The plan is empty after a creation, a change, a move, another target for the same place, and an import', async () => {
    const [one] = cluster.members;
    const terraform = new Terraform(attached, { address: `unix://${one?.socketPath ?? ''}` });
    const { metadataPath } = await buildBusyboxImage(join(terraform.dir, 'image'));
    const folder = join(terraform.dir, 'pool2');
    mkdirSync(folder);
    const all = (target: string, text: string): string => stack(folder, metadataPath, target, text);
    const settled = async (hcl: string): Promise<string> => {
      terraform.write(hcl);
      return /Resources: .*/.exec(await terraform.settle())?.[0] ?? '';
    };
    expect(await settled(all('lxd2', 'first'))).toBe('Resources: 10 added, 0 changed, 0 destroyed.');
    expect(await settled(all('lxd2', 'second'))).toBe('Resources: 0 added, 7 changed, 0 destroyed.');
    expect(await settled(all('lxd3', 'second'))).toBe('Resources: 0 added, 1 changed, 0 destroyed.');
    expect(await one?.get('/1.0/containers/web')).toMatchObject({ location: 'lxd3', status: 'Running' });
    expect(await settled(all('@default', 'second'))).toBe('Resources: 0 added, 1 changed, 0 destroyed.');
    await terraform.forget(...Object.keys(ids));
    const blocks = Object.entries(ids).map(([to, id]) => `import {\n  to = ${to}\n  id = "${id}"\n}\n`);
    const imported = await settled(all('@default', 'second') + blocks.join(''));
    expect(imported).toBe('Resources: 9 imported, 0 added, 2 changed, 0 destroyed.');
    expect(await one?.get('/1.0/containers/web')).toMatchObject({ location: 'lxd3', status: 'Running' });
    await terraform.destroy();
  });
});
