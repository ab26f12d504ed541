// Converts a *.tf.json file to HCL, so that one reader and writer handle both. Pure.
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';
import { parseJson } from '../text/parse-json.ts';
import { lineAt } from './edits.ts';
import { keyText, quoted } from './hcl-text.ts';
import { parseTemplate } from '../terraform-json/expression/parse.ts';

export interface JsonAsHcl {
  readonly text: string;
  readonly lineOf: (offset: number) => number;
  readonly problems: readonly { readonly line: number; readonly text: string }[];
}

/** Blocks in blocks, by the name of the outer one; everything else is an argument. */
const blocksIn: Readonly<Record<string, readonly string[]>> = {
  terraform: ['required_providers', 'cloud'],
  variable: ['validation'],
  output: ['precondition'],
  provider: ['remote'],
  resource: ['lifecycle', 'device', 'file', 'exec', 'wait_for'],
  data: ['lifecycle'],
  lifecycle: ['precondition', 'postcondition'],
  import: [],
  moved: [],
  removed: ['lifecycle'],
  module: [],
  locals: [],
};
/** Count of labels of a top-level block. */
const labels: Readonly<Record<string, number>> = {
  resource: 2,
  data: 2,
  variable: 1,
  output: 1,
  provider: 1,
  module: 1,
};
/** Texts that are expressions without quotes. */
const bare = new Set([
  'depends_on',
  'ignore_changes',
  'replace_triggered_by',
  'provider',
  'providers',
  'to',
  'from',
  'configuration_aliases',
]);

interface Writer {
  readonly at: (path: string) => number;
  readonly lines: { readonly from: number; readonly line: number }[];
  readonly problems: { readonly line: number; readonly text: string }[];
  text: string;
}

export function jsonAsHcl(json: string): JsonAsHcl {
  const { documents, problems } = parseJson(json);
  const broken = problems.map(({ offset, message }) => ({ line: lineAt(json, offset), text: message }));
  const [root] = documents;
  if (root === undefined || broken.length > 0) return { text: '', lineOf: () => 1, problems: broken };
  const at = (path: string): number => lineAt(json, root.placeOf(path, 'key').offset);
  const writer: Writer = { at, lines: [], problems: [], text: '' };
  if (!isMap(root.value))
    return { text: '', lineOf: () => 1, problems: [{ line: 1, text: 'must be a map of blocks' }] };
  for (const [name, value] of Object.entries(root.value)) topLevel(writer, name, value);
  const lineOf = (offset: number): number => writer.lines.findLast(({ from }) => from <= offset)?.line ?? 1;
  return { text: writer.text, lineOf, problems: writer.problems };
}

function topLevel(writer: Writer, name: string, value: Json): void {
  if (name === '//') return void (writer.text += comment(value));
  if (!Object.hasOwn(blocksIn, name))
    return problem(writer, name, `${name} is not supported here: write it in a separate file`);
  labelled(writer, [name], value, labels[name] ?? 0, name);
}

function labelled(writer: Writer, words: readonly string[], value: Json, left: number, path: string): void {
  const values = Array.isArray(value) ? (value as readonly Json[]) : [value];
  for (const [index, each] of values.entries()) {
    const place = Array.isArray(value) ? `${path}.${index}` : path;
    if (!isMap(each)) problem(writer, place, `${place} must be a map`);
    else if (left > 0)
      for (const [key, inner] of Object.entries(each))
        labelled(writer, [...words, key], inner, left - 1, `${place}.${key}`);
    else topBlock(writer, words, each, place);
  }
}

function topBlock(writer: Writer, words: readonly string[], body: JsonObject, path: string): void {
  const [name = '', type = ''] = words;
  const isPeer = /^(lxd|incus)(?:_|$)/.test(type);
  if (['resource', 'data', 'provider'].includes(name) && !isPeer && name !== 'provider')
    return problem(
      writer,
      path,
      `${words.slice(1).join('.')}: only its provider knows which of its entries are blocks; write it in a separate file`,
    );
  writer.lines.push({ from: writer.text.length, line: writer.at(path) });
  const [head, ...rest] = words;
  writer.text += `${[head, ...rest.map((word) => quoted(word))].join(' ')} ${block(writer, name, body, '', path)}\n\n`;
}

function block(writer: Writer, name: string, body: JsonObject, indent: string, path: string): string {
  const inner = `${indent}  `;
  const lines = Object.entries(body).flatMap(([key, value]): readonly string[] => {
    if (key === '//') return [comment(value).trimEnd()];
    if (key === 'dynamic' && isMap(value)) return dynamics(writer, value, inner, `${path}.dynamic`);
    if (key === 'provisioner' || key === 'connection' || key === 'backend') {
      problem(writer, `${path}.${key}`, `${key} is not read from JSON here: write it in HCL`);
      return [];
    }
    if (!(blocksIn[name] ?? []).includes(key))
      return [`${keyText(quoted(key))} = ${valueText(value, inner, isBare(name, key))}`];
    const bodies = (Array.isArray(value) ? value : [value]) as readonly Json[];
    return bodies.filter(isMap).map((each) => `${key} ${block(writer, key, each, inner, `${path}.${key}`)}`);
  });
  return lines.length === 0 ? '{}' : `{\n${lines.map((line) => `${inner}${line}\n`).join('')}${indent}}`;
}

function dynamics(writer: Writer, value: JsonObject, indent: string, path: string): readonly string[] {
  return Object.entries(value).flatMap(([name, bodies]) =>
    ((Array.isArray(bodies) ? bodies : [bodies]) as readonly Json[])
      .filter(isMap)
      .map(({ content, iterator, ...each }) => {
        const entries = Object.entries(each).map(
          ([key, one]) => `${indent}  ${key} = ${valueText(one, indent, false)}\n`,
        );
        const variable = typeof iterator === 'string' ? `${indent}  iterator = ${iterator}\n` : '';
        const inner = isMap(content) ? block(writer, name, content, `${indent}  `, `${path}.${name}`) : '{}';
        return `dynamic ${quoted(name)} {\n${entries.join('')}${variable}${indent}  content ${inner}\n${indent}}`;
      }),
  );
}

const isBare = (block: string, key: string): boolean => bare.has(key) || (block === 'variable' && key === 'type');

function valueText(value: Json, indent: string, isExpression: boolean): string {
  if (typeof value === 'string') return isExpression ? value.replace(/^\$\{(.*)\}$/s, '$1') : templateText(value);
  if (Array.isArray(value))
    return `[${(value as readonly Json[]).map((item) => valueText(item, indent, isExpression)).join(', ')}]`;
  if (!isMap(value)) return JSON.stringify(value);
  const inner = `${indent}  `;
  const lines = Object.entries(value).map(
    ([key, each]) => `${inner}${objectKey(key)} = ${valueText(each, inner, isExpression && key !== 'source')}\n`,
  );
  return lines.length === 0 ? '{}' : `{\n${lines.join('')}${indent}}`;
}

/** A key may be a template: `"${var.name}"`. */
const objectKey = (key: string): string =>
  keyText(key.includes('${') || key.includes('%{') ? templateText(key) : quoted(key));

const comment = (value: Json): string =>
  `# ${(typeof value === 'string' ? value : JSON.stringify(value)).replaceAll('\n', '\n# ')}\n`;

const problem = (writer: Writer, path: string, text: string): void =>
  void writer.problems.push({ line: writer.at(path), text });

/** A lone interpolation becomes its expression. Throws ExpressionError. */
function templateText(text: string): string {
  const tree = parseTemplate(text);
  if (
    tree.type === 'template' &&
    tree.isText !== true &&
    tree.parts.length === 1 &&
    typeof tree.parts[0] === 'object'
  ) {
    const { start, end } = tree.parts[0];
    if (text.startsWith('${') && text.slice(end).trim() === '}') return text.slice(start, end);
  }
  let result = '"';
  for (let at = 0; at < text.length;) {
    const opens = /^[$%]\{/.test(text.slice(at, at + 2)) && !escaped(text, at);
    const end = opens ? closing(text, at + 2) : at + 1;
    result += opens ? text.slice(at, end) : escapedText(text.slice(at, end));
    at = end;
  }
  return `${result}"`;
}

/** `$${` is a dollar and a brace. */
const escaped = (text: string, at: number): boolean => at > 0 && text[at - 1] === text[at] && !escaped(text, at - 1);

const escapedText = (char: string): string =>
  JSON.stringify(char).slice(1, -1).replace('\\b', '\\u0008').replace('\\f', '\\u000c');

/** The offset after the brace that ends an interpolation, which may contain texts with braces. */
function closing(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (char === '"') at = closingQuote(text, at + 1);
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return at + 1;
  }
  return text.length;
}

function closingQuote(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (char === '\\') at++;
    else if (char === '"') return at;
    else if ((char === '$' || char === '%') && text[at + 1] === '{' && !escaped(text, at))
      at = closing(text, at + 2) - 1;
  }
  return text.length;
}
