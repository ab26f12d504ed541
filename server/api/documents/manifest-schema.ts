// The JSON Schema of manifests as users write them: one source for editors, validation and docs.
import { plainSeedKeys, seedKeys } from '../container/cloud-init-seed-keys.ts';
import { kindNames, type KindName } from '../kinds.ts';
import { documentSchema } from './document-schema.ts';
import { hostsSchema } from './hosts-schema.ts';
import { mapScalar, text, type JsonSchema } from '../schema/json-schema.ts';

const secretReference: JsonSchema = {
  type: 'object',
  description:
    'Where the value comes from, so that no manifest contains it: an environment variable, a file, a sops file or Vault.',
  properties: {
    from_env: text,
    from_file: text,
    from_sops: { ...text, pattern: '#' },
    from_vault: { ...text, pattern: '#' },
  },
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
};

/** Every value of a map may refer to a secret, which is inserted before the document is checked. */
function withSecretReferences(schema: JsonSchema): JsonSchema {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value === mapScalar.anyOf ? [...value, secretReference] : value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  return walk(schema) as JsonSchema;
}

/** Cloud-init seeds may be maps, which are rendered to text before the document is checked. */
function withSeedMaps(kind: KindName, schema: JsonSchema): JsonSchema {
  const properties = schema['properties'] as Readonly<Record<string, JsonSchema>>;
  const config = properties['config'];
  if ((kind !== 'container' && kind !== 'profile') || config === undefined) return schema;
  const description = 'A text, or a map that becomes a text; maps are compared as maps.';
  const seed = { anyOf: [...mapScalar.anyOf, { type: 'object' }], description };
  const seeds = Object.fromEntries([...seedKeys, ...plainSeedKeys].map((key) => [key, seed]));
  return { ...schema, properties: { ...properties, config: { ...config, properties: seeds } } };
}

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
  description: 'Variables. Only names declared here or given with --var replace $NAME and ${NAME:-default}.',
  additionalProperties: false,
  required: ['kind', 'vars'],
  properties: {
    kind: { const: 'vars' },
    vars: { type: 'object', additionalProperties: mapScalar },
    patch: { type: 'boolean', description: 'Override variables that another document declares, as environments do.' },
  },
};
