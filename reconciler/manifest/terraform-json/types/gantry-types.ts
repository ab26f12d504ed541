// The resource types of the gantry provider and their documents. A type takes the arguments of the provider's schema, which a test
// compares; an argument that documents cannot express is refused.
import { isInProject, kindNames, type KindName } from '../../../../server/api/kinds.ts';
import type { Json, JsonObject } from '../../../core/documents/document.ts';
import { isMap } from '../../../core/documents/json-values.ts';
import { coreKind } from '../../../core/kinds/index.ts';
import type { FieldShape } from '../../../core/kinds/kind.ts';
import type { Members, Shape } from '../evaluation/argument-shapes.ts';
import { container } from './gantry-container.ts';
import { image } from './gantry-image.ts';
import { containerExec, containerFile, snapshot, taking, timeouts, volumeSnapshot, writeOnly } from './gantry-parts.ts';
import { longestTimeout } from './longest-timeout.ts';
import {
  ArgumentError,
  computedOf,
  isPart,
  isSet,
  refuse,
  same,
  type Arguments,
  type ObjectType,
  type PartType,
} from './resource-type.ts';

interface Extra {
  /** Arguments in addition to the name and the fields of the kind. */
  readonly shapes?: Members;
  readonly computed?: readonly string[];
  /** Arguments that documents cannot express, with the reason. */
  readonly refused?: Readonly<Record<string, string>>;
  /** Values with which a refused argument has no effect. */
  readonly defaults?: JsonObject;
}

const shapeOf: Readonly<Partial<Record<FieldShape, Shape>>> = {
  scalar: 'text',
  map: 'map',
  devices: 'maps',
  members: { each: { config: 'map' } },
};

const fieldsOf = (kind: KindName): Members =>
  Object.fromEntries(
    Object.entries(coreKind(kind).fields).flatMap(([field, shape]) => {
      const own = shapeOf[shape];
      return own === undefined ? [] : [[field, own]];
    }),
  );

/** Arguments that are keys of the document under the same name. */
function simple(kind: KindName, { shapes = {}, computed = [], refused = {}, defaults = {} }: Extra = {}): ObjectType {
  const all: Members = { ...(kind === 'server_config' ? {} : { name: 'text' }), ...fieldsOf(kind), ...shapes };
  const names = Object.keys(all).filter((name) => !(name in refused));
  const isVolume = kind === 'storage_volume';
  return {
    kind,
    ...taking({ ...all, timeouts }, isVolume ? ['source'] : []),
    computed: computedOf(...computed),
    document: (args) => {
      const said = Object.entries(args).filter(([name, value]) => value !== (defaults[name] ?? null));
      refuse(Object.fromEntries(said), refused);
      return { ...same(...names)(args), ...(isVolume ? copyOf(args['source'], args['pool']) : {}) };
    },
    manage: longestTimeout,
    writtenAs: () => ({ 'manage.timeout': 'timeouts' }),
  };
}

function isHere({ project }: JsonObject): boolean {
  if (isSet(project)) throw new ArgumentError('source', 'source.project: copies stay in their project here');
  return true;
}

/** The source of a volume: a copy without snapshots, as the provider makes it. */
const copyOf = (source: Json | undefined, pool: Json | undefined): JsonObject =>
  isMap(source) && isHere(source)
    ? {
        source: { type: 'copy', volume_only: true, name: source['name'] ?? null, pool: source['pool'] ?? pool ?? null },
      }
    : {};

/** Kinds whose resource has more or other arguments than the fields of the kind. */
const special: Readonly<Partial<Record<KindName, ObjectType>>> = {
  server_config: simple('server_config', {
    shapes: { trust_password: 'text', trust_password_version: 'number' },
    computed: ['name'],
    refused: { trust_password: writeOnly, trust_password_version: writeOnly },
  }),
  certificate: simple('certificate', {
    shapes: { certificate: 'text', restricted: 'bool', projects: 'texts' },
    computed: ['fingerprint'],
    refused: { type: 'documents are of client certificates' },
    defaults: { type: 'client' },
  }),
  project: simple('project', {
    shapes: { force_destroy: 'bool' },
    computed: ['effective_config'],
    refused: { force_destroy: 'gantry never deletes a project with contents: declare its contents' },
    defaults: { force_destroy: false },
  }),
  storage_pool: simple('storage_pool', { computed: ['effective_config', 'locations'] }),
  storage_volume: simple('storage_volume', {
    shapes: { pool: 'text', source: { object: { pool: 'text', name: 'text', project: 'text' } }, target: 'text' },
    computed: ['effective_config', 'location'],
  }),
  network: simple('network', { computed: ['effective_config', 'locations', 'ipv4_address', 'ipv6_address'] }),
  image,
  container,
};

const types: Readonly<Record<string, ObjectType | PartType>> = {
  ...Object.fromEntries(kindNames.map((kind) => [`gantry_${kind}`, special[kind] ?? simple(kind)])),
  gantry_container_file: containerFile,
  gantry_container_exec: containerExec,
  gantry_snapshot: snapshot,
  gantry_volume_snapshot: volumeSnapshot,
};

const oneServer = { remote: 'one configuration is for one server here, which --host names' };

/** Every type has these arguments. A part has the project of its container. */
function withScope(type: ObjectType | PartType): ObjectType | PartType {
  const scope: Members = { remote: 'text', ...(isPart(type) || isInProject(type.kind) ? { project: 'text' } : {}) };
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
  Object.entries(types).map(([name, type]) => [name, withScope(type)]),
);

/** Resources of the provider that documents cannot express, with the remedy. */
export const gantryRefused: Readonly<Record<string, string>> = {
  gantry_cluster_member: 'members are taken over by Terraform alone',
  gantry_container_device:
    'the document of a container has all its devices: declare it in devices of its gantry_container',
};
