// The resource types of the gantry provider and their documents. A type takes the arguments of the provider's schema
// (provider-schema.ts); an argument that documents cannot express is refused.
import { kindNames, type KindName } from '../../../../server/api/kinds.ts';
import type { Json, JsonObject } from '../../../core/documents/document.ts';
import { isMap } from '../../../core/documents/json-values.ts';
import { container } from './gantry-container.ts';
import { containerExec, containerFile, snapshot, volumeSnapshot, writeOnly } from './gantry-parts.ts';
import { longestTimeout } from './longest-timeout.ts';
import {
  ArgumentError,
  isPart,
  isSet,
  refuse,
  rulesOf,
  same,
  withoutNull,
  type Arguments,
  type ObjectType,
  type PartType,
} from './resource-type.ts';
import { resourceFacts } from './schema-facts.ts';
import type { Value } from '../expression/values.ts';

/** gantry_image of a Terraform configuration as a document: its files, or the source from which the server fetches it. */
const facts = resourceFacts('gantry_image');

/** Image documents get the name of their resource: the server identifies images by fingerprint only. */
const resourceName = (_values: Readonly<Record<string, Value>>, name: string): Value => name;

const image: ObjectType = {
  kind: 'image',
  ...facts,
  computed: { ...facts.computed, id: resourceName, fingerprint: resourceName },
  document: (args, name) => ({
    name,
    ...withoutAliases(args),
    ...same('public', 'auto_update', 'properties')(args),
    ...imageFilesOf(args['source']),
  }),
  // Written properties replace those of the image's metadata.
  manage: (args) => ({ ...(isMap(args['properties']) ? { mode: 'exact' } : {}), ...longestTimeout(args) }),
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

interface Extra {
  /** Arguments that documents cannot express, with the reason. */
  readonly refused?: Readonly<Record<string, string>>;
  /** Values with which a refused argument has no effect. */
  readonly defaults?: JsonObject;
}

/** Arguments of every type that are no keys of its document. */
const around = ['timeouts', 'remote', 'project'];

/** Arguments that are keys of the document under the same name. */
function simple(kind: KindName, { refused = {}, defaults = {} }: Extra = {}): ObjectType {
  const facts = resourceFacts(`gantry_${kind}`);
  const names = Object.keys(facts.shapes).filter((name) => !(name in refused) && !around.includes(name));
  const isVolume = kind === 'storage_volume';
  return {
    kind,
    ...facts,
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

const networkAcl = simple('network_acl');

/** Kinds whose resource has more or other arguments than the fields of the kind. */
const special: Readonly<Partial<Record<KindName, ObjectType>>> = {
  server_config: simple('server_config', { refused: { trust_password: writeOnly, trust_password_version: writeOnly } }),
  certificate: simple('certificate', {
    refused: { type: 'documents are of client certificates' },
    defaults: { type: 'client' },
  }),
  project: simple('project', {
    refused: { force_destroy: 'gantry never deletes a project with contents: declare its contents' },
    defaults: { force_destroy: false },
  }),
  network_acl: {
    ...networkAcl,
    document: (args, ...more) => ({ ...networkAcl.document(args, ...more), ...rulesOf(args) }),
  },
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

/** A part has the project of its container. */
function withScope(type: ObjectType | PartType): ObjectType | PartType {
  const without = ({ remote, project: _project, ...args }: Arguments): Arguments => {
    if (isSet(remote) && remote !== '') refuse({ remote }, oneServer);
    return args;
  };
  if (isPart(type)) return { ...type, entry: (args, own) => type.entry(without(args), own) };
  return {
    ...type,
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
