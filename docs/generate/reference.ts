// The reference of manifests: kinds, config keys and devices, read through `explain`, which reads the tables that judge them. Pure.
import { deviceSchemas, type DeviceTypeName } from '../../server/api/devices/index.ts';
import { kindNames, type KindName } from '../../server/api/kinds.ts';
import { explain, isUnknown, type Explanation } from '../../reconciler/core/kinds/explain-kinds.ts';
import { code, table } from './markdown.ts';
import { networkKeyTests, nicPropertyTests } from './network-tests.ts';

type Documented = KindName | 'hosts';

const deviceNames = Object.keys(deviceSchemas) as readonly DeviceTypeName[];
/** Kinds with config keys; profiles take those of containers. */
const keyedKinds = kindNames.filter((kind) => kind !== 'profile' && membersOf(kind, 'config').length > 0);

/** Block name to text: `kind container`, `keys network`, `device nic`, `manage`. */
export function referenceBlocks(): ReadonlyMap<string, string> {
  return new Map([
    ...[...kindNames, 'hosts' as const].map((kind) => [`kind ${kind}`, kindBlock(kind)] as const),
    ...keyedKinds.map((kind) => [`keys ${kind}`, keysBlock(kind)] as const),
    ...deviceNames.map((name) => [`device ${name}`, deviceBlock(name)] as const),
    ['manage', fieldTables('container', 'manage').join('\n\n')] as const,
  ]);
}

function at(kind: Documented, rest: string): Explanation {
  const found = explain(kind, rest);
  if (isUnknown(found)) throw new Error(`${kind}.${rest} has no explanation`);
  return found;
}

function membersOf(kind: Documented, rest: string): Explanation['members'] {
  const found = explain(kind, rest);
  return isUnknown(found) ? [] : found.members;
}

function kindBlock(kind: Documented): string {
  const { doc, facts } = at(kind, '');
  const remarks = facts.map(([name, text]) => `- ${name}: ${text}`).join('\n');
  return [doc, ...(remarks === '' ? [] : [remarks]), ...fieldTables(kind, '')].join('\n\n');
}

/** The table of the members of one field, then the tables of members that have members. */
function fieldTables(kind: Documented, rest: string): string[] {
  const members = membersOf(kind, rest).filter(({ name }) => rest !== '' || name !== 'kind');
  const path = (name: string): string => (rest === '' ? name : `${rest}.${name}`);
  const rows = members.map(({ name, type, doc }) => [code(name), plainType(type), meaning(kind, path(name), doc)]);
  const title = rest === '' ? [] : [`### \`${rest}\``];
  const own = table(['field', 'type', 'meaning'], rows);
  const below = members.flatMap(({ name }) => (isElsewhere(kind, path(name)) ? [] : nestedTables(kind, path(name))));
  return [...title, own, ...below];
}

/** Texts may be written as numbers and booleans everywhere, which the index of the kinds says once. */
const plainType = (type: string): string => type.replaceAll('text | number | boolean', 'text');

const nestedTables = (kind: Documented, rest: string): string[] =>
  membersOf(kind, rest).length === 0 ? [] : fieldTables(kind, rest);

/** Fields that have pages of their own. */
const isElsewhere = (kind: Documented, path: string): boolean =>
  kind !== 'hosts' && ['config', 'devices', 'manage'].includes(path);

function meaning(kind: Documented, path: string, doc: string): string {
  const { facts } = at(kind, path);
  const shown = facts.map(([name, text]) => `${capital(name)}: ${text}.`);
  const link = kind === 'hosts' ? undefined : links(kind)[path];
  return [doc || at(kind, path).doc, ...shown, ...(link === undefined ? [] : [link])].join(' ');
}

function links(kind: KindName): Readonly<Record<string, string>> {
  const page = kind === 'profile' ? 'container' : kind;
  return {
    ...(membersOf(kind, 'config').length > 0 ? { config: `[All keys](../keys/${page}.md).` } : {}),
    devices: '[All devices](../devices/README.md).',
    manage: '[All fields](manage.md).',
  };
}

const capital = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
const factOf = (facts: Explanation['facts'], name: string): string => facts.find(([fact]) => fact === name)?.[1] ?? '';

/** The first word of `restart: takes effect when ...`. */
const costOf = (facts: Explanation['facts']): string => /^\w+/.exec(factOf(facts, 'a change is'))?.[0] ?? '';

const rest = (facts: Explanation['facts'], but: readonly string[]): string =>
  facts
    .filter(([name]) => !but.includes(name))
    .map(([name, text]) => ` ${capital(name)}: ${text}.`)
    .join('');

function keysBlock(kind: KindName): string {
  const rows = membersOf(kind, 'config').map(({ name }) => {
    const { type, doc, facts } = at(kind, `config.${name}`);
    return [
      code(name),
      type,
      code(factOf(facts, 'default')),
      costOf(facts),
      doc + rest(facts, ['default', 'a change is']),
      ...(kind === 'network' ? [shownBy(networkKeyTests[name])] : []),
    ];
  });
  return table(['key', 'type', 'default', 'a change', 'effect', ...(kind === 'network' ? ['shown by'] : [])], rows);
}

const shownBy = (file: string | undefined): string => (file === undefined ? '' : code(`test/${file}`));

function deviceBlock(name: DeviceTypeName): string {
  const { doc, facts, members } = at('container', `devices.${name}`);
  const rows = members.map((member) => {
    const property = at('container', `devices.${name}.${member.name}`);
    const more = rest(property.facts, ['default', 'a change is']);
    const shown = name === 'nic' ? [shownBy(nicPropertyTests[member.name])] : [];
    const facts = [code(factOf(property.facts, 'default')), costOf(property.facts), property.doc + more];
    return [code(member.name), ...facts, ...shown];
  });
  return [
    doc,
    `Adding one is ${factOf(facts, 'adding one is')}.`,
    table(['property', 'default', 'a change', 'effect', ...(name === 'nic' ? ['shown by'] : [])], rows),
  ].join('\n\n');
}
