// Explains what a manifest may contain: a kind, a field, a config key or a device property, from the tables that validate it. Pure.
import { containerConfigKey, containerConfigKeys } from '../../../server/api/container/container-config.ts';
import { deviceSchemas, type DeviceTypeName } from '../../../server/api/devices/index.ts';
import { hostsSchema } from '../../../server/api/documents/hosts-schema.ts';
import { kindNames, kindRow, kinds, type KindName } from '../../../server/api/kinds.ts';
import { documentSchema } from '../../../server/api/documents/document-schema.ts';
import type { JsonSchema } from '../../../server/api/schema/json-schema.ts';
import { findProjectConfigKey, projectConfigKeys } from '../../../server/api/project/project-config.ts';
import { findNetworkConfigKey, networkConfigKeys } from '../../../server/api/network/network-config.ts';
import { serverConfigKeys, type ServerConfigKey } from '../../../server/api/server/server-config.ts';
import { isNewerSeed, isSeedKey } from '../../../server/api/container/cloud-init-seed-keys.ts';
import { lxdKey } from '../../../server/api/server/lxd-keys.ts';
import { poolConfigKeys, volumeConfigKeys, type StorageConfigKey } from '../../../server/api/storage/storage-config.ts';
import { foreignKey, foreignNames } from '../settings/lxd-settings.ts';
import { coreKind } from './index.ts';

type Fact = readonly [string, string];

export interface Explanation {
  /** `container.config.limits.memory`. */
  readonly path: string;
  readonly type: string;
  readonly doc: string;
  readonly facts: readonly Fact[];
  /** The members, each with the first sentence of its description. */
  readonly members: readonly { readonly name: string; readonly type: string; readonly doc: string }[];
}

/** A wrong word, with the names that are valid in its place. */
export interface Unknown {
  readonly known: readonly string[];
  /** The part of the path that is wrong. */
  readonly word: string;
}

export const explainKinds = (): readonly Explanation['members'][number][] => [
  ...kindNames.map((kind) => ({ name: kind, type: 'kind', doc: kinds[kind].doc })),
  { name: 'hosts', type: 'file', doc: textAt(hostsSchema, 'description') },
];

/** `rest` dotted; config keys may hold dots themselves. */
export function explain(kind: KindName | 'hosts', rest: string): Explanation | Unknown {
  const path = rest === '' ? kind : `${kind}.${rest}`;
  if (kind === 'hosts') return walkSchema(kind, path, rest);
  const [field = '', ...below] = rest.split('.');
  const key = below.join('.');
  if (field === 'config' && key !== '') return explainConfigKey(kind, path, key);
  if (field === 'devices' && key !== '') return explainDevice(path, below);
  return walkSchema(kind, path, rest);
}

function walkSchema(kind: KindName | 'hosts', path: string, rest: string): Explanation | Unknown {
  let schema = kind === 'hosts' ? hostsSchema : documentSchema(kind);
  for (const word of rest === '' ? [] : rest.split('.')) {
    const members = membersOf(schema);
    const next = members[word];
    if (next === undefined) return { known: Object.keys(members), word };
    schema = next;
  }
  const members = Object.entries(membersOf(schema)).map(([name, member]) => ({
    name,
    type: typeOf(member),
    doc: textAt(member, 'description'),
  }));
  const isField = rest !== '' && !rest.includes('.');
  const listed =
    kind === 'hosts'
      ? members
      : rest === 'config'
        ? configMembers(kind)
        : rest === 'devices'
          ? deviceMembers()
          : members;
  const doc = textAt(schema, 'description');
  return {
    path,
    type: rest === '' ? 'kind' : typeOf(schema),
    doc: doc === '' ? (fieldDocs[rest] ?? '') : doc,
    facts: [
      ...kindFacts(kind, rest),
      ...schemaFacts(schema),
      ...(isField && kind !== 'hosts' ? fieldEffect(kind, rest) : []),
    ],
    members: listed,
  };
}

const fieldDocs: Readonly<Record<string, string>> = {
  config: 'Config keys, each explained under its own name.',
  devices: 'Devices by name; the properties of each depend on its type.',
};

/** Objects, items of lists of objects, and the object among alternatives. */
function membersOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  const properties = schema['properties'];
  if (isSchema(properties)) return properties as Readonly<Record<string, JsonSchema>>;
  if (isSchema(schema['items'])) return membersOf(schema['items']);
  const parts = Array.isArray(schema['anyOf']) ? (schema['anyOf'] as readonly JsonSchema[]) : [];
  return Object.assign({}, ...parts.map(membersOf)) as Readonly<Record<string, JsonSchema>>;
}

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const textAt = (schema: JsonSchema, key: string): string => {
  const value = schema[key];
  return typeof value === 'string' ? value : '';
};

function typeOf(schema: JsonSchema): string {
  const { enum: values, const: only, type, anyOf, items, additionalProperties } = schema;
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(values)) return values.map((value) => String(value)).join(' | ');
  if (Array.isArray(anyOf)) {
    const types = [...new Set((anyOf as readonly JsonSchema[]).map(typeOf))].filter((one) => one !== 'null');
    return types.includes('string') && types.includes('number') ? 'text' : types.join(' | ');
  }
  if (type === 'array') return isSchema(items) ? `list of ${typeOf(items)}` : 'list';
  if (type === 'object') return isSchema(additionalProperties) ? `map of ${typeOf(additionalProperties)}` : 'map';
  return type === 'string' ? 'text' : typeof type === 'string' ? type : 'any';
}

function schemaFacts(schema: JsonSchema): Fact[] {
  const facts: Fact[] = [];
  if (schema['default'] !== undefined) facts.push(['default', JSON.stringify(schema['default']).replaceAll('"', '')]);
  if (textAt(schema, 'x-since') !== '') facts.push(['since', `API extension ${textAt(schema, 'x-since')}`]);
  if (schema['x-secret'] === true) facts.push(['secret', 'never shown in plans']);
  const required = schema['required'];
  if (Array.isArray(required) && required.length > 0) facts.push(['required', required.join(', ')]);
  return facts;
}

const costs = {
  live: 'live: takes effect at once',
  none: 'live: a running container does not notice',
  restart: 'restart: takes effect when the container starts again',
  recreate: 'recreate: needs deletion and creation',
} as const;

function kindFacts(kind: keyof typeof kinds | 'hosts', rest: string): Fact[] {
  if (rest !== '' || kind === 'hosts') return [];
  const { since } = kindRow(kind);
  return since === undefined ? [] : [['since', `API extension ${since}`]];
}

function fieldEffect(kind: KindName, field: string): Fact[] {
  const { fields, effectOf } = coreKind(kind);
  if (fields[field] === 'scalar' || fields[field] === 'list')
    return [['a change is', costs[effectOf([field], {}, 'x')]]];
  if (kind === 'image' && ['source', 'file', 'metadata', 'rootfs'].includes(field))
    return [['a change is', 'another image; the old one stays']];
  return field in fields ||
    ['state', 'manage', 'labels', 'patch', 'name', 'kind', 'project', 'aliases', 'exec', 'snapshots'].includes(field)
    ? []
    : [['a change is', 'without effect: it applies at creation only']];
}

function explainConfigKey(kind: KindName, path: string, key: string): Explanation | Unknown {
  const found = configKey(kind, key) ?? foreignFacts(kind, key);
  if (found === undefined) {
    const known = [...configMembers(kind).map(({ name }) => name), ...foreignNames(kind)];
    return { known, word: key };
  }
  const { type, doc, effect, otherwise, more = [] } = found;
  const facts: Fact[] = [
    ['a change is', costs[effect]],
    ...(otherwise === undefined ? [] : [['default', otherwise] as const]),
    ...more,
  ];
  return { path, type, doc, facts, members: [] };
}

interface ConfigFacts {
  readonly type: string;
  readonly doc: string;
  readonly effect: keyof typeof costs;
  readonly otherwise?: string | undefined;
  readonly more?: readonly Fact[];
}

const seedForm: Fact = ['form', 'a text, or a map that becomes one; maps are compared as maps'];

/** Keys that only LXD has. A key with only a known prefix has no explanation. */
function foreignFacts(kind: KindName, key: string): ConfigFacts | undefined {
  const found = foreignKey(kind, key);
  if (found?.isNamed !== true) return undefined;
  const since: Fact = ['since', `API extension ${found.since}; gantryd has no such key`];
  return { type: 'text', doc: 'A key of LXD, which validates it itself.', effect: found.effect, more: [since] };
}

/** An exact key, or a pattern of the table (`environment.*`). */
function configKey(kind: KindName, key: string): ConfigFacts | undefined {
  if (kind === 'container' || kind === 'profile') {
    const fact = containerConfigKey(key)?.fact ?? patternFact(key);
    if (fact === undefined) return undefined;
    const more: Fact[] = fact.computed === true ? [['computed', 'the server sets it']] : [];
    if (isSeedKey(key)) more.push(seedForm);
    if (isNewerSeed(key)) more.push(['since', 'API extension cloud_init']);
    if (fact.profile === false) more.push(['profiles', 'may not hold it']);
    return { type: fact.type, doc: fact.doc, effect: fact.effect, otherwise: fact.default, more };
  }
  if (kind === 'network') {
    const row = findNetworkConfigKey(key) ?? networkConfigKeys.find((one) => one.key === key);
    if (row === undefined) return undefined;
    const since = lxdKey('network', row.key);
    const more: Fact[] = since?.isNamed === true ? [['since', `API extension ${since.since}`]] : [];
    return { type: networkType(row.type), doc: row.doc, effect: row.effect, otherwise: row.default, more };
  }
  if (kind === 'project') {
    const row = findProjectConfigKey(key);
    return row === undefined ? undefined : { ...row, effect: 'live', otherwise: row.default };
  }
  if (kind === 'server_config') {
    const rows: Readonly<Record<string, ServerConfigKey>> = serverConfigKeys;
    const row = Object.hasOwn(rows, key) ? rows[key] : undefined;
    return row === undefined ? undefined : { ...row, effect: 'live', otherwise: row.default };
  }
  const table: Readonly<Record<string, StorageConfigKey>> =
    kind === 'storage_pool' ? poolConfigKeys : kind === 'storage_volume' ? volumeConfigKeys : {};
  const row = Object.hasOwn(table, key) ? table[key] : undefined;
  if (row === undefined) return undefined;
  const more: Fact[] = [['drivers', row.drivers.join(', ')]];
  const { [0]: first } = row.changeable;
  return {
    type: row.type,
    doc: row.doc,
    effect: first === undefined ? 'recreate' : 'live',
    otherwise: row.default,
    more,
  };
}

type ContainerKey = NonNullable<ReturnType<typeof containerConfigKey>>['fact'];
const patternFact = (key: string): ContainerKey | undefined =>
  Object.hasOwn(containerConfigKeys, key) ? containerConfigKeys[key as keyof typeof containerConfigKeys] : undefined;

function networkType(type: (typeof networkConfigKeys)[number]['type']): string {
  if (type.kind === 'enum') return type.values.join(' | ');
  return type.kind === 'integer' ? `integer from ${type.min} to ${type.max}` : type.kind;
}

const tables: Readonly<Partial<Record<KindName, object>>> = {
  server_config: serverConfigKeys,
  project: projectConfigKeys,
  storage_pool: poolConfigKeys,
  storage_volume: volumeConfigKeys,
};

function configMembers(kind: KindName): Explanation['members'] {
  const names =
    kind === 'container' || kind === 'profile'
      ? Object.keys(containerConfigKeys)
      : kind === 'network'
        ? networkConfigKeys.map(({ key }) => key)
        : Object.keys(tables[kind] ?? {});
  return names.flatMap((name) => {
    const found = configKey(kind, name);
    return found === undefined ? [] : [{ name, type: found.type, doc: found.doc }];
  });
}

const deviceMembers = (): Explanation['members'] =>
  Object.entries(deviceSchemas).map(([name, { doc }]) => ({ name: `NAME (type: ${name})`, type: 'map', doc }));

/** `devices.nic`, `devices.nic.parent`: the path has the device type in place of its name. */
function explainDevice(path: string, [word = '', ...below]: readonly string[]): Explanation | Unknown {
  const names = Object.keys(deviceSchemas);
  if (!names.includes(word)) return { known: names, word };
  const { doc, properties, hotplug } = deviceSchemas[word as DeviceTypeName];
  if (below.length === 0) {
    const members = Object.entries(properties).map(([name, property]) => ({ name, type: 'text', doc: property.doc }));
    const plug = hotplug ? 'live: it comes and goes while the container runs' : costs.restart;
    return { path, type: `device of type: ${word}`, doc, facts: [['adding one is', plug]], members };
  }
  const property = Object.hasOwn(properties, below.join('.')) ? properties[below.join('.')] : undefined;
  if (property === undefined) return { known: Object.keys(properties), word: below.join('.') };
  const row = property as {
    doc: string;
    effect: keyof typeof costs;
    required?: boolean;
    default?: string;
    only?: readonly string[];
  };
  return {
    path,
    type: 'text',
    doc: row.doc,
    facts: [
      ['a change is', costs[row.effect]],
      ...(row.required === true ? [['required', 'yes'] as const] : []),
      ...(row.default === undefined ? [] : [['default', row.default] as const]),
      ...(row.only === undefined ? [] : [['only for', row.only.join(', ')] as const]),
    ],
    members: [],
  };
}

export const isUnknown = (found: Explanation | Unknown): found is Unknown => 'known' in found;
