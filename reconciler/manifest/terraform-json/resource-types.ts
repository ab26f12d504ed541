// Which resource types stand for which kind of manifest, and how their arguments become keys of a document. Our own types, and those
// of the well-known providers for LXD and Incus, whose configurations then need no change.
import { projectKinds } from '../../../server/api/manifest-schema.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import type { Json, JsonObject } from '../../core/document.ts';
import { isMap } from '../../core/kinds/values.ts';
import { unknown, type Value } from './expression/values.ts';
import type { ReferableType } from './evaluate-config.ts';

/** Plain arguments of one resource instance; null where nothing is written. */
export type Arguments = JsonObject;

/** An argument that cannot be carried over, by its path. */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
  readonly argument: string;
  constructor(argument: string, message: string) {
    super(message);
    this.argument = argument;
  }
}

export interface ResourceType extends ReferableType {
  readonly kind: KindName;
  /** Keys of the document beside `kind` and `manage`. Throws ArgumentError. */
  readonly document: (args: Arguments, resourceName: string) => JsonObject;
  readonly manage?: (args: Arguments) => JsonObject;
  /** Where a key of the document is written, when under another name. */
  readonly writtenAs?: Readonly<Record<string, string>>;
}

const later = (): Value => unknown;
/** Documents of images are called after their resources. */
const resourceName = (_values: Readonly<Record<string, Value>>, name: string): Value => name;
const ownName = (values: Readonly<Record<string, Value>>): Value => values['name'] ?? unknown;
const computedOf = (...names: readonly string[]): ReferableType['computed'] => ({
  id: ownName,
  ...Object.fromEntries(names.map((name) => [name, later] as const)),
});

/** The arguments that are keys of the document too. */
const same =
  (...names: readonly string[]) =>
  (args: Arguments): JsonObject =>
    Object.fromEntries(names.flatMap((name) => (isSet(args[name]) ? [[name, args[name]] as const] : [])));

const isSet = (value: Json | undefined): value is Exclude<Json, null> => value !== undefined && value !== null;
/** As a person would read it. */
export const wordOf = (value: Json | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);
const objects = (value: Json | undefined): readonly JsonObject[] =>
  (Array.isArray(value) ? (value as readonly Json[]) : isMap(value) ? [value] : []).filter(isMap);

function simple(
  kind: KindName,
  names: readonly string[],
  computed: readonly string[],
  unused: readonly string[] = [],
): ResourceType {
  return {
    kind,
    arguments: new Set([...names, ...unused]),
    computed: computedOf(...computed),
    document: same(...names),
  };
}

const container: ResourceType = {
  kind: 'container',
  arguments: new Set([
    'name',
    'description',
    'source',
    'architecture',
    'instance_type',
    'profiles',
    'ephemeral',
    'config',
    'devices',
    'snapshots',
    'running',
    'allow_restart',
    'stop_timeout',
    'wait_for',
    'files',
    'exec',
    'timeouts',
    'target',
  ]),
  computed: computedOf(
    'status',
    'location',
    'created_at',
    'ipv4_address',
    'ipv6_address',
    'mac_address',
    'interfaces',
    'expanded_config',
    'expanded_devices',
  ),
  document: (args) => ({
    ...same('name', 'description', 'architecture', 'instance_type', 'profiles', 'ephemeral', 'devices', 'target')(args),
    source: isMap(args['source']) ? withoutNull(args['source']) : { type: 'none' },
    ...configOf(args, snapshotKeys(args['snapshots'])),
    ...filesOf(args['files']),
    ...execOf(args['exec']),
    state: args['running'] === false ? 'stopped' : 'running',
  }),
  manage: (args) => ({
    ...(args['allow_restart'] === false ? { disruption: 'none' } : {}),
    ...waitsOf(args['wait_for']),
  }),
};

const withoutNull = (map: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(map).filter(([, value]) => value !== null));

const snapshotNames: Readonly<Record<string, string>> = {
  schedule: 'snapshots.schedule',
  pattern: 'snapshots.pattern',
  expiry: 'snapshots.expiry',
  stopped: 'snapshots.schedule.stopped',
};

function snapshotKeys(policy: Json | undefined): JsonObject {
  if (!isMap(policy)) return {};
  return Object.fromEntries(
    Object.entries(policy).flatMap(([name, value]) =>
      value === null ? [] : [[snapshotNames[name] ?? name, value] as const],
    ),
  );
}

function configOf(args: Arguments, more: JsonObject): JsonObject {
  const config = { ...(isMap(args['config']) ? args['config'] : {}), ...more };
  return Object.keys(config).length === 0 ? {} : { config };
}

function waitsOf(waits: Json | undefined): JsonObject {
  const list = objects(waits).map(({ type, nic, command, port, host, path, timeout }): Json => {
    const limit = isSet(timeout) ? { timeout } : {};
    if (type === 'command') return { exec: command ?? [], ...limit };
    if (type === 'ipv4' || type === 'ipv6') return { [type]: nic ?? true, ...limit };
    if (type === 'tcp') return { tcp: isSet(host) ? placeOf(wordOf(host), port) : (port ?? null), ...limit };
    if (type === 'file') return { file: path ?? '', ...limit };
    if (type === 'cloud-init') return { cloud_init: true, ...limit };
    return { [typeof type === 'string' ? type : 'running']: true, ...limit };
  });
  return list.length === 0 ? {} : { wait: list };
}

const placeOf = (host: string, port: Json | undefined): string =>
  `${host.includes(':') ? `[${host}]` : host}:${wordOf(port)}`;

function filesOf(files: Json | undefined): JsonObject {
  if (!isMap(files)) return {};
  return { files: Object.entries(files).map(([path, file]) => ({ path, ...(isMap(file) ? withoutNull(file) : {}) })) };
}

function execOf(commands: Json | undefined): JsonObject {
  if (!isMap(commands)) return {};
  const names = Object.keys(commands).toSorted();
  return { exec: names.map((name) => ({ name, ...execKeys(commands[name]) })) };
}

/** When it runs, and whether it may fail, have other words in documents. */
function execKeys(command: Json | undefined): JsonObject {
  if (!isMap(command)) return {};
  const { on, fail_on_error: fails, ...others } = withoutNull(command);
  return {
    ...others,
    ...(on === 'create' ? { once: true } : on === 'start' ? { on_start: true } : {}),
    ...(fails === false ? { exit_code: 'any' } : {}),
  };
}

/** The server knows images by fingerprint alone: documents of one configuration call it by its resource name. */
const image: ResourceType = {
  kind: 'image',
  arguments: new Set(['source', 'properties', 'public', 'auto_update', 'timeouts']),
  computed: { ...computedOf('architecture', 'created_at', 'size_bytes'), id: resourceName, fingerprint: resourceName },
  document: (args, name) => ({
    name,
    ...same('public', 'auto_update', 'properties')(args),
    ...imageFilesOf(args['source']),
  }),
  writtenAs: { file: 'source', metadata: 'source', rootfs: 'source' },
};

function imageFilesOf(source: Json | undefined): JsonObject {
  if (!isMap(source)) return {};
  const { type = 'file', file, metadata, ...others } = withoutNull(source);
  if (type === 'remote') return { source: { type: 'image', ...others } };
  if (type === 'url') return { source: { type: 'url', ...others } };
  if (type !== 'file' || file === undefined || Object.keys(others).length > 0) {
    const message = 'from Terraform JSON images are made of files (type file, with file and metadata), url or remote';
    throw new ArgumentError('source', message);
  }
  return metadata === undefined ? { file } : { metadata, rootfs: file };
}

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
  document: (args: Arguments) => JsonObject,
): ResourceType {
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
    writtenAs: { devices: 'device' },
    document: (args) => ({
      ...same(...names, ...(projectKinds.includes(kind) ? ['project'] : []))(args),
      ...same(...(kind === 'container' ? ['target'] : []))(args),
      ...document(args),
    }),
  };
}

/** `debian/12`, a fingerprint; `images:debian/12` lies on a server that only the provider's configuration knows. */
function imageSource(reference: Json | undefined): JsonObject {
  if (!isSet(reference) || reference === '') return { source: { type: 'none' } };
  const text = wordOf(reference);
  if (text.includes(':')) {
    throw new ArgumentError(
      'image',
      `the remote of ${text} is known to the provider only: use an alias or a fingerprint of this server`,
    );
  }
  return {
    source: /^[0-9a-f]{12,64}$/.test(text) ? { type: 'image', fingerprint: text } : { type: 'image', alias: text },
  };
}

function limitsOf(limits: Json | undefined): JsonObject {
  return isMap(limits)
    ? Object.fromEntries(
        Object.entries(limits).map(([key, value]) => [key.startsWith('limits.') ? key : `limits.${key}`, value]),
      )
    : {};
}

const instance: ResourceType = {
  ...foreign(
    'container',
    ['name', 'description', 'architecture', 'profiles', 'ephemeral'],
    [
      'image',
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
      'source_instance',
    ],
    (args) => {
      if (isSet(args['type']) && args['type'] !== 'container')
        throw new ArgumentError('type', 'only containers are managed');
      for (const name of ['execs', 'exec', 'file', 'source_instance'] as const) {
        const value = args[name];
        if (isSet(value) && Object.keys(value).length > 0) throw new ArgumentError(name, `${name} is not carried over`);
      }
      return {
        ...imageSource(args['image']),
        ...configOf(args, limitsOf(args['limits'])),
        ...devicesOf(args['device']),
        state: args['running'] === false ? 'stopped' : 'running',
      };
    },
  ),
  manage: (args) => ({
    ...(args['allow_restart'] === false ? { disruption: 'none' } : {}),
    ...(args['wait_for_network'] === true ? { wait: ['ipv4'] } : foreignWaits(args['wait_for'])),
  }),
};

function foreignWaits(waits: Json | undefined): JsonObject {
  const list = objects(waits).map(({ type, nic }): Json => {
    if (type === 'ipv4' || type === 'ipv6') return { [type]: nic ?? true };
    throw new ArgumentError('wait_for', `waiting for ${wordOf(type)} is not carried over`);
  });
  return list.length === 0 ? {} : { wait: list };
}

function ofBoth(prefix: 'lxd' | 'incus'): Readonly<Record<string, ResourceType>> {
  return {
    [`${prefix}_instance`]: instance,
    [`${prefix}_container`]: instance,
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
    [`${prefix}_storage_pool`]: foreign(
      'storage_pool',
      ['name', 'description', 'driver', 'member_overrides'],
      ['config', 'source'],
      (args) => configOf(args, isSet(args['source']) ? { source: args['source'] } : {}),
    ),
  };
}

export const resourceTypes: Readonly<Record<string, ResourceType>> = {
  gantry_storage_pool: simple(
    'storage_pool',
    ['name', 'description', 'driver', 'config', 'member_overrides'],
    ['effective_config', 'used_by', 'locations'],
    ['timeouts'],
  ),
  gantry_network: simple(
    'network',
    ['name', 'description', 'type', 'config', 'member_overrides'],
    ['effective_config', 'used_by', 'locations'],
    ['timeouts'],
  ),
  gantry_profile: simple('profile', ['name', 'description', 'config', 'devices'], ['used_by'], ['timeouts']),
  gantry_storage_volume: {
    ...simple(
      'storage_volume',
      ['name', 'pool', 'description', 'config'],
      ['effective_config', 'location', 'used_by'],
      ['source', 'target', 'timeouts'],
    ),
    document: (args) => {
      if (isSet(args['source']))
        throw new ArgumentError('source', 'copies of volumes are not made from Terraform JSON');
      return same('name', 'pool', 'description', 'config')(args);
    },
  },
  gantry_certificate: simple('certificate', ['name', 'certificate'], ['fingerprint'], ['timeouts']),
  gantry_project: simple('project', ['name', 'description', 'config'], ['effective_config'], ['timeouts']),
  gantry_image: image,
  gantry_image_alias: simple('image_alias', ['name', 'description', 'target'], [], ['timeouts']),
  gantry_container: container,
  ...ofBoth('lxd'),
  ...ofBoth('incus'),
};

/** Types of these providers are ours to know. */
export const ownPrefixes: readonly string[] = ['gantry_', 'lxd_', 'incus_'];
