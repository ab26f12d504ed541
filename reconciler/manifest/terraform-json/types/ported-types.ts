// The resource types of the well-known LXD and Incus providers. Their configurations work unchanged if documents can express their
// arguments.
import { type KindName, isInProject } from '../../../../server/api/kinds.ts';
import type { Json, JsonObject } from '../../../core/documents/document.ts';
import { isMap } from '../../../core/documents/json-values.ts';
import { isPlaced } from '../../../core/settings/cluster-members.ts';
import type { Members } from '../evaluation/argument-shapes.ts';
import {
  ArgumentError,
  configOf,
  isSet,
  objects,
  same,
  wordOf,
  refuse,
  rulesOf,
  type ObjectType,
  type ResourceType,
} from './resource-type.ts';
import { computedOf } from './schema-facts.ts';
import { commandsOf, file, filesOf, snapshot, sourceOf, type Provider } from './ported-parts.ts';

/** Arguments that must not become texts. Blocks stay as written. */
const scalars: Members = {
  name: 'text',
  project: 'text',
  target: 'text',
  description: 'text',
  config: 'map',
  ephemeral: 'bool',
  running: 'bool',
  allow_restart: 'bool',
  wait_for_network: 'bool',
  restricted: 'bool',
};

/** Provider arguments that are about the connection. */
const links = ['remote', 'project', 'target', 'timeouts'];

/** `device { name, type, properties }`, of the LXD and Incus providers. */
function devicesOf(devices: Json | undefined): JsonObject {
  const entries = objects(devices).map(
    ({ name, type, properties }) =>
      [wordOf(name), { type: type ?? null, ...(isMap(properties) ? properties : {}) }] as const,
  );
  return entries.length === 0 ? {} : { devices: Object.fromEntries(entries) };
}

function foreign(
  kind: KindName,
  names: readonly string[],
  more: readonly string[],
  document: ObjectType['document'],
): ObjectType {
  return {
    kind,
    arguments: new Set([...names, ...more, ...links]),
    computed: computedOf(
      'status',
      'location',
      'ipv4_address',
      'ipv6_address',
      'mac_address',
      'managed',
      'fingerprint',
      'members',
      'interfaces',
    ),
    writtenAs: () => ({ devices: 'device', 'manage.wait': 'wait_for' }),
    shapes: scalars,
    document: (args, name, settings) => ({
      ...same(...names, ...(isInProject(kind) ? ['project'] : []))(args),
      ...same(...(isPlaced({ kind }) ? ['target'] : []))(args),
      ...document(args, name, settings),
    }),
  };
}

function limitsOf(limits: Json | undefined): JsonObject {
  return isMap(limits)
    ? Object.fromEntries(
        Object.entries(limits).map(([key, value]) => [key.startsWith('limits.') ? key : `limits.${key}`, value]),
      )
    : {};
}

const instance = (provider: Provider): ObjectType => ({
  ...foreign(
    'container',
    ['name', 'description', 'architecture', 'profiles', 'ephemeral'],
    [
      'image',
      'source_instance',
      'type',
      'running',
      'config',
      'device',
      'limits',
      'wait_for',
      'wait_for_network',
      'allow_restart',
      'execs',
      'exec',
      'file',
    ],
    (args, _name, { remotes = {} }) => {
      if (isSet(args['type']) && args['type'] !== 'container')
        throw new ArgumentError('type', 'only containers are managed');
      return {
        ...sourceOf(args, provider, remotes),
        ...configOf(args, limitsOf(args['limits'])),
        ...devicesOf(args['device']),
        ...filesOf(args['file']),
        ...commandsOf(args),
        state: args['running'] === false ? 'stopped' : 'running',
      };
    },
  ),
  writtenAs: (args) => ({
    devices: 'device',
    'manage.wait': 'wait_for',
    ...Object.fromEntries(objects(args['file']).map((_file, at) => [`files.${at}`, `file.${at}`])),
    exec: isMap(args['execs']) ? 'execs' : 'exec',
  }),
  manage: (args) => ({
    ...(args['allow_restart'] === false ? { disruption: 'none' } : {}),
    ...(args['wait_for_network'] === true ? { wait: ['ipv4'] } : waitsOf(args['wait_for'])),
  }),
});

function waitsOf(waits: Json | undefined): JsonObject {
  const list = objects(waits).map(({ type, nic }): Json => {
    if (type === 'ipv4' || type === 'ipv6') return { [type]: isSet(nic) && nic !== '' ? nic : true };
    if (type === 'cloud-init') return { cloud_init: true };
    // For containers the providers wait for processes, which every running container has.
    if (type === 'agent') return { running: true };
    throw new ArgumentError('wait_for', `waiting for ${wordOf(type)} is not carried over`);
  });
  return list.length === 0 ? {} : { wait: list };
}

function ofBoth(prefix: Provider): Readonly<Record<string, ResourceType>> {
  return {
    [`${prefix}_instance`]: instance(prefix),
    [`${prefix}_container`]: instance(prefix),
    [`${prefix}_instance_snapshot`]: snapshot,
    [`${prefix}_snapshot`]: snapshot,
    [`${prefix}_instance_file`]: file,
    [`${prefix}_volume`]: volume,
    [`${prefix}_storage_volume`]: volume,
    [`${prefix}_certificate`]: certificate,
    [`${prefix}_trust_certificate`]: certificate,
    [`${prefix}_profile`]: foreign('profile', ['name', 'description', 'config'], ['device'], (args) =>
      devicesOf(args['device']),
    ),
    [`${prefix}_project`]: foreign('project', ['name', 'description', 'config'], ['force_destroy'], () => ({})),
    [`${prefix}_network`]: foreign(
      'network',
      ['name', 'description', 'type', 'config', 'member_overrides'],
      [],
      () => ({}),
    ),
    [`${prefix}_network_acl`]: foreign(
      'network_acl',
      ['name', 'description', 'config'],
      ['ingress', 'egress'],
      rulesOf,
    ),
    [`${prefix}_storage_pool`]: foreign(
      'storage_pool',
      ['name', 'description', 'driver', 'member_overrides'],
      ['config', 'source'],
      (args) => configOf(args, isSet(args['source']) ? { source: args['source'] } : {}),
    ),
  };
}

const volume = foreign(
  'storage_volume',
  ['name', 'description', 'pool', 'config'],
  ['type', 'content_type', 'source_volume', 'source_file', 'file'],
  (args) => {
    const only = { type: 'custom', content_type: 'filesystem' } as const;
    for (const name of ['type', 'content_type'] as const) {
      if (isSet(args[name]) && args[name] !== only[name])
        throw new ArgumentError(name, `volumes are of ${name} ${only[name]} here`);
    }
    refuse(args, { source_volume: notFrom, source_file: notFrom, file: notFrom });
    return {};
  },
);
const notFrom = 'a volume begins empty here';

const certificate = foreign(
  'certificate',
  ['name'],
  ['description', 'type', 'certificate', 'content', 'path', 'projects', 'restricted'],
  (args) => {
    if (isSet(args['type']) && args['type'] !== 'client') throw new ArgumentError('type', 'only client certificates');
    const rights = args['restricted'] === true ? { restricted: true, projects: args['projects'] ?? [] } : {};
    if (isSet(args['path'])) return { certificate: { from_file: args['path'] }, ...rights };
    return { certificate: args['certificate'] ?? args['content'] ?? null, ...rights };
  },
);

const serverConfig = foreign('server_config', ['config'], [], () => ({}));

export const portedTypes: Readonly<Record<string, ResourceType>> = {
  ...ofBoth('lxd'),
  ...ofBoth('incus'),
  incus_server: serverConfig,
};
