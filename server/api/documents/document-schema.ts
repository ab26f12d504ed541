// The JSON Schema of the documents of one kind, derived from its create schema and the facts of its fields.
import { isMemberKind } from '../cluster/cluster-member-keys.ts';
import { kindSchemas, type KindSchemas } from '../kind-schemas.ts';
import { isInProject, kinds, type KindName } from '../kinds.ts';
import { facts } from '../schema/field.ts';
import { closed, mapScalar, scalar, text, type JsonSchema } from '../schema/json-schema.ts';
import { manageSchema } from './manage-schema.ts';
import { execSchema, filesSchema, snapshotsSchema, volumeSnapshotsSchema } from './manifest-inside-schema.ts';

/** The JSON Schema of an image source in a manifest: local files, another server or a URL. */
const imageFiles: JsonSchema = {
  file: { ...text, description: 'Image tarball, relative to the manifest.' },
  metadata: { ...text, description: 'Metadata tarball of a split image, relative to the manifest; with rootfs.' },
  rootfs: { ...text, description: 'Root file system of a split image, relative to the manifest; with metadata.' },
  aliases: {
    type: 'array',
    description: 'Names on the server that point at this image.',
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
    'Where the server fetches the image, instead of files: another server or a URL. It is fetched once; gantry update looks for a newer image.',
  additionalProperties: false,
  required: ['type'],
  properties: {
    type: { enum: ['image', 'url'], description: 'image: an image of another server. url: the image at a URL.' },
    url: { ...text, description: 'For type url: the URL. Its response names the image.' },
    server: { ...text, description: 'For type image: https://HOST[:PORT], or unix:///PATH of a local socket.' },
    protocol: { enum: ['simplestreams', 'lxd', 'svc'], description: 'Protocol of the server; default: lxd.' },
    alias: { ...text, description: 'Name of the image on that server.' },
    fingerprint: {
      ...scalar,
      description: 'Fingerprint of the image. With alias or url: the fingerprint that the image must have.',
    },
    certificate: { ...text, description: 'PEM of the only certificate that is accepted.' },
    secret: { ...text, description: 'Secret that gives access to a private image.', ...facts({ secret: true }) },
    mode: { enum: ['pull'], description: 'The server fetches the image; there is no other mode.' },
  },
};

const project: JsonSchema = {
  ...text,
  description: 'The project of the object; default: the project of the connection.',
  ...facts({ since: 'projects' }),
};

const omittedSource = ['operation', 'base-image', 'live', 'refresh', 'secrets'];

const memberOverrides: JsonSchema = {
  type: 'object',
  description: 'In a cluster: config of single members by name, on top of the config of all members.',
  additionalProperties: closed({ config: { type: 'object', additionalProperties: mapScalar } }, ['config']),
};

const target: JsonSchema = {
  ...text,
  description:
    'In a cluster: the member or @GROUP that has it. A container moves there, and stops for it; a volume does not move.',
};

const state = { enum: ['running', 'stopped'], default: 'running', description: 'Power state of the container.' };

/** Keys of documents without an API field. */
const ownProperties: Readonly<Partial<Record<KindName, Readonly<Record<string, JsonSchema>>>>> = {
  image: { ...imageFiles, source: imageSource },
  storage_volume: { snapshots: volumeSnapshotsSchema, target },
  container: { state, files: filesSchema, exec: execSchema, snapshots: snapshotsSchema, target },
};

export function documentSchema(kind: KindName): JsonSchema {
  const { create, object, omitted = [], required }: KindSchemas = kindSchemas[kind];
  const fields = create as unknown as ObjectSchema;
  const isNamed = kind !== 'server_config';
  const needed = required ?? (fields.required ?? []).filter((name) => name !== 'name' && isNamed);
  return {
    description: kinds[kind].doc,
    ...closed(
      {
        kind: { const: kind },
        name: { ...text, description: 'Name of the object.' },
        ...apiProperties(fields, object as unknown as ObjectSchema, omitted),
        ...ownProperties[kind],
        ...(isInProject(kind) ? { project } : {}),
        ...(isMemberKind(kind) ? { member_overrides: memberOverrides } : {}),
        patch: {
          type: 'boolean',
          description: 'Lay this document over the document of the same kind and name; null removes a key.',
        },
        labels: {
          type: 'object',
          additionalProperties: mapScalar,
          description: 'Labels for selection with -l. The server keeps them as user.gantry.label.KEY.',
        },
        manage: manageSchema,
      },
      ['kind', ...(isNamed ? ['name'] : []), ...needed],
    ),
  };
}

interface ObjectSchema {
  readonly required?: readonly string[];
  readonly properties: Readonly<Record<string, JsonSchema>>;
}

function apiProperties(
  create: ObjectSchema,
  object: ObjectSchema,
  omitted: readonly string[],
): Record<string, JsonSchema> {
  const out: Record<string, JsonSchema> = {};
  for (const [name, schema] of Object.entries(create.properties)) {
    if (name === 'name' || omitted.includes(name)) continue;
    const facts = describedBy(object.properties[name]);
    // A field that may be empty may also be null.
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
    description: 'Source of a new object. It does not change an existing one.',
    ...closed(Object.fromEntries(kept.map(([name, member]) => [name, lenient(member, false)])), ['type']),
  };
}

/** Texts may be written as numbers and booleans; in maps null removes a key. */
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
  const items = schema['items'] as JsonSchema | undefined;
  return schema['type'] === 'array' && items?.['type'] === 'object' ? { ...schema, items: lenientItem(items) } : schema;
}

function lenientItem(item: JsonSchema): JsonSchema {
  const { properties, required } = item as unknown as ObjectSchema;
  const members = Object.entries(properties).map(([name, member]) => [name, lenient(member, false)] as const);
  return closed(Object.fromEntries(members), required);
}
