// The container kind: its references, the effects of its changes, and the keys that the server sets.
import { architectureName } from '../../../server/api/image/architectures.ts';
import type { Effect } from '../../../server/api/schema/field.ts';
import type { Document, Json } from '../documents/document.ts';
import {
  configEffect,
  configProblems,
  deviceEffect,
  deviceProblems,
  isComputedConfig,
  isRootDisk,
} from '../settings/setting-effects.ts';
import { deviceReferences } from './devices.ts';
import { defineKind, type Reference } from './kind.ts';
import { isMap, mapOf, presentDevices, presentTexts, textOf, textsOf } from '../documents/json-values.ts';

export const container = defineKind('container', {
  fields: {
    description: 'scalar',
    architecture: 'scalar',
    ephemeral: 'scalar',
    profiles: 'list',
    config: 'map',
    devices: 'devices',
    files: 'files',
  },
  blanks: { description: '', ephemeral: false },
  chosen: ['architecture'],
  refills: ([field, key = '']) => field === 'config' && (key.startsWith('image.') || key.startsWith('volatile.')),
  holdsData: true,
  putFields: ['architecture', 'config', 'devices', 'ephemeral', 'profiles', 'description'],
  references: containerReferences,
  liveReferences: (live) => [
    ...textsOf(live['profiles']).map((name) => ({ kind: 'profile', name }) as const),
    ...deviceReferences(live['expanded_devices']),
  ],
  // image.* is the server's copy of the image's properties, although a client may write it. volatile.* keys differ between servers.
  isComputed: ([field, key = '']) =>
    field === 'config' && (key.startsWith('image.') || key.startsWith('volatile.') || isComputedConfig(key)),
  // amd64 and x86_64 are the same architecture; the server may store either name.
  fulfils: (key, live, desired) =>
    key === 'architecture' && live !== undefined && architectureName(live) === (architectureName(desired) ?? desired),
  effectOf: ([field, key = '', property], live, after) => {
    if (field === 'architecture') return 'recreate';
    if (field === 'config') return configEffect(key);
    return field === 'devices' ? ownDeviceEffect(mapOf(live['devices'])[key], property, after) : 'live';
  },
  validate: (values) => [
    ...configProblems(presentTexts(values['config']), false),
    ...deviceProblems(presentDevices(values['devices'])),
    ...sourceProblems(values),
    ...repeatedProfiles(values['profiles']),
  ],
});

/** The effect of the device alone; expand-profiles.ts finds out with the profiles whether a root disk really moves. */
function ownDeviceEffect(device: Json | undefined, property: string | undefined, after: Json | undefined): Effect {
  const before = isMap(device) ? presentTexts(device) : undefined;
  if (property !== undefined) return deviceEffect(before, presentTexts({ ...before, [property]: after ?? null }));
  const next = isMap(after) ? presentTexts(after) : undefined;
  const isRoot = [before, next].some((side) => side !== undefined && isRootDisk(side));
  return isRoot ? 'live' : deviceEffect(before, next);
}

function containerReferences({ values }: Document): readonly Reference[] {
  return [
    ...profileReferences(values['profiles']),
    ...deviceReferences(values['devices']),
    ...sourceReferences(values),
  ];
}

function profileReferences(profiles: Document['values'][string] | undefined): readonly Reference[] {
  // An omitted list means [default] (spec 2.5): the container then needs that profile like a written one.
  if (profiles === undefined) return [{ kind: 'profile', name: 'default', path: 'profiles', severity: 'error' }];
  return textsOf(profiles).map((name, index) => ({
    kind: 'profile',
    name,
    path: `profiles.${index}`,
    severity: 'error',
  }));
}

function sourceReferences(values: Document['values']): readonly Reference[] {
  const source = mapOf(values['source']);
  const from = textOf(source['source']);
  if (source['type'] === 'copy' && from !== undefined) {
    const project = textOf(source['project']);
    // A snapshot is `CONTAINER/SNAPSHOT`.
    const name = from.split('/')[0] ?? '';
    const of = project === undefined ? {} : { project };
    return [{ kind: 'container', name, ...of, path: 'source.source', severity: 'error' }];
  }
  const isLocal = source['type'] === 'image' && source['server'] === undefined;
  if (!isLocal) return [];
  const alias = textOf(source['alias']);
  if (alias !== undefined) return [{ kind: 'image_alias', name: alias, path: 'source.alias', severity: 'error' }];
  const fingerprint = textOf(source['fingerprint']);
  return fingerprint === undefined
    ? []
    : [{ kind: 'image', name: fingerprint, path: 'source.fingerprint', severity: 'error' }];
}

const repeatedProfiles = (profiles: Json | undefined): { path: string; message: string }[] =>
  textsOf(profiles).flatMap((name, index, all) =>
    all.indexOf(name) === index ? [] : [{ path: `profiles.${index}`, message: `the profile ${name} is listed twice` }],
  );

const sourceTypes = ['image', 'copy', 'none'];

function sourceProblems(values: Document['values']): { path: string; message: string }[] {
  if (values['source'] === undefined) return [];
  const source = mapOf(values['source']);
  const type = textOf(source['type']);
  if (type === undefined || !sourceTypes.includes(type)) {
    return [{ path: 'source.type', message: `must be one of ${sourceTypes.join(', ')}` }];
  }
  const given = ['alias', 'fingerprint', 'properties'].filter((key) => source[key] !== undefined);
  if (type === 'image' && given.length !== 1) {
    const message = 'must name the image by exactly one of alias, fingerprint, properties';
    return [{ path: 'source', message }];
  }
  return type === 'copy' && textOf(source['source']) === undefined
    ? [{ path: 'source.source', message: 'is required: the name of the container to copy' }]
    : [];
}
