// Generated documents and live worlds for tests and benchmarks: builders with sensible defaults, and whole hosts of a size.
import type { Certificate } from '../../../server/api/server/certificate.ts';
import type { Project } from '../../../server/api/project/project.ts';
import type { Container } from '../../../server/api/container/container.ts';
import type { Image, ImageAlias } from '../../../server/api/image/image.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import type { NetworkAcl } from '../../../server/api/network/network-acl.ts';
import type { Network } from '../../../server/api/network/network.ts';
import type { StoragePool } from '../../../server/api/storage/pool.ts';
import type { Profile } from '../../../server/api/container/profile.ts';
import {
  addressOf,
  defaultManage,
  type Document,
  type JsonObject,
} from '../../../reconciler/core/documents/document.ts';
import type { Live, Observed, PooledVolume } from '../../../reconciler/core/documents/observed.ts';

type Extra = Partial<Omit<Document, 'manage' | 'values'>> & { readonly manage?: Partial<Document['manage']> };

export function document(kind: KindName, name: string, values: JsonObject = {}, extra: Extra = {}): Document {
  return {
    kind,
    name,
    address: addressOf(kind, name),
    location: { file: 'test.yaml', line: 1, column: 1 },
    values,
    ...extra,
    manage: { ...defaultManage, ...extra.manage },
  };
}

export const imageDocument = (
  name: string,
  fingerprint: string,
  values: JsonObject = {},
  extra: Extra = {},
): Document =>
  document('image', name, values, {
    files: { parts: { file: `/images/${name}.tar` }, fingerprint, sizeBytes: 1 },
    ...extra,
  });

export const fingerprintOf = (seed: string): string =>
  Array.from(seed, (character) => character.charCodeAt(0).toString(16).padStart(2, '0'))
    .join('')
    .padEnd(64, '0')
    .slice(0, 64);

export const liveContainer = (name: string, part: Partial<Container> = {}): Container => ({
  name,
  architecture: 'x86_64',
  profiles: ['default'],
  ephemeral: false,
  config: {},
  devices: {},
  expanded_config: {},
  expanded_devices: {},
  created_at: '2026-01-01T00:00:00Z',
  last_used_at: '1970-01-01T00:00:00Z',
  stateful: false,
  status: 'Running',
  status_code: 103,
  description: '',
  location: 'none',
  ...part,
});

export const liveProfile = (name: string, part: Partial<Profile> = {}): Profile => ({
  name,
  description: '',
  config: {},
  // As on every server after its setup.
  devices: name === 'default' ? { root: { type: 'disk', path: '/', pool: 'fast' } } : {},
  used_by: [],
  ...part,
});

export const liveNetwork = (name: string, part: Partial<Network> = {}): Network => ({
  name,
  description: '',
  type: 'bridge',
  config: { 'ipv4.address': '10.0.0.1/24', 'ipv4.nat': 'true', 'ipv6.address': 'none' },
  managed: true,
  status: 'Created',
  locations: ['none'],
  used_by: [],
  ...part,
});

export const liveAcl = (name: string, part: Partial<NetworkAcl> = {}): NetworkAcl => ({
  name,
  description: '',
  ingress: [],
  egress: [],
  config: {},
  used_by: [],
  ...part,
});

export const livePool = (name: string, part: Partial<StoragePool> = {}): StoragePool => ({
  name,
  description: '',
  driver: 'dir',
  config: { source: `/var/pools/${name}`, 'volatile.initial_source': '/dev/sdb' },
  status: 'Created',
  locations: ['none'],
  used_by: [],
  ...part,
});

export const liveImage = (fingerprint: string, part: Partial<Image> = {}): Image => ({
  fingerprint,
  aliases: [],
  architecture: 'x86_64',
  auto_update: false,
  cached: false,
  filename: 'image.tar',
  properties: { os: 'busybox' },
  public: false,
  size: 1,
  created_at: '2026-01-01T00:00:00Z',
  expires_at: '1970-01-01T00:00:00Z',
  last_used_at: '0001-01-01T00:00:00Z',
  uploaded_at: '2026-01-01T00:00:00Z',
  ...part,
});

export const liveAlias = (name: string, target: string, description = ''): ImageAlias => ({
  name,
  target,
  description,
});

export const liveVolume = (name: string, part: Partial<PooledVolume> = {}): PooledVolume => ({
  name: name.slice(name.indexOf('/') + 1),
  pool: name.slice(0, name.indexOf('/')),
  type: 'custom',
  description: '',
  config: {},
  location: 'none',
  used_by: [],
  ...part,
});

export const liveCertificate = (fingerprint: string, part: Partial<Certificate> = {}): Certificate => ({
  name: '',
  type: 'client',
  certificate: '',
  fingerprint,
  ...part,
});

export const liveProject = (name: string, part: Partial<Project> = {}): Project => ({
  name,
  description: '',
  config: { 'features.images': 'true', 'features.profiles': 'true', 'features.storage.volumes': 'true' },
  used_by: [],
  ...part,
});

interface Parts {
  readonly containers?: readonly Container[];
  readonly profiles?: readonly Profile[];
  /** The server supports them if there are any. */
  readonly acls?: readonly NetworkAcl[];
  readonly networks?: readonly Network[];
  readonly pools?: readonly StoragePool[];
  readonly images?: readonly Image[];
  readonly aliases?: readonly ImageAlias[];
  readonly volumes?: readonly PooledVolume[];
  readonly certificates?: readonly Certificate[];
  /** The server supports projects if there are any. */
  readonly projects?: readonly Project[];
}

/** A world of these objects; containers get their expanded parts from the profiles given. */
export function world(parts: Parts = {}): Observed {
  const profiles = byName(parts.profiles ?? []);
  const images = parts.images ?? [];
  return {
    server: {
      extensions: [
        ...(parts.projects === undefined ? [] : ['projects']),
        ...(parts.acls === undefined ? [] : ['network_acl', 'network_bridge_acl']),
      ],
    },
    containers: byName((parts.containers ?? []).map((container) => expanded(container, profiles))),
    profiles,
    acls: byName(parts.acls ?? []),
    networks: byName(parts.networks ?? []),
    pools: byName(parts.pools ?? []),
    images: new Map(images.map((image) => [image.fingerprint, { object: image }])),
    aliases: byName(parts.aliases ?? []),
    volumes: new Map((parts.volumes ?? []).map((volume) => [`${volume.pool}/${volume.name}`, { object: volume }])),
    certificates: new Map((parts.certificates ?? []).map((object) => [object.fingerprint, { object }])),
    projects: byName(parts.projects ?? []),
  };
}

const byName = <T extends { readonly name: string }>(objects: readonly T[]): ReadonlyMap<string, Live<T>> =>
  new Map(objects.map((object) => [object.name, { object }]));

export function expanded(container: Container, profiles: ReadonlyMap<string, Live<Profile>>): Container {
  const layers = [...container.profiles.map((name) => profiles.get(name)?.object), container];
  return {
    ...container,
    expanded_config: Object.assign({}, ...layers.map((layer) => layer?.config ?? {})),
    expanded_devices: Object.assign({}, ...layers.map((layer) => layer?.devices ?? {})),
  };
}

/** `count` documents that equal the world: 1 pool, a network and a profile for each hundred, the rest containers. For benchmarks. */
export function unchangedWorld(count: number): {
  readonly documents: readonly Document[];
  readonly observed: Observed;
} {
  const groups = Math.max(1, Math.floor(count / 100));
  const documents: Document[] = [document('storage_pool', 'fast', { driver: 'dir' })];
  const networks: Network[] = [];
  const profiles: Profile[] = [liveProfile('default')];
  const containers: Container[] = [];
  for (let group = 0; group < groups; group += 1) {
    const [net, profile] = [`net${group}`, `group${group}`];
    const devices = {
      root: { type: 'disk', path: '/', pool: 'fast' },
      eth0: { type: 'nic', nictype: 'bridged', parent: net },
    };
    const subnet = `10.${group % 256}.${Math.floor(group / 256)}.1/24`;
    networks.push(liveNetwork(net, { config: { 'ipv4.address': subnet, 'ipv4.nat': 'true', 'ipv6.address': 'none' } }));
    profiles.push(liveProfile(profile, { config: { 'limits.memory': '512MiB' }, devices }));
    documents.push(document('network', net, { type: 'bridge', config: { 'ipv4.address': subnet, 'ipv4.nat': 'yes' } }));
    documents.push(document('profile', profile, { config: { 'limits.memory': '536870912' }, devices }));
  }
  for (let index = documents.length; index < count; index += 1) {
    const name = `c${index}`;
    const group = `group${index % groups}`;
    const config = { 'limits.cpu': '2', 'user.role': 'web', 'environment.PORT': String(index) };
    containers.push(
      liveContainer(name, {
        profiles: ['default', group],
        config: {
          ...config,
          'volatile.base_image': fingerprintOf('base'),
          'image.os': 'busybox',
          'user.note': 'by hand',
        },
      }),
    );
    documents.push(
      document('container', name, { profiles: ['default', group], config, source: { type: 'image', alias: 'base' } }),
    );
  }
  const images = [liveImage(fingerprintOf('base'))];
  const aliases = [liveAlias('base', fingerprintOf('base'))];
  return { documents, observed: world({ containers, profiles, networks, pools: [livePool('fast')], images, aliases }) };
}
