// Parses JSON text into plain values, and finds the place of a path in the text. As strict as Terraform with *.tf.json: numbers are
// numbers, and duplicate keys are errors. Independent of the meaning of the values.
import type { Json } from '../../core/documents/document.ts';
import { limits, parseYaml, type ParsedText, type TextProblem } from './parse-yaml.ts';
import type { TextSpan } from './yaml-positions.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

interface Node {
  readonly start: number;
  end: number;
  members?: Map<string, { readonly key: TextSpan; readonly node: Node }>;
  items?: Node[];
}

/** Terraform JSON by its name, or by its blocks where a text has no name; YAML otherwise. */
export function parseText({ file, text }: { readonly file: string; readonly text: string }): ParsedText {
  if (file.endsWith('.tf.json')) return parseJson(text);
  if (/^\s*\{/.test(text) && /"(?:resource|terraform)"\s*:/.test(text)) {
    const parsed = parseJson(text);
    if (parsed.problems.length === 0) return parsed;
  }
  return parseYaml(text);
}

export function parseJson(text: string): ParsedText {
  const reader = new Reader(text);
  try {
    const { value, node } = reader.whole();
    const raw = {
      value,
      offset: node.start,
      placeOf: (path: string, part: 'key' | 'value') => placeIn(node, path, part),
    };
    return reader.problems.length > 0
      ? { documents: [], problems: reader.problems }
      : { documents: [raw], problems: [] };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { documents: [], problems: [...reader.problems, error.problem] };
  }
}

/** Keys may contain dots (`limits.memory`): the longest matching key wins. */
function placeIn(root: Node, path: string, part: 'key' | 'value'): TextSpan {
  let node = root;
  let key: TextSpan | undefined;
  let rest = path;
  while (rest !== '') {
    const step = stepIn(node, rest);
    if (step === undefined) break;
    ({ node, key, rest } = step);
  }
  const isScalar = node.members === undefined && node.items === undefined;
  const isBelow = node !== root;
  const own = { offset: node.start, length: Math.max(1, isScalar ? node.end - node.start : 1) };
  return isBelow && (part === 'key' || !isScalar) ? (key ?? own) : own;
}

function stepIn(
  { members, items }: Node,
  path: string,
): { readonly node: Node; readonly key: TextSpan | undefined; readonly rest: string } | undefined {
  for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
    const name = path.slice(0, end);
    const member = members?.get(name);
    const item = items !== undefined && /^[0-9]+$/.test(name) ? items[Number(name)] : undefined;
    const node = member?.node ?? item;
    if (node !== undefined) return { node, key: member?.key, rest: path.slice(end + 1) };
  }
  return undefined;
}

class JsonError extends Error {
  override readonly name = 'JsonError';
  readonly problem: TextProblem;
  constructor(problem: TextProblem) {
    super(problem.message);
    this.problem = problem;
  }
}

interface Read {
  readonly value: Json;
  readonly node: Node;
}

const blank = /[ \t\r\n]*/y;
const word = /"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*|true|false|null/y;

class Reader {
  readonly problems: TextProblem[] = [];
  readonly #text: string;
  #at: number;

  constructor(text: string) {
    this.#text = text;
    this.#at = text.startsWith('\ufeff') ? 1 : 0;
  }

  whole(): Read {
    this.#skip();
    const read = this.#value(0);
    this.#skip();
    if (this.#at < this.#text.length) this.#fail('the text continues after the end of its JSON');
    return read;
  }

  #value(depth: number): Read {
    if (depth > limits.depth) this.#fail(`values may be nested ${limits.depth} deep`, 'too-deep');
    const char = this.#text[this.#at];
    if (char === '{') return this.#object(depth);
    if (char === '[') return this.#array(depth);
    const start = this.#at;
    const text = this.#word();
    const value = this.#read(text, start) as Json;
    if (typeof value === 'number' && !isExact(text, value)) this.#note(start, 'E_BIG_NUMBER', notExact);
    return { value, node: { start, end: this.#at } };
  }

  #object(depth: number): Read {
    const value: Record<string, Json> = {};
    const members: NonNullable<Node['members']> = new Map();
    const node: Node = { start: this.#at, end: 0, members };
    this.#at += 1;
    this.#skip();
    while (!this.#takes('}')) {
      if (members.size > 0) this.#expect(',', 'a comma or a } is missing');
      this.#skip();
      const start = this.#at;
      if (this.#text[start] !== '"') this.#fail('a key in double quotes is missing');
      const name = this.#read(this.#word(), start) as string;
      const key = { offset: start, length: this.#at - start };
      this.#skip();
      this.#expect(':', 'a colon is missing');
      this.#skip();
      if (name === '__proto__') this.#note(start, 'unknown-key', '__proto__ is no key of anything');
      if (members.has(name)) this.#note(start, 'duplicate-key', 'this key is written twice', 'keep one of the two');
      const read = this.#value(depth + 1);
      members.set(name, { key, node: read.node });
      if (name !== '__proto__') value[name] = read.value;
      this.#skip();
    }
    node.end = this.#at;
    return { value, node };
  }

  #array(depth: number): Read {
    const value: Json[] = [];
    const items: Node[] = [];
    const node: Node = { start: this.#at, end: 0, items };
    this.#at += 1;
    this.#skip();
    while (!this.#takes(']')) {
      if (items.length > 0) this.#expect(',', 'a comma or a ] is missing');
      this.#skip();
      const read = this.#value(depth + 1);
      items.push(read.node);
      value.push(read.value);
      this.#skip();
    }
    node.end = this.#at;
    return { value, node };
  }

  #word(): string {
    word.lastIndex = this.#at;
    const found = word.exec(this.#text)?.[0];
    if (found === undefined) return this.#fail('a value is missing, or is no JSON');
    this.#at += found.length;
    return found;
  }

  #read(text: string, start: number): unknown {
    try {
      return JSON.parse(text);
    } catch {
      this.#at = start;
      return this.#fail(
        text.startsWith('"') ? 'control characters and backslashes must be escaped' : 'the number is malformed',
      );
    }
  }

  #skip(): void {
    blank.lastIndex = this.#at;
    blank.test(this.#text);
    this.#at = blank.lastIndex;
  }

  #takes(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at += 1;
    return true;
  }

  #expect(char: string, message: string): void {
    if (!this.#takes(char)) this.#fail(message);
  }

  #note(offset: number, code: string, message: string, remedy?: string): void {
    this.problems.push({
      code,
      message,
      ...withoutUndefined({ remedy }),
      offset,
      length: this.#at - offset || 1,
    });
  }

  #fail(message: string, code = 'malformed-json'): never {
    const shown = this.#at >= this.#text.length ? 'the text ends too early' : message;
    throw new JsonError({ code, message: `this is not valid JSON: ${shown}`, offset: this.#at, length: 1 });
  }
}

const notExact = 'this number is not kept exactly: write it as a string';

/** Numbers of up to fifteen digits and whole numbers up to 2^53 are exact. */
const isExact = (text: string, value: number): boolean =>
  Number.isSafeInteger(value) ||
  (Number.isFinite(value) && text.replace(/[eE].*/, '').replace(/^-?0*\.?0*|[.-]/g, '').length <= 15);
