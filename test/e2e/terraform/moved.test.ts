// `moved` blocks from the providers for LXD and Incus: Terraform turns their states, current and older, into states of this provider, and
// nothing on the server changes. Stubs with only schemas replace those providers.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { movedState } from '../../../provider/moving/other-providers.ts';
import { packImage } from '../../support/cli/daemon-with-manifests.ts';
import { useTerraform, type TerraformWorld } from '../../support/terraform/world.ts';
import { fastPool } from '../../support/terraform/blocks.ts';
import { attachBeside, standIns, stateFile, type Old, type StandIn } from '../../support/terraform/other-providers.ts';
import { terraformMissing } from '../../support/terraform/terraform.ts';

const missing = terraformMissing('moves from other providers');

const instance = (name: string): object => ({
  config: { 'user.by': 'peer' },
  description: '',
  device: [],
  ephemeral: false,
  execs: null,
  file: [],
  image: 'base',
  interfaces: {},
  ipv4_address: null,
  ipv6_address: null,
  limits: { memory: '128MiB' },
  location: 'none',
  mac_address: null,
  name,
  profiles: ['web'],
  project: 'default',
  remote: null,
  running: true,
  source_instance: null,
  status: 'Running',
  target: null,
  timeouts: null,
  type: 'container',
  wait_for: null,
});

describe.skipIf(missing !== undefined)('a moved block', () => {
  let world: TerraformWorld;
  let others: readonly StandIn[] = [];
  useTerraform((own) => (world = own));
  beforeAll(async () => {
    others = await standIns();
  });
  afterAll(() => {
    for (const other of others) other.stop();
  });

  const stack = `
${fastPool}resource "gantry_network" "n" {
  name   = "lan0"
  config = { "ipv4.address" = "10.44.0.1/24", "ipv6.address" = "none" }
}
resource "gantry_profile" "p" {
  name    = "web"
  devices = { root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name } }
}
resource "gantry_image" "i" {
  source = { type = "file", file = "\${path.module}/image.tar.gz" }
}
resource "gantry_image_alias" "a" {
  name   = "base"
  target = gantry_image.i.fingerprint
}
resource "gantry_storage_volume" "v" {
  pool = gantry_storage_pool.p.name
  name = "data"
}
resource "gantry_container" "c" {
  name     = "box"
  source   = { type = "image", alias = gantry_image_alias.a.name }
  profiles = [gantry_profile.p.name]
  config   = { "limits.memory" = "128MiB", "user.by" = "peer" }
}
resource "gantry_snapshot" "s" {
  container = gantry_container.c.name
  name      = "s0"
}
`;

  test.each([
    [
      'terraform-lxd/lxd',
      {
        pool: 'lxd_storage_pool',
        network: 'lxd_network',
        profile: 'lxd_profile',
        volume: 'lxd_volume',
        box: 'lxd_instance',
        snapshot: 'lxd_snapshot',
        image: 'lxd_cached_image',
        holder: 'instance',
      },
    ],
    [
      'lxc/incus',
      {
        pool: 'incus_storage_pool',
        network: 'incus_network',
        profile: 'incus_profile',
        volume: 'incus_storage_volume',
        box: 'incus_instance',
        snapshot: 'incus_instance_snapshot',
        image: 'incus_image',
        holder: 'instance',
      },
    ],
  ] as const)('A moved block from %s moves %o and changes nothing on the server', async (provider, names) => {
    const { terraform, daemon } = world;
    packImage(terraform.dir, 'image.tar.gz', 'one');
    const path = join(terraform.dir, 'image.tar.gz');
    const own = stack.replace('${path.module}/image.tar.gz', path);
    terraform.write(own);
    await terraform.apply();
    const created = (await daemon.get('/1.0/containers/box')).created_at as string;
    const { fingerprint } = terraform.state('gantry_image.i');
    await terraform.forget(
      'gantry_storage_pool.p',
      'gantry_network.n',
      'gantry_profile.p',
      'gantry_image.i',
      'gantry_image_alias.a',
      'gantry_storage_volume.v',
      'gantry_container.c',
      'gantry_snapshot.s',
    );
    const where = { project: 'default', remote: null, target: null };
    const device = [{ name: 'root', type: 'disk', properties: { path: '/', pool: 'fast' } }];
    const olds: readonly Old[] = [
      {
        type: names.pool,
        name: 'p',
        attributes: { ...where, name: 'fast', driver: 'dir', config: {}, description: '' },
      },
      {
        type: names.network,
        name: 'n',
        attributes: {
          ...where,
          name: 'lan0',
          type: 'bridge',
          managed: true,
          description: '',
          config: { 'ipv4.address': '10.44.0.1/24' },
        },
      },
      { type: names.profile, name: 'p', attributes: { ...where, name: 'web', description: '', config: {}, device } },
      {
        type: names.volume,
        name: 'v',
        attributes: {
          ...where,
          pool: 'fast',
          name: 'data',
          type: 'custom',
          content_type: 'filesystem',
          config: {},
          location: 'none',
          expanded_config: {},
        },
      },
      { type: names.box, name: 'c', version: 1, attributes: { id: 'box', ...instance('box') } },
      {
        type: names.snapshot,
        name: 's',
        attributes: { ...where, [names.holder]: 'box', name: 's0', stateful: false, creation_date: 1700000000 },
      },
      {
        type: names.image,
        name: 'i',
        attributes: {
          ...where,
          resource_id: `:${String(fingerprint)}`,
          fingerprint,
          aliases: ['base'],
          copied_aliases: [],
          source_image: 'base',
          source_remote: 'images',
        },
      },
    ];
    writeFileSync(join(terraform.dir, 'terraform.tfstate'), stateFile(provider, olds));
    attachBeside(terraform, others);
    const to: Readonly<Record<string, string>> = {
      [`${names.pool}.p`]: 'gantry_storage_pool.p',
      [`${names.network}.n`]: 'gantry_network.n',
      [`${names.profile}.p`]: 'gantry_profile.p',
      [`${names.volume}.v`]: 'gantry_storage_volume.v',
      [`${names.box}.c`]: 'gantry_container.c',
      [`${names.snapshot}.s`]: 'gantry_snapshot.s',
      [`${names.image}.i`]: 'gantry_image.i',
    };
    const blocks = Object.entries(to).map(([from, target]) => `moved {\n  from = ${from}\n  to   = ${target}\n}\n`);
    const alias = 'import {\n  to = gantry_image_alias.a\n  id = "base"\n}\n';
    terraform.write(`${own}${blocks.join('')}${alias}`);
    const { output } = await terraform.plan();
    for (const [from, target] of Object.entries(to)) {
      const isSaid = output.includes(`${from} has moved to ${target}`) || output.includes(`(moved from ${from})`);
      expect(isSaid, `${from}\n${output}`).toBe(true);
    }
    expect(output).not.toMatch(/must be replaced|will be created|will be destroyed/);
    // The state gets values that only configurations know: the sources of the image and the container.
    expect(await terraform.apply()).toContain('0 added, 2 changed, 0 destroyed');
    await terraform.expectNoChanges();
    expect((await daemon.get('/1.0/containers/box')).created_at).toBe(created);
    expect(terraform.state('gantry_container.c')).toMatchObject({
      name: 'box',
      project: 'default',
      status: 'Running',
    });
    // The old provider is no longer needed.
    terraform.env['TF_REATTACH_PROVIDERS'] = world.attached.env['TF_REATTACH_PROVIDERS'] ?? '';
    terraform.write(own);
    await terraform.expectNoChanges();
  });

  test('A moved object of the project default stays there under a provider block with another project', async () => {
    const { terraform, daemon } = world;
    for (const [project, description] of [
      ['default', 'first'],
      ['team', 'other'],
    ] as const) {
      if (project !== 'default') await daemon.call('POST', '/1.0/projects', { name: project });
      await daemon.call('POST', `/1.0/profiles?project=${project}`, { name: 'web', description });
    }
    attachBeside(terraform, others);
    const moved = (state: object, name: string, more: string): void => {
      const attributes = { name, remote: null, ...state };
      const old = stateFile('terraform-lxd/lxd', [{ type: 'lxd_profile', name: 'p', attributes }]);
      writeFileSync(join(terraform.dir, 'terraform.tfstate'), old);
      terraform.write(`provider "gantry" {
  address = "unix://${daemon.socketPath}"
  project = "team"
}
resource "gantry_profile" "p" {
  name        = "${name}"
  description = "first"
  ${more}
}
moved {
  from = lxd_profile.p
  to   = gantry_profile.p
}
`);
    };
    moved({ project: 'default' }, 'web', '');
    expect(await terraform.fails('plan')).toContain('write project = "default" in its block');
    // A run that only refreshes takes the object over without a look at its block.
    await terraform.apply('-refresh-only');
    expect(await terraform.fails('plan')).toContain('write project = "default" in its block');
    moved({ project: null }, 'gone', '');
    expect(await terraform.fails('plan')).toContain('The moved gantry_profile gone was not found');
    moved({ project: 'default' }, 'web', 'project = "default"');
    expect((await terraform.plan()).output).not.toMatch(/must be replaced|will be (?:created|updated|destroyed)/);
    await terraform.settle();
    expect(terraform.state('gantry_profile.p')).toMatchObject({ project: 'default', description: 'first' });
    expect(await daemon.get('/1.0/profiles/web?project=team')).toMatchObject({ description: 'other' });
    const { changes, output } = await terraform.plan('-refresh-only');
    expect(changes, output).toBe(false);
  });
});

test('A state of another provider gives the remote and project of the object, and is refused without an identity', () => {
  const from = (
    type: string,
    target: string,
    state: Record<string, string>,
    provider = 'registry.opentofu.org/lxc/incus',
  ) => movedState({ provider, type, version: 0, target, state });
  expect(from('incus_instance', 'gantry_container', { name: 'a', remote: 'west', project: 'team' })).toEqual({
    name: 'a',
    remote: 'west',
    project: 'team',
  });
  expect(from('incus_storage_pool', 'gantry_storage_pool', { name: 'p', remote: 'local', project: 'team' })).toEqual({
    name: 'p',
  });
  expect(from('lxd_container_file', 'gantry_container_file', { container_name: 'a', target_file: '/b' })).toEqual({
    container: 'a',
    path: '/b',
  });
  expect(from('lxd_instance', 'gantry_container', { name: 'a', project: 'default' })).toEqual({
    name: 'a',
    project: 'default',
  });
  expect(from('lxd_container', 'gantry_container', { name: 'a' })).toEqual({ name: 'a' });
  expect(from('lxd_snapshot', 'gantry_snapshot', { container_name: 'a', name: 's' })).toEqual({
    container: 'a',
    name: 's',
  });
  for (const type of ['lxd_network_acl', 'incus_network_acl'])
    expect(from(type, 'gantry_network_acl', { name: 'wall' })).toEqual({ name: 'wall' });
  const saying = (detail: string) =>
    expect.objectContaining({ diagnostics: [expect.objectContaining({ detail: expect.stringContaining(detail) })] });
  for (const [refused, detail] of [
    [() => from('incus_image', 'gantry_image', { aliases: 'x' }), 'Its state does not say fingerprint'],
    [
      () => from('incus_instance', 'gantry_container', { name: 'a' }, 'registry.terraform.io/x/other'),
      'cannot be moved. These types of the providers lxd and incus can be moved: instance, container,',
    ],
    [
      () => from('lxd_volume', 'gantry_storage_volume', { pool: 'p', name: 'v', type: 'container' }),
      '"v" is a volume of type "container"',
    ],
    [() => from('lxd_instance', 'gantry_profile', { name: 'a' }), 'A lxd_instance becomes a gantry_container'],
    [
      () => from('lxd_instance', 'gantry_container', { name: 'a', type: 'virtual-machine' }),
      '"a" is a virtual machine',
    ],
  ] as const)
    expect(refused).toThrow(saying(detail));
});
