// The JSON Schema of `manage:`, the rules for the reconciler's handling of an object.
import { duration, scalar, text, type JsonSchema } from '../schema/json-schema.ts';

const nicOrAny: JsonSchema = { anyOf: [text, { enum: [true] }] };
const hostAndPort = String.raw`^((\[[0-9A-Fa-f:.]+\]|[^:\s]+):)?[0-9]{1,5}$`;

const waits: Readonly<Record<string, JsonSchema>> = {
  running: { enum: [true], description: 'The container runs.' },
  ipv4: { ...nicOrAny, description: 'A global IPv4 address on this interface; true: on any but lo.' },
  ipv6: { ...nicOrAny, description: 'A global IPv6 address on this interface; true: on any but lo.' },
  exec: {
    type: 'array',
    items: scalar,
    minItems: 1,
    description: 'This command, run inside the container, ends with code 0.',
  },
  tcp: {
    anyOf: [
      { type: 'integer', minimum: 1, maximum: 65_535 },
      { ...text, pattern: hostAndPort },
    ],
    description:
      'A port or host:port that accepts connections from the machine where gantry runs. A bare port is tried at the first address of the container.',
  },
  file: { ...text, pattern: '^/', description: 'This absolute path exists inside the container.' },
  cloud_init: { enum: [true], description: 'cloud-init has finished inside the container.' },
};

export const waitNames: readonly string[] = Object.keys(waits);

export const manageSchema: JsonSchema = {
  type: 'object',
  description: 'How the reconciler treats the object; never sent to the server.',
  additionalProperties: false,
  properties: {
    mode: {
      enum: ['merge', 'exact', 'add'],
      default: 'merge',
      description:
        'merge: gantry owns only the keys written here. exact: it owns every key that the server did not make. add: as merge, but a key that is removed from the document stays on the server.',
    },
    image: {
      enum: ['none', 'new-only', 'rebuild', 'recreate'],
      default: 'none',
      description: 'Effect on existing containers when gantry.lock holds another image for their alias.',
    },
    prune: {
      enum: [true, false, 'confirm'],
      description:
        'Whether --prune may delete the object when it is no longer declared. confirm: only with --allow-destroy.',
    },
    on_delete: {
      enum: ['delete', 'orphan'],
      default: 'delete',
      description: 'Effect of destroy and prune: delete the object, or leave it on the server, unowned.',
    },
    set: { ...text, pattern: '^[a-z0-9][a-z0-9_-]{0,39}$', description: 'Name of the set, the same in all documents.' },
    hosts: {
      anyOf: [text, { type: 'array', items: text, minItems: 1 }],
      description:
        'The hosts of --hosts that get the document: NAME, NAME*, @GROUP or labels such as role=web. Any entry of a list may match. Default: all hosts.',
    },
    protect: { type: 'boolean', default: false, description: 'Never delete or replace the object.' },
    ignore: {
      type: 'array',
      items: {
        anyOf: [
          text,
          {
            type: 'object',
            properties: {
              path: { ...text, description: 'The ignored path.' },
              until: {
                ...text,
                description: 'The last day of the rule (2030-12-31, UTC), or a point in time (2030-12-31T12:00:00Z).',
              },
              expires: { ...text, description: 'The same as until.' },
              reason: { ...text, description: 'Shown with the difference, and when the rule has expired.' },
            },
            required: ['path'],
            additionalProperties: false,
          },
        ],
      },
      description: 'Paths that are neither compared nor written, permanently or until a day; * matches any text.',
    },
    policy: {
      type: 'array',
      items: { enum: ['observe', 'create', 'update', 'delete'] },
      minItems: 1,
      description:
        'Changes of the object that are allowed; default: all. Without update, differences are listed, but never written or owned. Without delete, destroy and prune leave the object on the server, unowned.',
    },
    power: {
      enum: ['managed', 'ignore'],
      default: 'managed',
      description: 'ignore: never start, stop or restart the container.',
    },
    disruption: {
      enum: ['none', 'restart', 'recreate'],
      default: 'restart',
      description: 'The most that a change may cost: nothing, a restart, or deleting and creating the object.',
    },
    depends_on: {
      type: 'array',
      items: text,
      description:
        'kind/name of objects that must be ready before this one. An object that is not declared here must exist on the server; a container must run there and be ready according to its own set.',
    },
    wave: {
      anyOf: [{ type: 'integer', minimum: -1000, maximum: 1000 }, text],
      default: 0,
      description:
        'All objects of a lower wave are ready before a higher wave begins; a destroy goes the other way. Objects that this one needs join its wave unless they name one.',
    },
    wait: {
      type: 'array',
      description: 'Conditions that must hold after a start before the object counts as ready.',
      items: {
        anyOf: [
          { enum: ['running', 'ipv4', 'ipv6', 'cloud_init'] },
          {
            type: 'object',
            properties: { ...waits, timeout: { ...duration, default: '60s', description: 'Time limit of the wait.' } },
            additionalProperties: false,
            // Exactly one of them.
            oneOf: Object.keys(waits).map((name) => ({ required: [name] })),
          },
        ],
      },
    },
    timeout: { ...duration, default: '5m', description: 'Time limit of each step: 90s, 5m, 1h; a number is seconds.' },
  },
};
