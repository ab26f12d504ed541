// The resource types of our own provider and how they are said in documents. What a type takes is the provider's schema, which a test
// compares; what a document cannot say is refused.
import type { KindName } from '../../../../server/api/kinds.ts';
import type { Json, JsonObject } from '../../../core/documents/document.ts';
import { isMap } from '../../../core/documents/json-values.ts';
import type { Members } from './argument-shapes.ts';
import type { Value } from '../expression/values.ts';
import {
  commandMembers,
  commandOf,
  containerExec,
  containerFile,
  plainMode,
  snapshot,
  taking,
  timeouts,
  volumeSnapshot,
  writeOnly,
} from './gantry-parts.ts';
import {
  ArgumentError,
  computedOf,
  configOf,
  isPart,
  isSet,
  objects,
  refuse,
  same,
  withoutNull,
  wordOf,
  type Arguments,
  type ObjectType,
  type PartType,
} from './resource-type.ts';

interface Simple {
  readonly kind: KindName;
  readonly shapes: Members;
  readonly computed?: readonly string[];
  readonly refused?: Readonly<Record<string, string>>;
  /** What the refused ones are when they say nothing. */
  readonly defaults?: JsonObject;
}

/** Arguments that are keys of the document under the same name. */
function simple({ kind, shapes, computed = [], refused = {}, defaults = {} }: Simple): ObjectType {
  const names = Object.keys(shapes).filter((name) => !(name in refused));
  return {
    kind,
    ...taking({ ...shapes, timeouts }, kind === 'storage_volume' ? ['source'] : []),
    computed: computedOf(...computed),
    document: (args) => {
      const said = Object.entries(args).filter(([name, value]) => value !== (defaults[name] ?? null));
      refuse(Object.fromEntries(said), refused);
      return { ...same(...names)(args), ...(kind === 'storage_volume' ? copyOf(args['source'], args['pool']) : {}) };
    },
    manage: longest,
    writtenAs: () => ({ 'manage.timeout': 'timeouts' }),
  };
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Documents have one limit for each step. */
function longest(args: Arguments): JsonObject {
  const written = isMap(args['timeouts']) ? Object.values(args['timeouts']).filter(isSet).map(wordOf) : [];
  const lengthOf = (text: string): number => {
    const [, count, unit = ''] = /^([0-9]+)(ms|s|m|h)$/.exec(text) ?? [];
    return Number(count) * (units[unit] ?? Number.NaN);
  };
  const [first] = written.toSorted((a, b) => lengthOf(b) - lengthOf(a));
  return first === undefined ? {} : { timeout: first };
}

const config = { name: 'text', description: 'text', config: 'map' } as const;
const overrides = { each: { config: 'map' } } as const;

const fileMembers = {
  content: 'text',
  source: 'text',
  mode: 'text',
  uid: 'number',
  gid: 'number',
  sha256: 'computed',
} as const;

const container: ObjectType = {
  kind: 'container',
  ...taking({
    ...config,
    source: {
      object: {
        type: 'text',
        alias: 'text',
        fingerprint: 'text',
        server: 'text',
        protocol: 'text',
        mode: 'text',
        source: 'text',
        snapshot: 'text',
        container_only: 'bool',
        certificate: 'text',
        file: 'text',
        allow_host_access: 'bool',
        sha256: 'computed',
      },
    },
    architecture: 'text',
    instance_type: 'text',
    target: 'text',
    profiles: 'texts',
    ephemeral: 'bool',
    devices: 'maps',
    snapshots: { object: { schedule: 'text', pattern: 'text', expiry: 'text', stopped: 'bool' } },
    running: 'bool',
    allow_restart: 'bool',
    stop_timeout: 'number',
    wait_for: {
      list: {
        type: 'text',
        nic: 'text',
        command: 'texts',
        port: 'number',
        host: 'text',
        path: 'text',
        timeout: 'text',
        delay: 'text',
      },
    },
    files: { each: fileMembers },
    exec: {
      each: {
        ...commandMembers,
        on: 'text',
        enabled: 'bool',
        record_output: 'bool',
        exit_code: 'computed',
        stdout: 'computed',
        stderr: 'computed',
      },
    },
    timeouts,
  }),
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
    source: originOf(args['source']),
    ...configOf(args, policyOf(args['snapshots'])),
    ...filesOf(args['files']),
    ...execOf(args['exec']),
    state: args['running'] === false ? 'stopped' : 'running',
  }),
  manage: (args) => ({
    ...(args['allow_restart'] === false ? { disruption: 'none' } : {}),
    // A copy begins with all that its source has; what is not written is not there, as Terraform has it.
    ...(isMap(args['source']) && args['source']['type'] === 'copy' ? { mode: 'exact' } : {}),
    ...waitsOf(args['wait_for']),
    ...longest(args),
  }),
  writtenAs: (args) => ({
    ...Object.fromEntries(Object.entries(policyKeys).map(([name, key]) => [`config.${key}`, `snapshots.${name}`])),
    ...Object.fromEntries(namesOf(args['files']).map((path, at) => [`files.${at}`, `files.${path}`])),
    ...Object.fromEntries(namesOf(args['exec']).map((name, at) => [`exec.${at}`, `exec.${name}`])),
    'manage.wait': 'wait_for',
    'manage.timeout': 'timeouts',
  }),
};

function originOf(source: Json | undefined): JsonObject {
  if (!isMap(source)) return { type: 'none' };
  if (source['type'] === 'backup') {
    const message = 'source: documents make no containers of backups: gantry backup import FILE NAME restores one';
    throw new ArgumentError('source', message);
  }
  if (isSet(source['snapshot']) && source['snapshot'] !== '') {
    const message =
      'source.snapshot: documents copy containers as they are: take snapshot away, or make the copy with Terraform';
    throw new ArgumentError('source', message);
  }
  return withoutNull({ ...source, snapshot: null });
}

const policyKeys: Readonly<Record<string, string>> = {
  schedule: 'snapshots.schedule',
  pattern: 'snapshots.pattern',
  expiry: 'snapshots.expiry',
  stopped: 'snapshots.schedule.stopped',
};

function policyOf(policy: Json | undefined): JsonObject {
  if (!isMap(policy)) return {};
  return Object.fromEntries(
    Object.entries(withoutNull(policy)).map(([name, value]) => [policyKeys[name] ?? name, value] as const),
  );
}

function waitsOf(waits: Json | undefined): JsonObject {
  const list = objects(waits).map(({ type, nic, command, port, host, path, timeout }): Json => {
    const limit = isSet(timeout) ? { timeout } : {};
    if (type === 'command') return { exec: command ?? [], ...limit };
    if (type === 'ipv4' || type === 'ipv6') return { [type]: nic ?? true, ...limit };
    if (type === 'tcp') return { tcp: isSet(host) ? placeOf(wordOf(host), port) : (port ?? null), ...limit };
    if (type === 'file') return { file: path ?? '', ...limit };
    if (type === 'cloud-init') return { cloud_init: true, ...limit };
    if (type === 'delay')
      throw new ArgumentError('wait_for', 'wait_for: documents wait for a state, not for a time: take delay away');
    return { [typeof type === 'string' ? type : 'running']: true, ...limit };
  });
  return list.length === 0 ? {} : { wait: list };
}

const placeOf = (host: string, port: Json | undefined): string =>
  `${host.includes(':') ? `[${host}]` : host}:${wordOf(port)}`;

/** In the order in which the provider takes them. */
const namesOf = (map: Json | undefined): readonly string[] => (isMap(map) ? Object.keys(map).toSorted() : []);
const entryOf = (map: Json | undefined, name: string): JsonObject => {
  const entry = isMap(map) ? map[name] : undefined;
  return isMap(entry) ? withoutNull(entry) : {};
};

function filesOf(files: Json | undefined): JsonObject {
  const paths = namesOf(files);
  return paths.length === 0 ? {} : { files: paths.map((path) => ({ path, ...plainMode, ...entryOf(files, path) })) };
}

function execOf(commands: Json | undefined): JsonObject {
  const names = namesOf(commands).filter((name) => entryOf(commands, name)['enabled'] !== false);
  return names.length === 0 ? {} : { exec: names.map((name) => ({ name, ...commandOf(entryOf(commands, name)) })) };
}

/** Documents of images are called after their resources: the server knows them by fingerprint alone. */
const resourceName = (_values: Readonly<Record<string, Value>>, name: string): Value => name;

const image: ObjectType = {
  kind: 'image',
  ...taking(
    {
      source: {
        object: {
          type: 'text',
          file: 'text',
          metadata: 'text',
          url: 'text',
          server: 'text',
          protocol: 'text',
          alias: 'text',
          fingerprint: 'text',
          certificate: 'text',
          architecture: 'text',
          container: 'text',
          snapshot: 'text',
        },
      },
      properties: 'map',
      public: 'bool',
      auto_update: 'bool',
      copy_aliases: 'bool',
      timeouts,
    },
    ['source'],
  ),
  computed: { ...computedOf('architecture', 'created_at', 'size_bytes'), id: resourceName, fingerprint: resourceName },
  document: (args, name) => ({
    name,
    ...withoutAliases(args),
    ...same('public', 'auto_update', 'properties')(args),
    ...imageFilesOf(args['source']),
  }),
  // Those of its metadata are not merged with those that are written.
  manage: (args) => ({ ...(isMap(args['properties']) ? { mode: 'exact' } : {}), ...longest(args) }),
  writtenAs: () => ({
    file: 'source.file',
    metadata: 'source.metadata',
    rootfs: 'source.file',
    'manage.timeout': 'timeouts',
  }),
};

function withoutAliases(args: Arguments): JsonObject {
  if (args['copy_aliases'] === true)
    throw new ArgumentError('copy_aliases', 'copy_aliases: declare each alias as gantry_image_alias');
  return {};
}

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

function isHere({ project }: JsonObject): boolean {
  if (isSet(project)) throw new ArgumentError('source', 'source.project: copies stay in their project here');
  return true;
}

/** What a volume begins as: without the snapshots of the other, as the provider copies it. */
const copyOf = (source: Json | undefined, pool: Json | undefined): JsonObject =>
  isMap(source) && isHere(source)
    ? {
        source: { type: 'copy', volume_only: true, name: source['name'] ?? null, pool: source['pool'] ?? pool ?? null },
      }
    : {};

const types: Readonly<Record<string, ObjectType | PartType>> = {
  gantry_storage_pool: simple({
    kind: 'storage_pool',
    shapes: { ...config, driver: 'text', member_overrides: overrides },
    computed: ['effective_config', 'locations'],
  }),
  gantry_network: simple({
    kind: 'network',
    shapes: { ...config, type: 'text', member_overrides: overrides },
    computed: ['effective_config', 'locations', 'ipv4_address', 'ipv6_address'],
  }),
  gantry_profile: simple({ kind: 'profile', shapes: { ...config, devices: 'maps' } }),
  gantry_storage_volume: simple({
    kind: 'storage_volume',
    shapes: {
      ...config,
      pool: 'text',
      source: { object: { pool: 'text', name: 'text', project: 'text' } },
      target: 'text',
    },
    computed: ['effective_config', 'location'],
    refused: { target: 'volumes are made on the member that is asked' },
  }),
  gantry_certificate: simple({
    kind: 'certificate',
    shapes: { name: 'text', certificate: 'text', type: 'text', restricted: 'bool', projects: 'texts' },
    computed: ['fingerprint'],
    refused: {
      type: 'documents are of client certificates',
      restricted: 'certificates that are limited to projects are not carried over',
      projects: 'certificates that are limited to projects are not carried over',
    },
    defaults: { type: 'client', restricted: false },
  }),
  gantry_project: simple({
    kind: 'project',
    shapes: { ...config, force_destroy: 'bool' },
    computed: ['effective_config'],
    refused: { force_destroy: 'a project with contents is never deleted here: declare what is in it' },
    defaults: { force_destroy: false },
  }),
  gantry_server_config: simple({
    kind: 'server_config',
    shapes: { config: 'map', trust_password: 'text', trust_password_version: 'number' },
    computed: ['name'],
    refused: {
      trust_password: writeOnly,
      trust_password_version: writeOnly,
    },
  }),
  gantry_image: image,
  gantry_image_alias: simple({
    kind: 'image_alias',
    shapes: { name: 'text', description: 'text', target: 'text' },
  }),
  gantry_container: container,
  gantry_container_file: containerFile,
  gantry_container_exec: containerExec,
  gantry_snapshot: snapshot,
  gantry_volume_snapshot: volumeSnapshot,
};

/** Of the server as a whole. */
const inNoProject: ReadonlySet<string> = new Set([
  'gantry_storage_pool',
  'gantry_certificate',
  'gantry_project',
  'gantry_server_config',
]);

const oneServer = { remote: 'one configuration is for one server here, which --host names' };

/** Every type says where it is. The project of a part is that of its container. */
function withScope(name: string, type: ObjectType | PartType): ObjectType | PartType {
  const scope: Members = { remote: 'text', ...(inNoProject.has(name) ? {} : { project: 'text' }) };
  const taken = {
    shapes: { ...type.shapes, ...scope },
    arguments: new Set([...type.arguments, ...Object.keys(scope)]),
  };
  const without = ({ remote, project: _project, ...args }: Arguments): Arguments => {
    if (isSet(remote) && remote !== '') refuse({ remote }, oneServer);
    return args;
  };
  if (isPart(type)) return { ...type, ...taken, entry: (args, own) => type.entry(without(args), own) };
  return {
    ...type,
    ...taken,
    document: (args, own, settings) => ({
      ...type.document(without(args), own, settings),
      ...(args['project'] === '' ? {} : same('project')(args)),
    }),
  };
}

export const gantryTypes: Readonly<Record<string, ObjectType | PartType>> = Object.fromEntries(
  Object.entries(types).map(([name, type]) => [name, withScope(name, type)]),
);

/** What the provider has and documents cannot say, with what to do. */
export const gantryRefused: Readonly<Record<string, string>> = {
  gantry_cluster_member: 'members are taken over by Terraform alone',
  gantry_container_device:
    'the document of a container has all its devices: declare it in devices of its gantry_container',
};
