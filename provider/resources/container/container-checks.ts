// Checks a configuration of a container beyond single values. Pure.
import { validateContainerConfig } from '../../../server/api/container/container-config.ts';
import { failure, type Diagnostic } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';
import { isMap, isUnknown, type Value } from '../../framework/value.ts';

export function sourceProblems(source: Value): readonly Diagnostic[] {
  if (!isMap(source) || Object.values(source).some(isUnknown)) return [];
  const { type } = source;
  const snapshot = source['snapshot'] ?? '';
  if (snapshot !== '' && type !== 'copy')
    return [
      failure('source.snapshot is only for copies', 'Use it with a source of type copy.', at('source', 'snapshot')),
    ];
  if (type === 'image') {
    const given = ['alias', 'fingerprint'].filter((key) => (source[key] ?? '') !== '');
    if (given.length === 1) return [];
    return [failure('The image is ambiguous or missing', 'Give exactly one of alias and fingerprint.', at('source'))];
  }
  if (type === 'backup' && (source['file'] ?? '') === '')
    return [failure('The backup file is missing', 'Give the path of its file in source.file.', at('source', 'file'))];
  const from = source['source'] ?? '';
  if (type === 'copy' && snapshot !== '' && typeof from === 'string' && from.includes('/')) {
    const detail = 'Name the container in source.source, and the snapshot in source.snapshot.';
    return [failure('The snapshot to copy is set twice', detail, at('source', 'source'))];
  }
  if (type !== 'copy' || from !== '') return [];
  return [failure('The container to copy is missing', 'Name the container in source.source.', at('source', 'source'))];
}

/** Attributes that a backup does not support, because importing one is not a request to create. */
export function backupProblems(source: Value, instanceType: Value): readonly Diagnostic[] {
  if (!isMap(source) || source['type'] !== 'backup' || instanceType === null) return [];
  const detail = 'A container from a backup gets its limits from config: write them there, and remove instance_type.';
  return [failure('instance_type cannot be combined with a backup', detail, at('instance_type'))];
}

export function secretProblems(secret: Value, version: Value, config: Value): readonly Diagnostic[] {
  if (secret === null) {
    const detail = 'config_wo_version needs config_wo, for example from an ephemeral variable.';
    return version === null ? [] : [failure('config_wo is missing', detail, at('config_wo_version'))];
  }
  if (!isMap(secret) || !isMap(config)) return [];
  const twice = Object.keys(secret).filter((key) => Object.hasOwn(config, key));
  return twice.map((key) =>
    failure(`${key} is set twice`, 'Leave it out of config or of config_wo.', at('config_wo', { key })),
  );
}

const policyNames = ['snapshots.schedule', 'snapshots.pattern', 'snapshots.expiry', 'snapshots.schedule.stopped'];

export function policyProblems(snapshots: Value, config: Value): readonly Diagnostic[] {
  if (!isMap(snapshots)) return [];
  const wrong = (['schedule', 'pattern', 'expiry'] as const).flatMap((name) => {
    const value = snapshots[name];
    if (typeof value !== 'string') return [];
    const problems = validateContainerConfig({ [`snapshots.${name}`]: value }, { profile: false });
    return problems.map(({ message }) =>
      failure(`Invalid value of snapshots.${name}`, `${message}.`, at('snapshots', name)),
    );
  });
  return [...wrong, ...givenTwice(config)];
}

function givenTwice(config: Value): readonly Diagnostic[] {
  if (!isMap(config)) return [];
  return policyNames
    .filter((key) => key in config)
    .map((key) =>
      failure(`${key} is set twice`, 'The attribute snapshots sets it; remove it from config.', at('config', { key })),
    );
}

export function fileProblems(files: Value): readonly Diagnostic[] {
  if (!isMap(files)) return [];
  return Object.entries(files).flatMap(([key, file]) => {
    if (!isMap(file)) return [];
    const given = ['content', 'source'].filter((name) => file[name] !== null && file[name] !== undefined);
    if (given.length === 1) return [];
    return [
      failure(
        'The content of a file is ambiguous or missing',
        'Give exactly one of content and source.',
        at('files', { key }),
      ),
    ];
  });
}

export function waitProblems(waits: Value): readonly Diagnostic[] {
  if (!Array.isArray(waits)) return [];
  return (waits as readonly Value[]).flatMap((wait, index) => {
    if (!isMap(wait) || typeof wait['type'] !== 'string') return [];
    const needed = neededByWait[wait['type']];
    if (needed === undefined || (wait[needed] ?? null) !== null) return [];
    return [failure(`The ${needed} to wait for is missing`, `Give ${needed}.`, at('wait_for', { index }))];
  });
}

const neededByWait: Readonly<Record<string, string>> = {
  command: 'command',
  tcp: 'port',
  file: 'path',
  delay: 'delay',
};
