// The JSON Schema of files, commands and snapshots of a container. The API has no fields for them: the reconciler uses other calls.
import { closed, duration, mapScalar, scalar, text, type JsonSchema } from '../schema/json-schema.ts';

/** YAML numbers keep their spelling. */
const id = {
  anyOf: [
    { type: 'integer', minimum: 0, maximum: 4_294_967_294 },
    { ...text, pattern: '^[0-9]{1,9}$' },
  ],
};
const code = {
  anyOf: [
    { type: 'integer', minimum: 0, maximum: 255 },
    { ...text, pattern: '^[0-9]{1,3}$' },
  ],
};

export const filesSchema: JsonSchema = {
  type: 'array',
  description:
    'Files, directories and links inside the container. They exist before the first start, and are compared by content, mode and owner. An entry that is no longer declared is deleted.',
  items: {
    type: 'object',
    required: ['path'],
    additionalProperties: false,
    properties: {
      path: { ...text, description: 'Absolute path inside the container. Missing parent directories are created.' },
      type: {
        enum: ['file', 'directory', 'symlink'],
        description: 'Default: follows from content, source or target. A directory must be declared by type.',
      },
      content: { ...mapScalar, description: 'The content as text, or a reference to a secret.' },
      content_base64: { ...text, description: 'The content of a binary file.' },
      source: {
        ...text,
        description:
          'A local file, or a directory that is copied with its contents; relative to the manifest. Links stay links.',
      },
      target: { ...text, description: 'Target of a symbolic link.' },
      mode: {
        ...text,
        description:
          'Permissions as octal text: "0644". Default: 0644; 0755 for executable local files and new directories.',
      },
      uid: { ...id, description: 'Owner inside the container. Default: 0; an existing directory keeps its owner.' },
      gid: { ...id, description: 'Group inside the container. Default: 0; an existing directory keeps its group.' },
    },
  },
};

const command: JsonSchema = { anyOf: [text, { type: 'array', items: scalar, minItems: 1 }] };

export const execSchema: JsonSchema = {
  type: 'array',
  description:
    'Commands to run inside the running container, in this order: once after its creation, and again when the entry changes. Any other exit code fails the apply, and the next apply runs the command again.',
  items: {
    type: 'object',
    required: ['name', 'command'],
    additionalProperties: false,
    properties: {
      name: { ...text, description: 'Name of the command; gantry records under it what has run.' },
      command: { ...command, description: 'Command and arguments as a list, or text for /bin/sh -c.' },
      environment: {
        type: 'object',
        additionalProperties: mapScalar,
        description: 'Environment variables, on top of those of the container.',
      },
      cwd: { ...text, description: 'Working directory.' },
      user: { ...id, description: 'User ID inside the container. Default: 0.' },
      group: { ...id, description: 'Group ID inside the container. Default: 0.' },
      once: { type: 'boolean', description: 'Run only once in this container, even when the entry changes.' },
      on_change: {
        type: 'array',
        items: text,
        minItems: 1,
        description:
          'Run again when one of these changes: declared files, directories above them, or keys such as config.limits.memory.',
      },
      on_start: { type: 'boolean', description: 'Run again after every start, at the next apply at the latest.' },
      triggers: {
        type: 'object',
        additionalProperties: mapScalar,
        description: 'Free names and values: the command runs again when one changes.',
      },
      unless: { ...command, description: 'Skip the command when this check ends with 0. The check runs first.' },
      creates: { ...text, description: 'Skip the command when this path exists. The command must create it.' },
      exit_code: {
        anyOf: [...code.anyOf, { type: 'array', items: code, minItems: 1 }, { enum: ['any'] }],
        default: 0,
        description: 'The exit code or codes that mean success; any: every code.',
      },
      timeout: {
        ...duration,
        default: '5m',
        description: 'Time limit: the command is killed after it, and has failed.',
      },
    },
  },
};

const snapshotProperties: Readonly<Record<string, JsonSchema>> = {
  name: { ...text, description: 'Name of the snapshot.' },
  description: { ...text, description: 'Description.' },
};

/** Snapshots of a volume: no schedule makes them, and none expires. */
export const volumeSnapshotsSchema: JsonSchema = {
  type: 'array',
  description: 'Snapshots that are taken once, at the end of the apply that finds them missing, and never deleted.',
  items: closed(snapshotProperties, ['name']),
};

const snapshotList: JsonSchema = {
  type: 'array',
  items: closed(
    {
      ...snapshotProperties,
      expires_at: { ...text, description: 'When the server deletes it, such as 2030-12-31 or 2030-12-31T06:00:00Z.' },
      stateful: { type: 'boolean', description: 'Include the state of the processes.' },
    },
    ['name'],
  ),
};

export const snapshotsSchema: JsonSchema = {
  description:
    'Snapshots that are taken once, at the end of the apply that finds them missing, and never deleted; or a map with the policy of automatic ones.',
  anyOf: [
    snapshotList,
    {
      type: 'object',
      additionalProperties: false,
      properties: {
        schedule: { ...text, description: 'Schedule as five cron fields: config snapshots.schedule.' },
        pattern: { ...text, description: 'Pattern of the names: config snapshots.pattern.' },
        expiry: { ...text, description: 'Lifetime of a snapshot, such as 2w: config snapshots.expiry.' },
        stopped: {
          type: 'boolean',
          description: 'Also take snapshots of the stopped container: config snapshots.schedule.stopped.',
        },
        named: { ...snapshotList, description: 'Snapshots that are taken once, in addition to the automatic ones.' },
      },
    },
  ],
};
