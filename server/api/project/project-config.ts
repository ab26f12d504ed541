// The config keys of projects, as in LXD: what each accepts and its default. Pure.
import { architectureRule } from '../image/architectures.ts';
import { unknownName, type Problem } from '../problem.ts';
import { idListRule } from './host-ids.ts';
import { parseCidr } from '../text/ip.ts';
import * as is from '../text/value-checks.ts';
import type { Check } from '../text/value-checks.ts';

export interface ProjectConfigKey {
  readonly type: 'text' | 'bool' | 'integer' | 'size';
  readonly doc: string;
  readonly check: Check;
  /** The config of a new project. */
  readonly default?: string;
}

const feature = (doc: string, otherwise: 'true' | 'false'): ProjectConfigKey => ({
  type: 'bool',
  doc: `${doc} Changed only while the project is empty.`,
  check: is.bool,
  default: otherwise,
});
const count = (what: string): ProjectConfigKey => ({
  type: 'integer',
  doc: `Maximum number of ${what} in the project.`,
  check: is.paddedInteger(0),
});
const size = (doc: string): ProjectConfigKey => ({ type: 'size', doc, check: is.size });
const text = (doc: string): ProjectConfigKey => ({ type: 'text', doc, check: is.any });
const words = (doc: string, ...allowed: readonly string[]): ProjectConfigKey => ({
  type: 'text',
  doc,
  check: is.oneOf(...allowed),
  default: allowed[0] ?? '',
});
const barred = (what: string): ProjectConfigKey =>
  words(`In a restricted project: whether ${what} may be used.`, 'block', 'allow');
const device = (what: string): ProjectConfigKey => ({
  ...words(`In a restricted project: which ${what} devices may be used.`, 'block', 'allow', 'managed'),
  default: 'managed',
});

const subnetOfUplink: Check = (value) =>
  parseCidr(value.slice(value.indexOf(':') + 1)) !== undefined && value.indexOf(':') > 0
    ? undefined
    : 'must be an uplink and a subnet of it, such as UPLINK:10.1.0.0/16';

export const projectConfigKeys = {
  'backups.compression_algorithm': text('Program that packs backups of the project.'),
  'features.images': feature(
    'Whether the project has its own images and aliases; else it uses those of the project default.',
    'true',
  ),
  'features.networks': feature(
    'Whether the project has its own networks; else it uses those of the project default.',
    'false',
  ),
  'features.networks.zones': feature('Whether the project has its own DNS zones.', 'false'),
  'features.profiles': feature(
    'Whether the project has its own profiles; else it uses those of the project default.',
    'true',
  ),
  'features.storage.buckets': feature('Whether the project has its own buckets.', 'true'),
  'features.storage.volumes': feature(
    'Whether the project has its own volumes; else it uses those of the project default.',
    'true',
  ),
  'images.auto_update_cached': { type: 'bool', doc: 'Whether cached images are kept up to date.', check: is.bool },
  'images.auto_update_interval': {
    type: 'integer',
    doc: 'Hours between updates of images.',
    check: is.paddedInteger(0),
  },
  'images.compression_algorithm': text('Program that packs new images.'),
  'images.default_architecture': {
    type: 'text',
    doc: 'Architecture of the cluster members that take new containers, where any of them can.',
    check: architectureRule,
  },
  'images.remote_cache_expiry': {
    type: 'integer',
    doc: 'Days after which unused cached images are deleted.',
    check: is.paddedInteger(0),
  },
  'limits.containers': count('containers'),
  'limits.cpu': {
    ...count('processors of all containers together'),
    doc: 'Maximum number of processors of all containers together; each needs limits.cpu, as a number, then.',
  },
  'limits.disk': size(
    'Maximum size of root disks, custom volumes, images, backups and what snapshots hold, together; each disk and volume needs a size then.',
  ),
  'limits.instances': count('containers and virtual machines'),
  'limits.memory': size('Maximum memory of all containers together; each needs limits.memory, as a size, then.'),
  'limits.networks': {
    ...count('networks'),
    doc: 'Maximum number of networks in the project. Networks belong to default: no effect on other projects.',
  },
  'limits.operations': {
    ...count('operations that are under way at once'),
    doc: 'Number of operations under way in the project from which on further commands in its containers are refused. Unset: 200 in a restricted project, else none.',
  },
  'limits.processes': {
    ...count('processes of all containers together'),
    doc: 'Maximum number of processes of all containers together; each needs limits.processes then.',
  },
  'limits.virtual-machines': {
    ...count('virtual machines'),
    doc: 'Maximum number of virtual machines. No effect here: there are none.',
  },
  restricted: { type: 'bool', doc: 'Whether the restricted.* keys apply.', check: is.bool, default: 'false' },
  'restricted.backups': barred('backups'),
  'restricted.cluster.groups': text(
    'Groups of cluster members that may be targets. No effect here: every project may use all members.',
  ),
  'restricted.cluster.target': {
    ...barred('targets in a cluster'),
    doc: 'Whether requests may name a cluster member. No effect here: every project may use all members.',
  },
  'restricted.containers.interception': words(
    'In a restricted project: whether interception of system calls may be used; full counts as allow.',
    'block',
    'allow',
    'full',
  ),
  'restricted.containers.lowlevel': barred('low level config such as raw.lxc'),
  'restricted.containers.nesting': barred('nesting'),
  'restricted.containers.privilege': words(
    'In a restricted project: which privileges containers may have.',
    'unprivileged',
    'isolated',
    'allow',
  ),
  'restricted.devices.disk': device('disk'),
  'restricted.devices.disk.paths': {
    ...text(
      'In a restricted project: paths of the host that disks may show, comma separated. Unset: all, where disks are allowed.',
    ),
    check: is.listOf(is.absolutePath),
  },
  'restricted.devices.gpu': barred('gpu devices'),
  'restricted.devices.infiniband': barred('infiniband devices'),
  'restricted.devices.nic': device('nic'),
  'restricted.devices.pci': {
    ...barred('pci devices'),
    doc: 'Whether pci devices may be used. No effect here: there are none.',
  },
  'restricted.devices.proxy': barred('proxy devices'),
  'restricted.devices.unix-block': barred('unix-block devices'),
  'restricted.devices.unix-char': barred('unix-char devices'),
  'restricted.devices.unix-hotplug': {
    ...barred('unix-hotplug devices'),
    doc: 'Whether unix-hotplug devices may be used. No effect here: there are none.',
  },
  'restricted.devices.usb': barred('usb devices'),
  'restricted.idmap.gid': {
    ...text('In a restricted project: group ids of the host that raw.idmap may map: 1000,2000-2999.'),
    check: idListRule,
  },
  'restricted.idmap.uid': {
    ...text('In a restricted project: user ids of the host that raw.idmap may map: 1000,2000-2999.'),
    check: idListRule,
  },
  'restricted.networks.access': text('In a restricted project: networks that may be used, comma separated.'),
  'restricted.networks.spoofing': {
    ...barred('addresses of others'),
    doc: 'In a restricted project: whether nics may send with addresses that are not theirs. With block, security.mac_filtering, security.ipv4_filtering and security.ipv6_filtering hold for all of them.',
  },
  'restricted.networks.subnets': {
    ...text('Subnets of uplinks that may be used, as UPLINK:SUBNET. No effect here: networks have no uplinks.'),
    check: is.listOf(subnetOfUplink),
  },
  'restricted.networks.uplinks': text('Networks that may be uplinks. No effect here: networks have no uplinks.'),
  'restricted.networks.zones': text('DNS zones that may be used. No effect here: there are no zones.'),
  'restricted.remotes.networks': {
    ...text(
      'Networks of this host, links and private ones (10.1.0.0/16, comma separated; all) from which clients that are restricted to projects may have images fetched and containers migrated. Unset: none.',
    ),
    check: is.listOf((value) => (value === 'all' ? undefined : is.network(value))),
  },
  'restricted.snapshots': barred('snapshots'),
  'restricted.storage.shared': words(
    'In a restricted project with features.storage.volumes=false: whether disks may attach the volumes of default: only with readonly=true, writable too (allow), or not at all.',
    'readonly',
    'allow',
    'block',
  ),
  'restricted.virtual-machines.lowlevel': {
    ...barred('low level config of virtual machines'),
    doc: 'Whether virtual machines may have low level config. No effect here: there are none.',
  },
} as const satisfies Record<string, ProjectConfigKey>;

/** `user.*` keys are free. */
export function findProjectConfigKey(key: string): ProjectConfigKey | undefined {
  if (/^user\../.test(key)) return text('Free text.');
  // One limit per pool.
  if (/^limits\.disk\.pool\../.test(key)) return size('Maximum size of root disks and custom volumes in this pool.');
  const rows: Readonly<Record<string, ProjectConfigKey>> = projectConfigKeys;
  return Object.hasOwn(rows, key) ? rows[key] : undefined;
}

export const projectConfigProblems = (config: Readonly<Record<string, string>>): readonly Problem[] =>
  Object.entries(config).flatMap(([key, value]): readonly Problem[] => {
    const row = findProjectConfigKey(key);
    const path = `config.${key}`;
    if (row === undefined) {
      const message = `unknown key ${JSON.stringify(key)} of projects`;
      return [unknownName('unknownKey', path, key, Object.keys(projectConfigKeys), (hint) => `${message}${hint}`)];
    }
    const message = is.judge(row.check, value, 'list');
    return message === undefined ? [] : [{ path, message }];
  });
