// One block with every argument of every resource, each with a value of its own, and the ids that import them.
import { join } from 'node:path';

type Block = Readonly<Record<string, unknown>>;
export type Blocks = Readonly<Record<string, Readonly<Record<string, Block>>>>;

/** Arguments that need a cluster. */
const inClusters = ['gantry_cluster_member.', '.member_overrides', 'gantry_storage_volume.target'];
export const needsCluster = (name: string): boolean =>
  inClusters.some((each) => name.includes(each)) || /^gantry_(container|volume_snapshot)\.target$/.test(name);

const timeouts = { create: '9m', read: '9m', update: '9m', delete: '9m' };
const outside = { remote: 'here', timeouts };
const inside = { ...outside, project: 'default' };
const later = '2090-01-31T13:00:00+01:00';
const pool = '${gantry_storage_pool.p.name}';
const box = '${gantry_container.c.name}';

interface Differing {
  /** The path of an image. */
  readonly image: string;
  /** The name of a bridge on this host, and the first three numbers of its addresses. */
  readonly bridge: string;
  readonly subnet: string;
  /** An instance type that the server knows without asking another one. */
  readonly instanceType?: string;
}

/** `dir` has a file `b`. */
export const everyBlock = (
  dir: string,
  certificate: string,
  { image, bridge, subnet, instanceType }: Differing,
): Blocks => ({
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
          destination: `${subnet}.9`,
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
      name: bridge,
      description: 'A network',
      type: 'bridge',
      config: { 'ipv4.address': `${subnet}.1/24`, 'ipv4.nat': 'yes', 'ipv6.address': 'none', 'user.a': 'b' },
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
      source: { type: 'file', file: image },
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
      ...(instanceType === undefined ? {} : { instance_type: instanceType }),
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
export const importIds = (
  state: { readonly image: string; readonly certificate: string; readonly bridge: string },
  image: string,
) => ({
  'gantry_project.p': 'team',
  'gantry_storage_pool.p': 'fast',
  'gantry_network_acl.a': 'wall',
  'gantry_network.n': state.bridge,
  'gantry_profile.p': 'web',
  'gantry_storage_volume.v': 'fast/data',
  'gantry_storage_volume.copy': 'fast/copy,copy=fast/data',
  'gantry_volume_snapshot.s': 'fast/data/s0',
  'gantry_image.i': `${state.image},file=${image}`,
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
