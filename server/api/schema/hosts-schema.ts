// The JSON Schema of a hosts file: several servers with labels, groups and variables. Reading it is the reconciler's work.
import type { JsonSchema } from './manifest-schema.ts';

const text = { type: 'string' };
const scalar = { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] };
const words: JsonSchema = { type: 'object', additionalProperties: scalar };
const labels: JsonSchema = { ...words, description: 'Words of your own for selection with -l and manage.hosts.' };
const vars: JsonSchema = { ...words, description: 'Variables of manifests: $NAME, ${NAME}, ${NAME:-default}.' };

const connection: Readonly<Record<string, JsonSchema>> = {
  client_cert: { ...text, description: 'Client certificate, PEM, relative to this file.' },
  client_key: { ...text, description: 'Its key, PEM, relative to this file.' },
  project: { ...text, description: 'Project on the server.' },
};

export const hostsSchema: JsonSchema = {
  type: 'object',
  description: 'Several servers for --hosts.',
  additionalProperties: false,
  required: ['kind', 'hosts'],
  properties: {
    kind: { const: 'hosts' },
    ...connection,
    vars: { ...vars, description: 'Variables of all hosts; those of groups and hosts win over them.' },
    groups: {
      type: 'object',
      description: 'What hosts have in common, by the names that they give under groups; @NAME chooses them.',
      additionalProperties: {
        anyOf: [{ type: 'object', additionalProperties: false, properties: { labels, vars } }, { type: 'null' }],
      },
    },
    hosts: {
      type: 'array',
      description: 'In the order in which they are worked on.',
      minItems: 1,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['name', 'address'],
        properties: {
          name: { ...text, description: 'Chooses it with --host, and stands before its lines.' },
          address: { ...text, description: 'unix:///path/to/unix.socket or https://name:8443' },
          ...connection,
          server_cert: {
            ...text,
            description: 'The one server certificate to accept: a PEM file relative to this file, or a fingerprint.',
          },
          groups: { type: 'array', items: text, description: 'Later ones win over earlier ones.' },
          labels,
          vars,
        },
      },
    },
  },
};
