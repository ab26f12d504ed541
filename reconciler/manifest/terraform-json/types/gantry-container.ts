// gantry_container of a Terraform configuration as a document: its source, files, commands and waits.
import { snapshotPolicyKeys } from '../../../../server/api/container/snapshot.ts';
import type { Json, JsonObject } from '../../../core/documents/document.ts';
import { isMap } from '../../../core/documents/json-values.ts';
import { commandOf, plainMode, writeOnly } from './gantry-parts.ts';
import { longestTimeout } from './longest-timeout.ts';
import {
  ArgumentError,
  configOf,
  isSet,
  objects,
  refuse,
  same,
  withoutNull,
  wordOf,
  type ObjectType,
} from './resource-type.ts';
import { resourceFacts } from './schema-facts.ts';

export const container: ObjectType = {
  kind: 'container',
  ...resourceFacts('gantry_container'),
  document: (args) => ({
    ...withoutWriteOnly(args),
    ...same('name', 'description', 'architecture', 'instance_type', 'profiles', 'ephemeral', 'devices', 'target')(args),
    source: originOf(args['source']),
    ...configOf(args, policyOf(args['snapshots'])),
    ...filesOf(args['files']),
    ...execOf(args['exec']),
    state: args['running'] === false ? 'stopped' : 'running',
  }),
  manage: (args) => ({
    ...(args['allow_restart'] === false ? { disruption: 'none' } : {}),
    ...waitsOf(args['wait_for']),
    ...longestTimeout(args),
  }),
  writtenAs: (args) => ({
    ...Object.fromEntries(
      Object.entries(snapshotPolicyKeys).map(([name, key]) => [`config.${key}`, `snapshots.${name}`]),
    ),
    ...Object.fromEntries(namesOf(args['files']).map((path, at) => [`files.${at}`, `files.${path}`])),
    ...Object.fromEntries(namesOf(args['exec']).map((name, at) => [`exec.${at}`, `exec.${name}`])),
    'manage.wait': 'wait_for',
    'manage.timeout': 'timeouts',
  }),
};

function withoutWriteOnly(args: JsonObject): JsonObject {
  refuse(args, { config_wo: writeOnly, config_wo_version: writeOnly });
  return {};
}

function originOf(source: Json | undefined): JsonObject {
  if (!isMap(source)) return { type: 'none' };
  if (source['type'] === 'backup') {
    const message = 'source: documents make no containers of backups: gantry backup import FILE NAME restores one';
    throw new ArgumentError('source', message);
  }
  if (isSet(source['snapshot']) && source['snapshot'] !== '') {
    const message =
      'source.snapshot: documents copy containers as they are: take snapshot away, or make the copy with Terraform';
    throw new ArgumentError('source', message);
  }
  return withoutNull({ ...source, snapshot: null });
}

function policyOf(policy: Json | undefined): JsonObject {
  if (!isMap(policy)) return {};
  return Object.fromEntries(
    Object.entries(withoutNull(policy)).map(([name, value]) => [snapshotPolicyKeys[name] ?? name, value] as const),
  );
}

function waitsOf(waits: Json | undefined): JsonObject {
  const list = objects(waits).map(({ type, nic, command, port, host, path, timeout }): Json => {
    const limit = isSet(timeout) ? { timeout } : {};
    if (type === 'command') return { exec: command ?? [], ...limit };
    if (type === 'ipv4' || type === 'ipv6') return { [type]: nic ?? true, ...limit };
    if (type === 'tcp') return { tcp: isSet(host) ? placeOf(wordOf(host), port) : (port ?? null), ...limit };
    if (type === 'file') return { file: path ?? '', ...limit };
    if (type === 'cloud-init') return { cloud_init: true, ...limit };
    if (type === 'delay')
      throw new ArgumentError('wait_for', 'wait_for: documents wait for a state, not for a time: take delay away');
    return { [typeof type === 'string' ? type : 'running']: true, ...limit };
  });
  return list.length === 0 ? {} : { wait: list };
}

const placeOf = (host: string, port: Json | undefined): string =>
  `${host.includes(':') ? `[${host}]` : host}:${wordOf(port)}`;

/** In the provider's order. */
const namesOf = (map: Json | undefined): readonly string[] => (isMap(map) ? Object.keys(map).toSorted() : []);
const entryOf = (map: Json | undefined, name: string): JsonObject => {
  const entry = isMap(map) ? map[name] : undefined;
  return isMap(entry) ? withoutNull(entry) : {};
};

function filesOf(files: Json | undefined): JsonObject {
  const paths = namesOf(files);
  return paths.length === 0 ? {} : { files: paths.map((path) => ({ path, ...plainMode, ...entryOf(files, path) })) };
}

function execOf(commands: Json | undefined): JsonObject {
  const names = namesOf(commands).filter((name) => entryOf(commands, name)['enabled'] !== false);
  return names.length === 0 ? {} : { exec: names.map((name) => ({ name, ...commandOf(entryOf(commands, name)) })) };
}
