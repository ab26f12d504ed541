// Arguments that all types of the gantry provider share, and the types that become parts of other documents: files, commands and
// snapshots of containers, snapshots of volumes.
import type { JsonObject } from '../../../core/documents/document.ts';
import {
  ArgumentError,
  commandName,
  isSet,
  refuse,
  same,
  withoutNull,
  wordOf,
  type PartType,
} from './resource-type.ts';
import { resourceFacts } from './schema-facts.ts';

/** The default file mode of the provider. */
export const plainMode = { mode: '0644' };

/** Converts the arguments about when a command runs and when it fails. */
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
  ...resourceFacts('gantry_container_file'),
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
  ...resourceFacts('gantry_container_exec'),
  entry: (args, name) => {
    refuse(args, { environment_wo: writeOnly, environment_wo_version: writeOnly });
    refuse(args, { destroy_command: 'documents have no command for the end: run it with gantry exec' });
    const { container: _container, timeouts: _timeouts, destroy_command: _command, ...entry } = withoutNull(args);
    return { name: commandName(name), ...commandOf(entry) };
  },
};

export const snapshot: PartType = {
  partOf: 'snapshots',
  ...resourceFacts('gantry_snapshot'),
  entry: (args) => same('name', 'stateful', 'expires_at')(args),
};

/** The snapshot is on the member of its volume, which the volume's document names. */
export const volumeSnapshot: PartType = {
  partOf: 'snapshots',
  isOfVolume: true,
  holder: 'volume',
  ...resourceFacts('gantry_volume_snapshot'),
  entry: same('name', 'description', 'expires_at'),
};
