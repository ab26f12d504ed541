// The resource types of the well-known providers for LXD and Incus, whose configurations then need no change, as far as their
// arguments have words in documents.
import type { KindName } from '../../../server/api/kinds.ts';
import { projectKinds } from '../../../server/api/manifest-schema.ts';
import type { Json, JsonObject } from '../../core/document.ts';
import { isMap } from '../../core/kinds/values.ts';
import type { Members } from './argument-shapes.ts';
import {
  ArgumentError,
  computedOf,
  configOf,
  isSet,
  objects,
  same,
  wordOf,
  type Arguments,
  type ObjectType,
} from './resource-type.ts';

/** What would mean something else as a text. Blocks stay as they are written. */
const scalars: Members = {
  name: 'text',
  project: 'text',
  target: 'text',
  description: 'text',
  config: 'map',
  ephemeral: 'bool',
  running: 'bool',
  allow_restart: 'bool',
  wait_for_network: 'bool',
};

/** Provider arguments that are about the connection. */
const links = ['remote', 'project', 'target', 'timeouts'];

/** `device { name, type, properties }`, of the LXD and Incus providers. */
function devicesOf(devices: Json | undefined): JsonObject {
  const entries = objects(devices).map(
    ({ name, type, properties }) =>
      [wordOf(name), { type: type ?? null, ...(isMap(properties) ? properties : {}) }] as const,
  );
  return entries.length === 0 ? {} : { devices: Object.fromEntries(entries) };
}

function foreign(
  kind: KindName,
  names: readonly string[],
  more: readonly string[],
  document: (args: Arguments) => JsonObject,
): ObjectType {
  return {
    kind,
    arguments: new Set([...names, ...more, ...links]),
    computed: computedOf(
      'status',
      'location',
      'ipv4_address',
      'ipv6_address',
      'mac_address',
      'managed',
      'fingerprint',
      'members',
      'interfaces',
    ),
    writtenAs: () => ({ devices: 'device', 'manage.wait': 'wait_for' }),
    shapes: scalars,
    document: (args) => ({
      ...same(...names, ...(projectKinds.includes(kind) ? ['project'] : []))(args),
      ...same(...(kind === 'container' ? ['target'] : []))(args),
      ...document(args),
    }),
  };
}

/** `debian/12`, a fingerprint; `images:debian/12` lies on a server that only the provider's configuration knows. */
function imageSource(reference: Json | undefined): JsonObject {
  if (!isSet(reference) || reference === '') return { source: { type: 'none' } };
  const text = wordOf(reference);
  if (text.includes(':')) {
    throw new ArgumentError(
      'image',
      `the remote of ${text} is known to the provider only: use an alias or a fingerprint of this server`,
    );
  }
  return {
    source: /^[0-9a-f]{12,64}$/.test(text) ? { type: 'image', fingerprint: text } : { type: 'image', alias: text },
  };
}

function limitsOf(limits: Json | undefined): JsonObject {
  return isMap(limits)
    ? Object.fromEntries(
        Object.entries(limits).map(([key, value]) => [key.startsWith('limits.') ? key : `limits.${key}`, value]),
      )
    : {};
}

const instance: ObjectType = {
  ...foreign(
    'container',
    ['name', 'description', 'architecture', 'profiles', 'ephemeral'],
    [
      'image',
      'type',
      'running',
      'config',
      'device',
      'limits',
      'wait_for',
      'wait_for_network',
      'allow_restart',
      'execs',
      'exec',
      'file',
      'source_instance',
    ],
    (args) => {
      if (isSet(args['type']) && args['type'] !== 'container')
        throw new ArgumentError('type', 'only containers are managed');
      for (const name of ['execs', 'exec', 'file', 'source_instance'] as const) {
        const value = args[name];
        if (isSet(value) && Object.keys(value).length > 0) throw new ArgumentError(name, `${name} is not carried over`);
      }
      return {
        ...imageSource(args['image']),
        ...configOf(args, limitsOf(args['limits'])),
        ...devicesOf(args['device']),
        state: args['running'] === false ? 'stopped' : 'running',
      };
    },
  ),
  manage: (args) => ({
    ...(args['allow_restart'] === false ? { disruption: 'none' } : {}),
    ...(args['wait_for_network'] === true ? { wait: ['ipv4'] } : foreignWaits(args['wait_for'])),
  }),
};

function foreignWaits(waits: Json | undefined): JsonObject {
  const list = objects(waits).map(({ type, nic }): Json => {
    if (type === 'ipv4' || type === 'ipv6') return { [type]: nic ?? true };
    throw new ArgumentError('wait_for', `waiting for ${wordOf(type)} is not carried over`);
  });
  return list.length === 0 ? {} : { wait: list };
}

function ofBoth(prefix: 'lxd' | 'incus'): Readonly<Record<string, ObjectType>> {
  return {
    [`${prefix}_instance`]: instance,
    [`${prefix}_container`]: instance,
    [`${prefix}_profile`]: foreign('profile', ['name', 'description', 'config'], ['device'], (args) =>
      devicesOf(args['device']),
    ),
    [`${prefix}_project`]: foreign('project', ['name', 'description', 'config'], ['force_destroy'], () => ({})),
    [`${prefix}_network`]: foreign(
      'network',
      ['name', 'description', 'type', 'config', 'member_overrides'],
      [],
      () => ({}),
    ),
    [`${prefix}_storage_pool`]: foreign(
      'storage_pool',
      ['name', 'description', 'driver', 'member_overrides'],
      ['config', 'source'],
      (args) => configOf(args, isSet(args['source']) ? { source: args['source'] } : {}),
    ),
  };
}

export const portedTypes: Readonly<Record<string, ObjectType>> = { ...ofBoth('lxd'), ...ofBoth('incus') };
