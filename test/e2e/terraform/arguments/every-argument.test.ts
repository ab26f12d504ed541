// Every optional argument of every resource with a value of its own, on the simulation: the plan after the apply is empty, a refresh
// rewrites nothing in the state, and an import with the same configuration changes nothing on the server.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { presenceOf } from '../../../../provider/framework/attribute.ts';
import { gantryProvider } from '../../../../provider/gantry.ts';
import { makeClient } from '../../../support/daemons/tls.ts';
import { packImage } from '../../../support/cli/daemon-with-manifests.ts';
import { terraformMissing } from '../../../support/terraform/terraform.ts';
import { useTerraform, type TerraformWorld } from '../../../support/terraform/world.ts';

const missing = terraformMissing('Terraform with every argument');

type Block = Readonly<Record<string, unknown>>;
type Blocks = Readonly<Record<string, Readonly<Record<string, Block>>>>;

/** Arguments that need a cluster. */
const inClusters = ['gantry_cluster_member.', '.member_overrides', 'gantry_storage_volume.target'];
const needsCluster = (name: string): boolean =>
  inClusters.some((each) => name.includes(each)) || /^gantry_(container|volume_snapshot)\.target$/.test(name);

const timeouts = { create: '9m', read: '9m', update: '9m', delete: '9m' };
const outside = { remote: 'here', timeouts };
const inside = { ...outside, project: 'default' };
const later = '2090-01-31T13:00:00+01:00';
const pool = '${gantry_storage_pool.p.name}';
const box = '${gantry_container.c.name}';

const blocks = (dir: string, certificate: string): Blocks => ({
  gantry_project: {
    p: {
      ...outside,
      name: 'team',
      description: 'A team',
      config: { 'features.images': 'no', 'limits.containers': '5', 'user.a': 'b' },
      force_destroy: true,
    },
  },
  gantry_storage_pool: {
    p: {
      ...outside,
      name: 'fast',
      driver: 'dir',
      description: 'A pool',
      config: { 'volume.snapshots.expiry': '3d', 'volume.snapshots.schedule': '@daily', 'user.a': 'b' },
    },
  },
  gantry_network_acl: {
    a: {
      ...inside,
      name: 'wall',
      description: 'A wall',
      config: { 'user.a': 'b' },
      ingress: [
        {
          action: 'allow',
          state: 'logged',
          description: 'web',
          source: '10.0.0.0/8',
          source_port: '1024-65535',
          destination: '10.77.0.9',
          destination_port: '80,443',
          protocol: 'tcp',
        },
      ],
      egress: [{ action: 'reject', protocol: 'icmp4', icmp_type: '8', icmp_code: '0' }],
    },
  },
  gantry_network: {
    n: {
      ...inside,
      name: 'lan0',
      description: 'A network',
      type: 'bridge',
      config: { 'ipv4.address': '10.77.0.1/24', 'ipv4.nat': 'yes', 'ipv6.address': 'none', 'user.a': 'b' },
    },
  },
  gantry_profile: {
    p: {
      ...inside,
      name: 'web',
      description: 'A profile',
      config: { 'limits.memory': '1024MiB', 'user.a': 'b' },
      devices: { root: { type: 'disk', path: '/', pool } },
    },
  },
  gantry_storage_volume: {
    v: {
      ...inside,
      pool,
      name: 'data',
      description: 'A volume',
      config: { 'security.unmapped': 'no', 'snapshots.pattern': 's%d', 'user.a': 'b' },
    },
    copy: {
      ...inside,
      pool,
      name: 'copy',
      source: { name: '${gantry_storage_volume.v.name}', pool, project: 'default' },
    },
  },
  gantry_volume_snapshot: {
    s: {
      ...inside,
      pool,
      volume: '${gantry_storage_volume.v.name}',
      name: 's0',
      description: 'A snapshot',
      expires_at: later,
    },
  },
  gantry_image: {
    i: {
      ...inside,
      source: { type: 'file', file: join(dir, 'image.tar.gz') },
      properties: { os: 'toy' },
      public: true,
      auto_update: true,
      copy_aliases: true,
    },
  },
  gantry_image_alias: {
    a: { ...inside, name: 'base', description: 'An alias', target: '${gantry_image.i.fingerprint}' },
  },
  gantry_container: {
    c: {
      ...inside,
      name: 'box',
      description: 'A container',
      source: { type: 'image', alias: '${gantry_image_alias.a.name}', mode: 'local' },
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
      instance_type: 'c1.5-m1',
      profiles: ['${gantry_profile.p.name}'],
      ephemeral: false,
      config: { 'limits.kernel.nofile': '1024', 'boot.autostart': 'yes', 'user.a': 'b' },
      config_wo: { 'user.secret': 'hush' },
      config_wo_version: 1,
      devices: { none: { type: 'none' } },
      snapshots: { schedule: '@daily', pattern: 'auto%d', expiry: '1w', stopped: true },
      running: true,
      allow_restart: false,
      stop_timeout: 0,
      wait_for: [{ type: 'running', timeout: '9s' }],
      files: { '/etc/a': { content: 'a', mode: '600', uid: 1, gid: 1 }, '/etc/b': { source: join(dir, 'b') } },
      exec: {
        one: {
          command: ['true'],
          environment: { A: 'b' },
          cwd: '/',
          user: 0,
          group: 0,
          on: 'create',
          enabled: true,
          fail_on_error: false,
          record_output: true,
          timeout: '9s',
        },
      },
    },
    ephemeral: { ...inside, name: 'short', ephemeral: true, running: false, profiles: ['${gantry_profile.p.name}'] },
  },
  gantry_container_device: {
    d: { ...inside, container: box, name: 'more', type: 'none', properties: {} },
    p: {
      ...inside,
      container: box,
      name: 'port',
      type: 'proxy',
      properties: { listen: 'tcp:127.0.0.1:18099', connect: 'tcp:127.0.0.1:80' },
    },
  },
  gantry_container_file: {
    content: { ...inside, container: box, path: '/etc/c', type: 'file', content: 'c', mode: '600', uid: 1, gid: 2 },
    source: { ...inside, container: box, path: '/etc/s', source: join(dir, 'b') },
    secret: { ...inside, container: box, path: '/etc/w', content_wo: 'hush', content_wo_version: 1 },
    link: { ...inside, container: box, path: '/etc/l', type: 'symlink', target: '/etc/c' },
    folder: { ...inside, container: box, path: '/etc/d', type: 'directory', mode: '0700', uid: 3 },
  },
  gantry_container_exec: {
    e: {
      ...inside,
      container: box,
      command: ['true'],
      environment: { A: 'b' },
      environment_wo: { B: 'c' },
      environment_wo_version: 1,
      cwd: '/',
      user: 0,
      group: 0,
      triggers: { a: 'b' },
      destroy_command: ['true'],
      fail_on_error: false,
      record_output: true,
      timeout: '9s',
    },
  },
  gantry_snapshot: {
    s: { ...inside, container: box, name: 's0', stateful: false, expires_at: later },
  },
  gantry_certificate: {
    c: { ...outside, name: 'ci', certificate, type: 'client', restricted: true, projects: ['default'] },
  },
  gantry_server_config: {
    s: {
      ...outside,
      config: { 'images.auto_update_interval': '12' },
      trust_password: 'hush-hush',
      trust_password_version: 1,
    },
  },
});

/** Import ids by address, without the place; null: cannot be imported. */
const ids = (state: { readonly image: string; readonly certificate: string }, dir: string) => ({
  'gantry_project.p': 'team',
  'gantry_storage_pool.p': 'fast',
  'gantry_network_acl.a': 'wall',
  'gantry_network.n': 'lan0',
  'gantry_profile.p': 'web',
  'gantry_storage_volume.v': 'fast/data',
  'gantry_storage_volume.copy': 'fast/copy,copy=fast/data',
  'gantry_volume_snapshot.s': 'fast/data/s0',
  'gantry_image.i': `${state.image},file=${join(dir, 'image.tar.gz')}`,
  'gantry_image_alias.a': 'base',
  'gantry_container.c': 'box,image=base',
  'gantry_container.ephemeral': 'short',
  'gantry_container_device.d': 'box/more',
  'gantry_container_device.p': 'box/port',
  'gantry_container_file.content': 'box//etc/c',
  'gantry_container_file.source': 'box//etc/s',
  'gantry_container_file.secret': 'box//etc/w,content_wo_version=1',
  'gantry_container_file.link': 'box//etc/l',
  'gantry_container_file.folder': 'box//etc/d',
  'gantry_snapshot.s': 'box/s0',
  'gantry_certificate.c': state.certificate,
  'gantry_server_config.s': 'images.auto_update_interval',
});

describe.skipIf(missing !== undefined)('every argument', () => {
  let world: TerraformWorld;
  let all: Blocks;
  useTerraform((own) => (world = own));

  beforeEach(async () => {
    const { terraform, daemon } = world;
    packImage(terraform.dir, 'image.tar.gz', 'every');
    writeFileSync(join(terraform.dir, 'b'), 'b');
    all = blocks(terraform.dir, (await makeClient('ci')).certPem);
    const address = `unix://${daemon.socketPath}`;
    terraform.write(`provider "gantry" {
  address = "${address}"
  remotes = { here = { address = "${address}" } }
}
`);
    writeFileSync(join(terraform.dir, 'all.tf.json'), JSON.stringify({ resource: all }, null, 1));
  });

  /** The attributes of all resources in the state. */
  const attributes = (): unknown => {
    const state = readFileSync(join(world.terraform.dir, 'terraform.tfstate'), 'utf8');
    const { resources } = JSON.parse(state) as { resources: { instances: { attributes: object }[] }[] };
    return resources.map(({ instances }) => instances.map((each) => each.attributes));
  };
  /** A refresh rewrites nothing either. */
  const expectSettled = async (): Promise<void> => {
    const { terraform } = world;
    await terraform.expectNoChanges();
    const before = attributes();
    const { changes, output } = await terraform.plan('-refresh-only');
    expect(changes, output).toBe(false);
    await terraform.apply('-refresh-only');
    expect(attributes()).toEqual(before);
  };
  /** What the server has, without what Terraform notes there and without times of use. */
  const live = async (): Promise<object> => {
    const { daemon } = world;
    const paths = [
      'containers',
      'profiles',
      'networks',
      'network-acls',
      'storage-pools',
      'images',
      'certificates',
      'projects',
    ];
    const inPool = ['storage-pools/fast/volumes/custom', 'containers/box/snapshots'];
    const found = await Promise.all([...paths, ...inPool].map((path) => daemon.get(`/1.0/${path}?recursion=1`)));
    return JSON.parse(
      JSON.stringify(found, (key, value: unknown) => (key === 'last_used_at' ? undefined : value)),
    ) as object;
  };

  test('The blocks below have every argument of every resource', () => {
    for (const { typeName, attributes } of gantryProvider({ env: {}, log() {} }).resources) {
      const written = new Set(Object.values(all[typeName] ?? {}).flatMap((block) => Object.keys(block)));
      const left = Object.entries(attributes)
        .filter(([, each]) => presenceOf(each).optional || presenceOf(each).required)
        .map(([name]) => name)
        .filter((name) => !written.has(name) && !needsCluster(`${typeName}.${name}`));
      expect(left, typeName).toEqual([]);
    }
  });

  test('The plan after an apply is empty, an import changes nothing on the server, and then the plan is empty again', async () => {
    const { terraform } = world;
    await terraform.apply();
    await expectSettled();
    const { fingerprint: image } = await terraform.state('gantry_image.i');
    const { fingerprint: certificate } = await terraform.state('gantry_certificate.c');
    const found = Object.entries(ids({ image, certificate }, terraform.dir));
    await terraform.forget(...found.map(([address]) => address));
    const place = (address: string): string => {
      const [type = '', name = ''] = address.split('.');
      return 'project' in (all[type]?.[name] ?? {}) ? ',remote=here,project=default' : ',remote=here';
    };
    const text = found.map(([to, id]) => `import {\n  to = ${to}\n  id = ${JSON.stringify(`${id}${place(to)}`)}\n}\n`);
    writeFileSync(join(terraform.dir, 'imports.tf'), text.join(''));
    const before = await live();
    expect(await terraform.apply()).toContain(`${found.length} imported, 0 added`);
    expect(await live()).toEqual(before);
    await expectSettled();
  });
});
