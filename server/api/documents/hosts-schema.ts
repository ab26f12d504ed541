// The JSON Schema of a hosts file: several servers with labels, groups and variables. The reconciler reads it.
import { scalar, text, type JsonSchema } from '../schema/json-schema.ts';

const words: JsonSchema = { type: 'object', additionalProperties: scalar };
const labels: JsonSchema = { ...words, description: 'Labels for selection with -l and manage.hosts.' };
const vars: JsonSchema = { ...words, description: 'Variables of manifests: $NAME, ${NAME}, ${NAME:-default}.' };

const connection: Readonly<Record<string, JsonSchema>> = {
  client_cert: { ...text, description: 'Client certificate, PEM, relative to this file.' },
  client_key: { ...text, description: 'Key of the client certificate, PEM, relative to this file.' },
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
    vars: { ...vars, description: 'Variables of all hosts. Groups and hosts override them.' },
    groups: {
      type: 'object',
      description: 'Settings that several hosts share. Hosts name their groups; @NAME selects the hosts of a group.',
      additionalProperties: {
        anyOf: [{ type: 'object', additionalProperties: false, properties: { labels, vars } }, { type: 'null' }],
      },
    },
    hosts: {
      type: 'array',
      description: 'The hosts, in the order in which they are changed.',
      minItems: 1,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['name', 'address'],
        properties: {
          name: { ...text, description: 'Name of the host: for --host, and at the start of its lines.' },
          address: {
            ...text,
            description: 'unix:///path/to/unix.socket or https://name:8443; of a cluster several with commas between.',
          },
          ...connection,
          server_cert: {
            ...text,
            description: 'The only server certificate to accept: a PEM file relative to this file, or a fingerprint.',
          },
          groups: {
            type: 'array',
            items: text,
            description: 'Groups of the host. Later groups override earlier ones.',
          },
          labels,
          vars,
        },
      },
    },
  },
};
