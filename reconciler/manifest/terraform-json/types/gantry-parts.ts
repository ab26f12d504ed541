// Arguments that all types of the gantry provider share, and the types that become parts of other documents: files, commands and
// snapshots of containers, snapshots of volumes.
import type { JsonObject } from '../../../core/documents/document.ts';
import type { ReferableType } from '../evaluation/instance.ts';
import type { Members } from '../evaluation/argument-shapes.ts';
import {
  ArgumentError,
  commandName,
  computedOf,
  isSet,
  refuse,
  same,
  withoutNull,
  wordOf,
  type PartType,
} from './resource-type.ts';

export const timeouts = { object: { create: 'text', read: 'text', update: 'text', delete: 'text' } } as const;

/** When omitted, references to them still do not yield null. */
const filled: ReadonlySet<string> = new Set([
  'target',
  'description',
  'config',
  'devices',
  'source',
  'architecture',
  'profiles',
  'ephemeral',
  'running',
  'allow_restart',
  'stop_timeout',
  'user',
  'group',
  'fail_on_error',
  'timeout',
  'type',
  'mode',
  'uid',
  'gid',
  'properties',
  'public',
  'auto_update',
  'stateful',
  'expires_at',
  'restricted',
  'force_destroy',
  'copy_aliases',
]);

export const taking = (
  shapes: Members,
  nothing: readonly string[] = [],
): Pick<ReferableType, 'arguments' | 'shapes' | 'filled'> => ({
  arguments: new Set(Object.keys(shapes)),
  shapes,
  filled: new Set(Object.keys(shapes).filter((name) => filled.has(name) && !nothing.includes(name))),
});

export const commandMembers = {
  command: 'texts',
  environment: 'map',
  cwd: 'text',
  user: 'number',
  group: 'number',
  fail_on_error: 'bool',
  timeout: 'text',
} as const;

/** The default file mode of the provider. */
export const plainMode = { mode: '0644' };

/** Documents have other keys for the time of a run and for its failure. */
export function commandOf({
  on,
  fail_on_error: fails,
  enabled: _enabled,
  record_output: _record,
  ...others
}: JsonObject): JsonObject {
  if (isSet(on) && !['create', 'change', 'start'].includes(wordOf(on)))
    throw new ArgumentError('exec', `exec: on must be one of create, change, start, not ${wordOf(on)}`);
  return {
    ...others,
    ...(on === 'create' ? { once: true } : on === 'start' ? { on_start: true } : {}),
    ...(fails === false ? { exit_code: 'any' } : {}),
  };
}

/** Why write-only arguments are refused. */
export const writeOnly = 'write-only values are for Terraform';

export const containerFile: PartType = {
  partOf: 'files',
  ...taking(
    {
      container: 'text',
      path: 'text',
      type: 'text',
      content: 'text',
      source: 'text',
      content_wo: 'text',
      content_wo_version: 'number',
      target: 'text',
      mode: 'text',
      uid: 'number',
      gid: 'number',
      timeouts,
    },
    ['source', 'target'],
  ),
  computed: computedOf('sha256'),
  entry: (args) => {
    refuse(args, { content_wo: writeOnly, content_wo_version: writeOnly });
    const { container: _container, timeouts: _timeouts, ...entry } = withoutNull(args);
    const type = entry['type'] ?? 'file';
    if (type === 'directory') return { mode: '0755', uid: 0, gid: 0, ...entry };
    if (type !== 'symlink') return { ...plainMode, ...entry };
    const { uid = 0, gid = 0, ...link } = entry;
    if (uid !== 0 || gid !== 0) throw new ArgumentError('uid', 'uid: links of documents have no owner of their own');
    return link;
  },
};

export const containerExec: PartType = {
  partOf: 'exec',
  ...taking({
    container: 'text',
    ...commandMembers,
    environment_wo: 'map',
    environment_wo_version: 'number',
    record_output: 'bool',
    triggers: 'map',
    destroy_command: 'texts',
    timeouts,
  }),
  computed: computedOf('exit_code', 'stdout', 'stderr'),
  entry: (args, name) => {
    refuse(args, { environment_wo: writeOnly, environment_wo_version: writeOnly });
    refuse(args, { destroy_command: 'documents have no command for the end: run it with gantry exec' });
    const { container: _container, timeouts: _timeouts, destroy_command: _command, ...entry } = withoutNull(args);
    return { name: commandName(name), ...commandOf(entry) };
  },
};

export const snapshot: PartType = {
  partOf: 'snapshots',
  ...taking({ container: 'text', name: 'text', stateful: 'bool', expires_at: 'text', timeouts }),
  computed: computedOf('created_at'),
  entry: (args) => same('name', 'stateful', 'expires_at')(args),
};

/** It is on the member of its volume, whose document says which. */
export const volumeSnapshot: PartType = {
  partOf: 'snapshots',
  isOfVolume: true,
  holder: 'volume',
  ...taking(
    { pool: 'text', volume: 'text', name: 'text', target: 'text', description: 'text', expires_at: 'text', timeouts },
    ['target'],
  ),
  computed: computedOf(),
  entry: same('name', 'description', 'expires_at'),
};
