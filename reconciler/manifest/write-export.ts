// Writes exported objects as YAML that loads again: parts that the manifest rules refuse become comments, and secrets become variables
// on request. Contacts no server.
import { Document as YamlDocument, isMap as isYamlMap, isPair, isScalar, stringify, type YAMLMap } from 'yaml';
import type { Json, JsonObject } from '../core/documents/document.ts';
import type { ExportedObject } from '../core/adoption/exported.ts';
import { isMap, mapOf } from '../core/documents/json-values.ts';
import { printable } from '../core/text/terminal-text.ts';
import { isSecret } from '../core/documents/secret.ts';
import { readDocument } from './documents/read-document.ts';
import { quotedManifestText } from './text/yaml-text.ts';
import { withoutUndefined } from '../../server/lib/shared/without-undefined.ts';

export interface WrittenExport {
  /** In the order given; each begins with `---` when it is a document. */
  readonly parts: readonly { readonly exported: ExportedObject; readonly text: string }[];
  /** `kind: vars` with a variable for each secret; empty without secrets, or when secrets are written in clear. */
  readonly variables: string;
  /** Addresses with paths of secret values. */
  readonly secrets: readonly string[];
  /** Sentences about parts that could not be written. */
  readonly refused: readonly string[];
}

export function writeExport(objects: readonly ExportedObject[], redacts: boolean): WrittenExport {
  const refused: string[] = [];
  const seen = new Set<string>();
  const sound = objects.map((object) => {
    const checked = soundOf(object, seen);
    refused.push(...checked.refused);
    return checked.object;
  });
  const secrets = sound.flatMap((object) => secretsOf(object));
  const names = redacts ? variableNames(secrets, JSON.stringify(sound)) : new Map<string, string>();
  const parts = sound.map((object) => ({ exported: object, text: render(withVariables(object, names)) }));
  const vars = Object.fromEntries([...names.values()].map((name) => [name, null]));
  const variables = names.size === 0 ? '' : `---\n${stringify({ kind: 'vars', vars }, { nullStr: '' })}`;
  return { parts, variables, secrets: secrets.map(({ label }) => label), refused };
}

/** Leaves out what `gantry validate` would refuse: servers hold keys that other versions wrote. */
export function soundOf(
  object: ExportedObject,
  seen: Set<string>,
): { readonly object: ExportedObject; readonly refused: readonly string[] } {
  let { values, comments } = object;
  const refused: string[] = object.isLeftOut === true ? [...comments] : [];
  if (values !== undefined && seen.has(object.address)) {
    const why = `${object.address} is the name of another object already`;
    return { object: { ...asComment(object, values), comments: [...comments, why] }, refused: [why] };
  }
  while (values !== undefined) {
    const problem = readDocument(values).findings.find(({ severity }) => severity === 'error');
    if (problem === undefined) break;
    const less = problem.path.includes('.') ? without(values, problem.path) : undefined;
    const why = `${object.address}: ${problem.message}`;
    refused.push(why);
    comments = [...comments, `left out: ${problem.message}`];
    if (less === undefined) return { object: { ...asComment(object, values), comments }, refused };
    values = less;
  }
  if (values !== undefined) seen.add(object.address);
  return { object: { ...object, ...withoutUndefined({ values }), comments }, refused };
}

const asComment = ({ values: _values, ...rest }: ExportedObject, values: JsonObject): ExportedObject => ({
  ...rest,
  comments: [...rest.comments, ...stringify(values).trimEnd().split('\n')],
});

/** Removes the value at a dotted path, whose keys may contain dots. Undefined when there is none. */
function without(value: JsonObject, path: string): JsonObject | undefined {
  const key = Object.keys(value)
    .filter((one) => path === one || path.startsWith(`${one}.`))
    .sort((a, b) => b.length - a.length)[0];
  if (key === undefined) return undefined;
  const { [key]: item, ...others } = value;
  if (path === key) return others;
  const inner = isMap(item) ? without(item, path.slice(key.length + 1)) : undefined;
  return inner === undefined ? undefined : { ...others, [key]: inner };
}

interface Secret {
  readonly label: string;
  readonly id: string;
  readonly hint: string;
}

function secretsOf({ address, name, values }: ExportedObject): readonly Secret[] {
  const found: Secret[] = [];
  const walk = (value: Json, path: readonly string[]): void => {
    if (isMap(value)) for (const [key, item] of Object.entries(value)) walk(item, [...path, key]);
    else if (path.length > 1 && typeof value === 'string' && isSecret(path, value)) {
      const hint = `${name}_${path.at(-1) ?? ''}`;
      found.push({ label: `${address} ${path.join('.')}`, id: [address, ...path].join('\0'), hint });
    }
  };
  if (values !== undefined) walk(values, []);
  return found;
}

/** Names that occur in no text, so that no other dollar changes its meaning. */
function variableNames(secrets: readonly Secret[], texts: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const used = new Set<string>();
  for (const { id, hint } of secrets) {
    const stem = hint
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, '_')
      .replace(/^(?=[0-9])/, '_');
    let name = stem;
    for (let count = 2; used.has(name) || texts.includes(`$${name}`) || texts.includes(`{${name}`); count += 1)
      name = `${stem}_${count}`;
    used.add(name);
    names.set(id, name);
  }
  return names;
}

function withVariables(object: ExportedObject, names: ReadonlyMap<string, string>): ExportedObject {
  if (names.size === 0 || object.values === undefined) return object;
  const walk = (value: Json, path: readonly string[]): Json => {
    const name = names.get([object.address, ...path].join('\0'));
    if (name !== undefined) return `\${${name}}`;
    if (!isMap(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, [...path, key])]));
  };
  return { ...object, values: mapOf(walk(object.values, [])) };
}

function render({ values, comments, remarks }: ExportedObject): string {
  // A text of several lines from a server must stay inside the comment.
  const lines = comments.flatMap((comment) => comment.split(/[\p{Cc}\u2028\u2029]+/u));
  const above = lines.map((line) => `# ${line}\n`).join('');
  if (values === undefined) return above;
  const document = new YamlDocument(values);
  for (const field of ['devices', 'source', 'manage']) flowShort(document, values, field);
  const profiles = document.getIn(['profiles'], true);
  if (typeof profiles === 'object' && profiles !== null) (profiles as { flow?: boolean }).flow = true;
  for (const { path, text } of remarks) {
    const node = document.getIn(path, true);
    if (isScalar(node)) node.comment = ` ${text}`;
  }
  return `---\n${printable(above)}${quotedManifestText(document)}`;
}

/** Writes short maps on one line, as people write devices. */
function flowShort(document: YamlDocument, values: JsonObject, field: string): void {
  const node = document.getIn([field], true);
  if (!isYamlMap(node)) return;
  const isNested = Object.values(mapOf(values[field])).some(isMap);
  const maps = isNested ? node.items.map((item) => (isPair(item) ? item.value : undefined)) : [node];
  for (const map of maps) if (isYamlMap(map) && isShort(map)) map.flow = true;
}

const isShort = (map: YAMLMap): boolean => {
  const text = JSON.stringify(map.toJSON());
  return text.length < 100 && !text.includes('\\n');
};
