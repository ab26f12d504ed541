// The JSON Schema of manifest documents, derived from the create schemas and their field facts: one source for editors,
// for validation and for docs. Reading manifests is the reconciler's work.
import { facts } from './field.ts';
import { isMemberKind } from '../cluster/cluster-member-keys.ts';
import { hostsSchema } from './hosts-schema.ts';
import { kindSchemas } from '../kind-schemas.ts';
import { isInProject, kindNames, kinds, type KindName } from '../kinds.ts';
import { execSchema, filesSchema, snapshotsSchema, volumeSnapshotsSchema } from './manifest-inside-schema.ts';
import { plainSeedKeys, seedKeys } from '../container/cloud-init-seed-keys.ts';

export type JsonSchema = { readonly [key: string]: unknown };

const text = { type: 'string' };
const scalar = { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] };
const mapScalar = { anyOf: [...scalar.anyOf, { type: 'null' }] };
const duration = { anyOf: [{ type: 'string', pattern: '^[0-9]+(ms|s|m|h)?$' }, { type: 'number' }] };

/** Create members that no document holds: made by the server, or of forms that are no desired state. */
const omitted: Readonly<Partial<Record<KindName, readonly string[]>>> = {
  container: ['name', 'stateful'],
  network: ['name', 'managed'],
  image: ['filename', 'compression_algorithm', 'copy_aliases'],
  certificate: ['name', 'password'],
};

const project: JsonSchema = {
  ...text,
  description: 'The project that it is in; without it that of the connection.',
  ...facts({ since: 'projects' }),
};

const omittedSource = ['operation', 'base-image', 'live', 'refresh', 'secrets'];

const imageFiles: JsonSchema = {
  file: { ...text, description: 'Image tarball, relative to the manifest.' },
  metadata: { ...text, description: 'Metadata tarball of a split image, relative to the manifest; with rootfs.' },
  rootfs: { ...text, description: 'Root file system of a split image, relative to the manifest; with metadata.' },
  aliases: {
    type: 'array',
    description: 'Names on the server that are to point at this image.',
    items: {
      anyOf: [
        text,
        {
          type: 'object',
          properties: {
            name: { ...text, description: 'The alias.' },
            description: { ...text, description: 'Free text for people.' },
          },
          required: ['name'],
          additionalProperties: false,
        },
      ],
    },
  },
};

const imageSource: JsonSchema = {
  type: 'object',
  description:
    'Where the server fetches it from, instead of files: another server or an address. Fetched once; gantry update looks for a newer one.',
  additionalProperties: false,
  required: ['type'],
  properties: {
    type: { enum: ['image', 'url'], description: 'image: of another server. url: what is at an address.' },
    url: { ...text, description: 'Of type url: the address, whose answer names the image.' },
    server: { ...text, description: 'Of type image: https://HOST[:PORT], or unix:///PATH of a socket here.' },
    protocol: { enum: ['simplestreams', 'lxd', 'svc'], description: 'What the server speaks; lxd unless told.' },
    alias: { ...text, description: 'Name of the image there.' },
    fingerprint: { ...scalar, description: 'The image itself, or what alias or url must turn out to be.' },
    certificate: { ...text, description: 'PEM: exactly this certificate is accepted.' },
    secret: { ...text, description: 'Opens a private image.', ...facts({ secret: true }) },
    mode: { enum: ['pull'], description: 'The server fetches it, which is the only way.' },
  },
};

const memberOverrides: JsonSchema = {
  type: 'object',
  description: 'In a cluster: config of single members, by their names, over what config says for all of them.',
  additionalProperties: {
    type: 'object',
    properties: { config: { type: 'object', additionalProperties: mapScalar } },
    required: ['config'],
    additionalProperties: false,
  },
};

const target: JsonSchema = {
  ...text,
  description: 'In a cluster: the member on which a new container is made, or @GROUP; never a reason to move one.',
};

const state = { enum: ['running', 'stopped'], default: 'running', description: 'Power state of the container.' };

const nicOrAny: JsonSchema = { anyOf: [text, { enum: [true] }] };
const hostAndPort = String.raw`^((\[[0-9A-Fa-f:.]+\]|[^:\s]+):)?[0-9]{1,5}$`;

const waits: Readonly<Record<string, JsonSchema>> = {
  running: { enum: [true], description: 'The container runs.' },
  ipv4: { ...nicOrAny, description: 'A global IPv4 address on this interface; true: on any but lo.' },
  ipv6: { ...nicOrAny, description: 'A global IPv6 address on this interface; true: on any but lo.' },
  exec: { type: 'array', items: scalar, minItems: 1, description: 'This command, run inside, ends with code 0.' },
  tcp: {
    anyOf: [
      { type: 'integer', minimum: 1, maximum: 65_535 },
      { ...text, pattern: hostAndPort },
    ],
    description:
      'Port or host:port that accepts connections from where gantry runs; a port is at the first address of the container.',
  },
  file: { ...text, pattern: '^/', description: 'There is something at this absolute path inside.' },
  cloud_init: { enum: [true], description: 'cloud-init has done its work inside.' },
};

/** What can be waited for. */
export const waitNames: readonly string[] = Object.keys(waits);

const manage: JsonSchema = {
  type: 'object',
  description: 'How the reconciler treats the object; never sent to the server.',
  additionalProperties: false,
  properties: {
    mode: {
      enum: ['merge', 'exact', 'add'],
      default: 'merge',
      description:
        'merge: only keys written here are ours. exact: every key that the server did not make is. add: as merge, but a key that is no longer written is left as it is.',
    },
    image: {
      enum: ['none', 'new-only', 'rebuild', 'recreate'],
      default: 'none',
      description: 'What happens to existing containers when gantry.lock holds another image for their alias.',
    },
    prune: {
      enum: [true, false, 'confirm'],
      description: 'Whether --prune may delete it once it is not declared; confirm: with --allow-destroy only.',
    },
    on_delete: {
      enum: ['delete', 'orphan'],
      default: 'delete',
      description: 'What destroy and prune do: delete it, or let go of it.',
    },
    set: { ...text, pattern: '^[a-z0-9][a-z0-9_-]{0,39}$', description: 'Name of the set; one for all documents.' },
    hosts: {
      anyOf: [text, { type: 'array', items: text, minItems: 1 }],
      description:
        'For which hosts of --hosts it is: NAME, NAME*, @GROUP or labels such as role=web; of a list any. Default: for all.',
    },
    protect: { type: 'boolean', default: false, description: 'Never delete or replace it.' },
    ignore: {
      type: 'array',
      items: {
        anyOf: [
          text,
          {
            type: 'object',
            properties: {
              path: { ...text, description: 'What is ignored.' },
              until: { ...text, description: 'Its last day (2030-12-31, UTC), or a moment (2030-12-31T12:00:00Z).' },
              expires: { ...text, description: 'Another word for until.' },
              reason: { ...text, description: 'Told wherever the difference is listed, and when the rule has ended.' },
            },
            required: ['path'],
            additionalProperties: false,
          },
        ],
      },
      description: 'Paths neither compared nor written, for ever or until a day; * stands for any text.',
    },
    policy: {
      type: 'array',
      items: { enum: ['observe', 'create', 'update', 'delete'] },
      minItems: 1,
      description:
        'What may be done to it; default: everything. Without update it is compared and told, never written or owned; without delete destroy and prune let go of it.',
    },
    power: { enum: ['managed', 'ignore'], default: 'managed', description: 'ignore: never start, stop or restart it.' },
    disruption: {
      enum: ['none', 'restart', 'recreate'],
      default: 'restart',
      description: 'The most that a change may do to it: nothing, a restart, or deletion and creation.',
    },
    depends_on: {
      type: 'array',
      items: text,
      description:
        'kind/name of objects to be ready before. What is not declared here must be on the server; a container must run there, and be ready as its own set sees it.',
    },
    wave: {
      anyOf: [{ type: 'integer', minimum: -1000, maximum: 1000 }, text],
      default: 0,
      description:
        'All of a lower wave is done and ready before anything of a higher one begins; a destroy goes the other way. What an object needs comes with it unless it has a wave of its own.',
    },
    wait: {
      type: 'array',
      description: 'What must hold after a start before the object counts as ready.',
      items: {
        anyOf: [
          { enum: ['running', 'ipv4', 'ipv6', 'cloud_init'] },
          {
            type: 'object',
            properties: { ...waits, timeout: { ...duration, default: '60s', description: 'Give up after this long.' } },
            additionalProperties: false,
            // Exactly one of them.
            oneOf: Object.keys(waits).map((name) => ({ required: [name] })),
          },
        ],
      },
    },
    timeout: { ...duration, default: '5m', description: 'For each step: 90s, 5m, 1h; a number is seconds.' },
  },
};

/** Keys that are known words of the format and not available in this version, with what to do instead. */
export const laterKeys: Readonly<Record<string, string>> = {};

export const laterManageKeys: Readonly<Record<string, string>> = {};

/** The schema of the flat documents of one kind, after variables were put in. */
export function documentSchema(kind: KindName): JsonSchema {
  return {
    type: 'object',
    description: kinds[kind].doc,
    additionalProperties: false,
    required: ['kind', ...(kind === 'server_config' ? [] : ['name']), ...requiredOf(kind)],
    properties: {
      kind: { const: kind },
      name: { ...text, description: 'Name of the object.' },
      ...apiProperties(kind),
      ...(kind === 'image' ? { ...imageFiles, source: imageSource } : {}),
      ...(kind === 'container'
        ? { state, files: filesSchema(mapScalar), exec: execSchema(mapScalar, duration), snapshots: snapshotsSchema }
        : {}),
      ...(isInProject(kind) ? { project } : {}),
      ...(kind === 'storage_volume' ? { snapshots: volumeSnapshotsSchema } : {}),
      ...(isMemberKind(kind) ? { member_overrides: memberOverrides } : {}),
      ...(kind === 'container' ? { target } : {}),
      patch: {
        type: 'boolean',
        description: 'Lay this over the document of the same kind and name; null takes a key out.',
      },
      labels: {
        type: 'object',
        additionalProperties: mapScalar,
        description: 'Words of your own for selection with -l; on the server they are user.gantry.label.KEY.',
      },
      manage,
    },
  };
}

const requiredOf = (kind: KindName): readonly string[] => requiredFields[kind] ?? [];

const requiredFields: Readonly<Partial<Record<KindName, readonly string[]>>> = {
  storage_pool: ['driver'],
  storage_volume: ['pool'],
  image_alias: ['target'],
  certificate: ['certificate'],
};

interface ObjectSchema {
  readonly properties: Readonly<Record<string, JsonSchema>>;
}

function apiProperties(kind: KindName): Record<string, JsonSchema> {
  const { create, object } = kindSchemas[kind] as unknown as Readonly<Record<'create' | 'object', ObjectSchema>>;
  const out: Record<string, JsonSchema> = {};
  for (const [name, schema] of Object.entries(create.properties)) {
    if (name === 'name' || omitted[kind]?.includes(name)) continue;
    const facts = describedBy(object.properties[name]);
    // A field that may be empty may be null as well.
    out[name] = { ...(name === 'source' ? sourceSchema(schema) : lenient(schema, name === 'description')), ...facts };
  }
  return out;
}

function describedBy(schema: JsonSchema | undefined): JsonSchema {
  const entries = Object.entries(schema ?? {});
  return Object.fromEntries(entries.filter(([key]) => key === 'description' || key.startsWith('x-')));
}

function sourceSchema(schema: JsonSchema): JsonSchema {
  const properties = Object.entries((schema as unknown as ObjectSchema).properties);
  const kept = properties.filter(([name]) => !omittedSource.includes(name));
  return {
    type: 'object',
    description: 'What a new one is made from; never a reason to touch an existing one.',
    additionalProperties: false,
    required: ['type'],
    properties: Object.fromEntries(kept.map(([name, member]) => [name, lenient(member, false)])),
  };
}

/** Texts may be written as numbers and booleans; in maps null means: must be absent. */
function lenient(schema: JsonSchema, inMap: boolean): JsonSchema {
  const described = describedBy(schema);
  const anyOf = schema['anyOf'] as readonly JsonSchema[] | undefined;
  const [only] = (anyOf ?? []).filter((part) => part['type'] !== 'null');
  if (only !== undefined) return { ...lenient(only, inMap), ...described };
  if (schema['type'] === 'string') return { ...(inMap ? mapScalar : scalar), ...described };
  const pattern = schema['patternProperties'] as Readonly<Record<string, JsonSchema>> | undefined;
  const [values] = Object.values(pattern ?? {});
  if (values !== undefined) {
    const map = { type: 'object', additionalProperties: lenient(values, true) };
    return inMap ? { anyOf: [map, { type: 'null' }], ...described } : { ...map, ...described };
  }
  return schema;
}

const secretReference: JsonSchema = {
  type: 'object',
  description:
    'Where the value is taken from, so that it is in no manifest: a variable of the environment, a file, a file of sops.',
  properties: { from_env: text, from_file: text, from_sops: { ...text, pattern: '#' } },
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
};

/** As a person writes it: every value of a map may be a reference to a secret, which is put in before the document is checked. */
function withSecretReferences(schema: JsonSchema): JsonSchema {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value === mapScalar.anyOf ? [...value, secretReference] : value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  return walk(schema) as JsonSchema;
}

/** As a person writes it: seeds of a first boot may be maps, which become texts before the document is checked. */
function withSeedMaps(kind: KindName, schema: JsonSchema): JsonSchema {
  const properties = schema['properties'] as Readonly<Record<string, JsonSchema>>;
  const config = properties['config'];
  if ((kind !== 'container' && kind !== 'profile') || config === undefined) return schema;
  const description = 'A text, or a map that becomes one; maps are compared as maps.';
  const seed = { anyOf: [...mapScalar.anyOf, { type: 'object' }], description };
  const seeds = Object.fromEntries([...seedKeys, ...plainSeedKeys].map((key) => [key, seed]));
  return { ...schema, properties: { ...properties, config: { ...config, properties: seeds } } };
}

/** The schema of any manifest document, as `gantry schema` prints it. */
export function manifestSchema(): JsonSchema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Gantry manifest document',
    type: 'object',
    required: ['kind'],
    properties: { kind: { enum: [...kindNames, 'vars', 'hosts'] } },
    oneOf: [
      ...kindNames.map((kind) => withSecretReferences(withSeedMaps(kind, documentSchema(kind)))),
      varsSchema,
      hostsSchema,
    ],
  };
}

export const varsSchema: JsonSchema = {
  type: 'object',
  description: 'Variables: only names declared here or given with --var are put in for $NAME and ${NAME:-default}.',
  additionalProperties: false,
  required: ['kind', 'vars'],
  properties: {
    kind: { const: 'vars' },
    vars: { type: 'object', additionalProperties: mapScalar },
    patch: {
      type: 'boolean',
      description: 'Other values for what another document declares, as environments have them.',
    },
  },
};
