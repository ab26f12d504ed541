// YAML text to plain values and a way back from a path to its place. What the values mean is not known here.
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  visit,
  type Document as YamlDocument,
  type Node,
  type Pair,
} from 'yaml';
import type { Json } from '../core/document.ts';
import { nodeAt, type Place } from './places.ts';

export const limits = {
  fileBytes: 32 * 1024 * 1024,
  /** Values in one document, aliases followed. */
  values: 200_000,
  /** Values that aliases may multiply in one document. */
  aliased: 20_000,
  depth: 60,
} as const;

/** Something wrong, at an offset of the text. */
export interface TextProblem {
  readonly code: string;
  readonly message: string;
  readonly remedy?: string;
  readonly offset: number;
  readonly length: number;
}

export interface RawDocument {
  readonly value: Json;
  readonly offset: number;
  /** Dotted paths of values that are secret by where they come from. */
  readonly secrets?: readonly string[];
  /** Where the value (or key) at a path is written; of the nearest parent when it is not. */
  readonly placeOf: (path: string, part: 'key' | 'value') => Place;
}

export interface ParsedText {
  readonly documents: readonly RawDocument[];
  readonly problems: readonly TextProblem[];
}

const friendly: Readonly<Record<string, { readonly message: string; readonly remedy: string }>> = {
  TAB_AS_INDENT: { message: 'a tab is used for indentation', remedy: 'indent with spaces' },
  DUPLICATE_KEY: { message: 'this key is written twice in one map', remedy: 'keep one of the two' },
  BAD_INDENT: { message: 'the indentation does not fit the lines above', remedy: 'line it up with its neighbours' },
  MULTILINE_IMPLICIT_KEY: { message: 'a key must fit on one line', remedy: 'is a colon or a quote missing?' },
  NON_STRING_KEY: { message: 'a key must be plain text', remedy: 'put the key into quotes' },
};

export function parseYaml(text: string): ParsedText {
  let parsed: readonly YamlDocument.Parsed[];
  try {
    parsed = parseAll(text);
  } catch {
    const message = 'the text cannot be read as YAML: it is nested too deeply';
    return { documents: [], problems: [{ code: 'malformed-yaml', message, offset: 0, length: 1 }] };
  }
  const problems: TextProblem[] = [];
  const documents = parsed.flatMap((document) => {
    problems.push(...document.errors.map((error) => openQuote(error, document) ?? textProblem(error, text)));
    if (document.errors.length > 0 || document.contents === null) return [];
    const raw = readDocument(document, problems);
    return raw === undefined ? [] : [raw];
  });
  return { documents, problems };
}

function parseAll(text: string): readonly YamlDocument.Parsed[] {
  const parsed = parseAllDocuments(text, {
    lineCounter: new LineCounter(),
    prettyErrors: false,
    logLevel: 'silent',
    // Scalars are kept as written; the value is read from the source text below.
    intAsBigInt: false,
  });
  return Array.isArray(parsed) ? parsed : [];
}

/** A quote that is never closed shows at the end of the text; what has to be corrected is where it began. */
function openQuote(
  error: { readonly code: string; readonly message: string; readonly pos: readonly [number, number] },
  document: YamlDocument.Parsed,
): TextProblem | undefined {
  if (error.code !== 'MISSING_CHAR' || !/quote/.test(error.message)) return undefined;
  let offset: number | undefined;
  visit(document, {
    Scalar(_key, { range }) {
      const isIt = range !== undefined && range !== null && range[0] < error.pos[0] && error.pos[0] <= range[2];
      if (!isIt) return undefined;
      offset = range[0];
      return visit.BREAK;
    },
  });
  if (offset === undefined) return undefined;
  return { code: 'malformed-yaml', message: 'this quote is never closed', remedy: 'close it', offset, length: 1 };
}

function textProblem(
  error: { readonly code: string; readonly message: string; readonly pos: readonly [number, number] },
  text: string,
): TextProblem {
  const known = friendly[error.code];
  const [offset, end] = error.pos;
  const isTab = error.code !== 'TAB_AS_INDENT' && /^[ ]*\t/.test(lineAt(text, offset));
  const { message, remedy } = isTab ? (friendly['TAB_AS_INDENT'] ?? {}) : (known ?? {});
  return {
    code: error.code === 'DUPLICATE_KEY' ? 'duplicate-key' : 'malformed-yaml',
    message: message ?? `this is not valid YAML: ${error.message.split('\n')[0] ?? ''}`,
    ...(remedy === undefined ? {} : { remedy }),
    offset,
    length: Math.max(1, end - offset, isTab ? 1 : (/^[\w.$-]+/.exec(text.slice(offset, offset + 80))?.[0].length ?? 1)),
  };
}

const lineAt = (text: string, offset: number): string => {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const end = text.indexOf('\n', offset);
  return text.slice(start, end === -1 ? undefined : end);
};

function readDocument(document: YamlDocument.Parsed, problems: TextProblem[]): RawDocument | undefined {
  const root = document.contents;
  if (root === null) return undefined;
  const reader = new ValueReader(document);
  const value = reader.read(root, 0);
  if (reader.problems.length > 0) {
    problems.push(...reader.problems);
    return undefined;
  }
  if (value === null) return undefined;
  return {
    value,
    offset: root.range?.[0] ?? 0,
    placeOf: (path, part) => nodeAt(document, root, path, part),
  };
}

/** Follows aliases and merge keys with a budget, so that a few lines cannot become gigabytes. */
class ValueReader {
  readonly problems: TextProblem[] = [];
  readonly #document: YamlDocument.Parsed;
  #values = 0;
  #aliased = 0;
  #inAlias = 0;

  constructor(document: YamlDocument.Parsed) {
    this.#document = document;
  }

  read(node: unknown, depth: number): Json {
    if (this.problems.length > 0) return null;
    this.#values += 1;
    if (this.#inAlias > 0) this.#aliased += 1;
    if (this.#values > limits.values)
      return this.#fail(node, 'too-large', `a document may hold ${limits.values} values`);
    if (this.#aliased > limits.aliased) {
      return this.#fail(node, 'too-many-aliases', `aliases multiply this document beyond ${limits.aliased} values`);
    }
    if (depth > limits.depth) return this.#fail(node, 'too-deep', `values may be nested ${limits.depth} deep`);
    if (isAlias(node)) return this.#readAlias(node, depth);
    if (isScalar(node)) return readScalar(node.value, node.source);
    if (isSeq(node)) return node.items.map((item) => this.read(item, depth + 1));
    return isMap(node) ? this.#readMap(node.items, depth) : null;
  }

  #readAlias(alias: Node & { resolve: (document: YamlDocument) => unknown; source: string }, depth: number): Json {
    const target = alias.resolve(this.#document);
    if (target === undefined) return this.#fail(alias, 'malformed-yaml', `there is no anchor &${alias.source}`);
    this.#inAlias += 1;
    const value = this.read(target, depth + 1);
    this.#inAlias -= 1;
    return value;
  }

  #readMap(items: readonly Pair[], depth: number): Json {
    const out: Record<string, Json> = {};
    const own = new Set<string>();
    for (const { key, value } of items) {
      const name = keyText(key);
      if (name === undefined) {
        this.#fail(key, 'non-string-key', 'a key must be plain text');
        continue;
      }
      if (name === '__proto__') {
        this.#fail(key, 'unknown-key', '__proto__ is no key of anything');
        continue;
      }
      const read = this.read(value, depth + 1);
      if (name === '<<') this.#merge(out, own, read, value);
      else {
        own.add(name);
        out[name] = read;
      }
    }
    return out;
  }

  /** Keys of the map itself win over merged ones, wherever they stand. */
  #merge(out: Record<string, Json>, own: ReadonlySet<string>, value: Json, node: unknown): void {
    for (const part of Array.isArray(value) ? (value as readonly Json[]) : [value]) {
      if (typeof part !== 'object' || part === null || Array.isArray(part)) {
        this.#fail(node, 'malformed-yaml', '<< must be followed by maps');
        return;
      }
      for (const [key, item] of Object.entries(part)) if (!own.has(key) && !Object.hasOwn(out, key)) out[key] = item;
    }
  }

  #fail(node: unknown, code: string, message: string): null {
    const range = (node as Node | null)?.range;
    if (this.problems.length === 0) {
      const remedy = friendly[code === 'non-string-key' ? 'NON_STRING_KEY' : '']?.remedy;
      this.problems.push({
        code,
        message,
        ...(remedy === undefined ? {} : { remedy }),
        offset: range?.[0] ?? 0,
        length: Math.max(1, (range?.[1] ?? 1) - (range?.[0] ?? 0)),
      });
    }
    return null;
  }
}

/** Numbers stay the text they are written as: `0660` and `1.10` mean what they show. */
function readScalar(value: unknown, source: string | undefined): Json {
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (value === null || value === undefined) return null;
  return source ?? (typeof value === 'number' ? String(value) : null);
}

export function keyText(key: unknown): string | undefined {
  if (!isScalar(key) || key.value === null) return undefined;
  if (typeof key.value === 'string') return key.value;
  return key.source ?? (typeof key.value === 'object' ? undefined : JSON.stringify(key.value));
}
