// The JSON Schema of what a manifest says of the inside of a container: files, commands, snapshots. What no server knows and the
// reconciler does by other calls.
import type { JsonSchema } from './manifest-schema.ts';

const text = { type: 'string' };
/** Numbers of YAML arrive as they are written. */
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

/** `value`: the schema of a value that may be taken from a secret store. */
export const filesSchema = (value: JsonSchema): JsonSchema => ({
  type: 'array',
  description:
    'Files, directories and links inside, there before the first start and compared by content, mode and owner. One that is no longer declared is deleted.',
  items: {
    type: 'object',
    required: ['path'],
    additionalProperties: false,
    properties: {
      path: { ...text, description: 'Absolute path inside. Directories that lead to it are made.' },
      type: {
        enum: ['file', 'directory', 'symlink'],
        description: 'Left out: as content, source and target say; directory must be written.',
      },
      content: { ...value, description: 'The content as text, or where it is taken from as a secret.' },
      content_base64: { ...text, description: 'The content of a file that is no text.' },
      source: {
        ...text,
        description:
          'Local file, or directory that is copied with all that is in it; relative to the manifest. Links in it stay links.',
      },
      target: { ...text, description: 'What a symbolic link points to.' },
      mode: {
        ...text,
        description:
          'Permissions as octal text: "0644". Left out: 0644, 0755 for local files that can be executed and new directories.',
      },
      uid: {
        ...id,
        description: 'Owner as the container sees it. Left out: 0; of a directory that is there: as it is.',
      },
      gid: {
        ...id,
        description: 'Group as the container sees it. Left out: 0; of a directory that is there: as it is.',
      },
    },
  },
});

const command: JsonSchema = {
  anyOf: [
    text,
    {
      type: 'array',
      items: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] },
      minItems: 1,
    },
  ],
};

export const execSchema = (value: JsonSchema, duration: JsonSchema): JsonSchema => ({
  type: 'array',
  description:
    'Commands to run inside while it runs, in this order: once after it was made, and again when the entry changes. Another exit code fails the apply, and the next one runs it again.',
  items: {
    type: 'object',
    required: ['name', 'command'],
    additionalProperties: false,
    properties: {
      name: { ...text, description: 'What it is called; what has run is remembered under this name.' },
      command: { ...command, description: 'Command and arguments as a list, or text for /bin/sh -c.' },
      environment: {
        type: 'object',
        additionalProperties: value,
        description: 'Environment, over that of the container.',
      },
      cwd: { ...text, description: 'Directory to run in.' },
      user: { ...id, description: 'User id inside. Left out: 0.' },
      group: { ...id, description: 'Group id inside. Left out: 0.' },
      once: { type: 'boolean', description: 'Never again in this container, also when the entry changes.' },
      on_change: {
        type: 'array',
        items: text,
        minItems: 1,
        description:
          'Again when one of these changes: paths of declared files or directories above them, keys such as config.limits.memory.',
      },
      on_start: { type: 'boolean', description: 'Again after every start, at the next apply at the latest.' },
      triggers: {
        type: 'object',
        additionalProperties: value,
        description: 'Any values, of any names: again when one changes.',
      },
      unless: { ...command, description: 'Not needed when this command ends with 0; asked before it would run.' },
      creates: { ...text, description: 'Not needed when there is something at this path; what it must make.' },
      exit_code: {
        anyOf: [...code.anyOf, { type: 'array', items: code, minItems: 1 }, { enum: ['any'] }],
        default: 0,
        description: 'The code, or codes, of success; any: whatever it ends with.',
      },
      timeout: { ...duration, default: '5m', description: 'It is killed after that, and has failed.' },
    },
  },
});

const snapshotList: JsonSchema = {
  type: 'array',
  items: {
    type: 'object',
    required: ['name'],
    additionalProperties: false,
    properties: {
      name: { ...text, description: 'Name of the snapshot.' },
      description: { ...text, description: 'Description.' },
      expires_at: { ...text, description: 'When the server deletes it, such as 2030-12-31 or 2030-12-31T06:00:00Z.' },
      stateful: { type: 'boolean', description: 'With the state of its processes.' },
    },
  },
};

/** Of a volume: nobody takes them by a schedule, and none ends by itself. */
export const volumeSnapshotsSchema: JsonSchema = {
  type: 'array',
  description: 'Snapshots that are taken once, at the end of the apply that finds them missing, and never deleted.',
  items: {
    type: 'object',
    required: ['name'],
    additionalProperties: false,
    properties: {
      name: { ...text, description: 'Name of the snapshot.' },
      description: { ...text, description: 'Description.' },
    },
  },
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
        schedule: { ...text, description: 'When, as five cron fields: config snapshots.schedule.' },
        pattern: { ...text, description: 'Names: config snapshots.pattern.' },
        expiry: { ...text, description: 'Life of a snapshot, such as 2w: config snapshots.expiry.' },
        stopped: { type: 'boolean', description: 'Also while it is stopped: config snapshots.schedule.stopped.' },
        named: { ...snapshotList, description: 'Snapshots that are taken once, beside the automatic ones.' },
      },
    },
  ],
};
