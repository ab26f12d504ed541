// Parses YAML text into plain values, and finds the place of a path in the text. Independent of the meaning of the values.
import {
  Composer,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Parser,
  type Document as YamlDocument,
  type Node,
  type Pair,
} from 'yaml';
import type { Json } from '../../core/documents/document.ts';
import {
  conflictMarkers,
  duplicateKey,
  foreignTag,
  isStackOverflow,
  parserProblem,
  quoteTheKey,
  tooDeep,
  type TextProblem,
} from './yaml-problems.ts';
import { nodeAt, type TextSpan } from './yaml-positions.ts';
import { below, readScalar } from './yaml-scalars.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export type { TextProblem };

export const limits = {
  fileBytes: 32 * 1024 * 1024,
  /** Values in one document, aliases followed. */
  values: 200_000,
  /** Values that aliases may multiply in one document. */
  aliased: 20_000,
  depth: 60,
} as const;

export interface RawDocument {
  readonly value: Json;
  readonly offset: number;
  /** Dotted paths of values that are secret because of their source. */
  readonly secrets?: readonly string[];
  /** An import of Terraform names it. */
  readonly isImported?: boolean;
  /** The place of the value or key at a path; of its nearest parent when it is not written. */
  readonly placeOf: (path: string, part: 'key' | 'value') => TextSpan;
}

export interface ParsedText {
  readonly documents: readonly RawDocument[];
  readonly problems: readonly TextProblem[];
}

export function parseYaml(text: string): ParsedText {
  const conflict = conflictMarkers(text);
  if (conflict !== undefined) return { documents: [], problems: [conflict] };
  const documents: RawDocument[] = [];
  const problems: TextProblem[] = [];
  const places = placesLater(text);
  try {
    for (const document of parseEach(text)) {
      if (document.errors.some(isStackOverflow)) return { documents: [], problems: [tooDeep(text, limits.depth)] };
      problems.push(...distinct(firstOfEach(document.errors).map((error) => parserProblem(error, document, text))));
      const value = document.errors.length > 0 ? null : readDocument(document, text, problems);
      if (value !== null) documents.push(placedBy(places, value, offsetOf(document)));
    }
  } catch {
    return { documents: [], problems: [tooDeep(text, limits.depth)] };
  }
  return { documents, problems };
}

/** Each document is dropped once its values are read: its tree takes many times the room of its text. */
function* parseEach(text: string): Generator<YamlDocument.Parsed> {
  // Scalars are kept as written; the value is read from their source. The composer would compare each key with all before it, which takes
  // hours for hundreds of thousands: the reader finds those that are written twice.
  yield* new Composer({ prettyErrors: false, logLevel: 'silent', intAsBigInt: false, uniqueKeys: false }).compose(
    new Parser().parse(text),
  );
}

type Places = (offset: number, path: string, part: 'key' | 'value') => TextSpan;

/** Only diagnostics need places: the text is parsed once more at the first request. */
function placesLater(text: string): Places {
  let documents: ReadonlyMap<number, YamlDocument.Parsed> | undefined;
  return (offset, path, part) => {
    documents ??= new Map(Array.from(parseEach(text), (document) => [offsetOf(document), document]));
    const document = documents.get(offset);
    return document?.contents ? nodeAt(document, document.contents, path, part) : { offset, length: 1 };
  };
}

/** A function of its own, because closures of one scope keep alive what any of them names: the tree of the document. */
const placedBy = (places: Places, value: Json, offset: number): RawDocument => ({
  value,
  offset,
  placeOf: (path, part) => places(offset, path, part),
});

const offsetOf = ({ contents }: YamlDocument.Parsed): number => contents?.range[0] ?? 0;

/** After one unexpected token the parser reports every token that follows: the first report is kept. */
const firstOfEach = <T extends { readonly code: string }>(errors: readonly T[]): readonly T[] =>
  errors.filter(
    ({ code }, index) => code !== 'UNEXPECTED_TOKEN' || !errors.slice(0, index).some((before) => before.code === code),
  );

/** The parser reports some mistakes twice. */
const distinct = (problems: readonly TextProblem[]): readonly TextProblem[] =>
  problems.filter(
    ({ offset, message }, index) =>
      problems.findIndex((other) => other.offset === offset && other.message === message) === index,
  );

/** Null when it is empty or has problems. */
function readDocument(document: YamlDocument.Parsed, text: string, problems: TextProblem[]): Json {
  const reader = new ValueReader(document);
  const value = reader.read(document.contents, 0);
  const found = [...reader.problems, ...[...reader.duplicates].map((offset) => duplicateKey(offset, text))];
  problems.push(...found);
  return found.length > 0 ? null : value;
}

/** Follows aliases and merge keys with a budget, so that a few lines cannot become gigabytes. */
class ValueReader {
  readonly problems: TextProblem[] = [];
  /** The offsets of keys that their map has before; aliases lead to a map several times. */
  readonly duplicates = new Set<number>();
  readonly #document: YamlDocument.Parsed;
  #values = 0;
  #aliased = 0;
  #inAlias = 0;

  constructor(document: YamlDocument.Parsed) {
    this.#document = document;
  }

  /** `texts`: the number of map levels down to values that keep their spelling as texts; see `below`. */
  read(node: unknown, depth: number, texts?: number): Json {
    if (this.problems.length > 0) return null;
    this.#values += 1;
    if (this.#inAlias > 0) this.#aliased += 1;
    if (this.#values > limits.values)
      return this.#fail(node, 'too-large', `a document may hold ${limits.values} values`);
    if (this.#aliased > limits.aliased) {
      return this.#fail(node, 'too-many-aliases', `aliases multiply this document beyond ${limits.aliased} values`);
    }
    if (depth > limits.depth) return this.#fail(node, 'too-deep', `values may be nested ${limits.depth} deep`);
    if (isAlias(node)) return this.#readAlias(node, depth, texts);
    const tag = foreignTag((node as Node | null)?.tag);
    if (tag !== undefined) return this.#fail(node, 'unknown-tag', tag.message, tag.remedy);
    if (isScalar(node)) return readScalar(node.value, node.source, texts === 0);
    if (isSeq(node)) return node.items.map((item) => this.read(item, depth + 1));
    return isMap(node) ? this.#readMap(node.items, depth, texts) : null;
  }

  #readAlias(
    alias: Node & { resolve: (document: YamlDocument) => unknown; source: string },
    depth: number,
    texts: number | undefined,
  ): Json {
    const target = alias.resolve(this.#document);
    if (target === undefined) return this.#fail(alias, 'malformed-yaml', `there is no anchor &${alias.source}`);
    this.#inAlias += 1;
    const value = this.read(target, depth + 1, texts);
    this.#inAlias -= 1;
    return value;
  }

  #readMap(items: readonly Pair[], depth: number, texts: number | undefined): Json {
    const out: Record<string, Json> = {};
    const own = new Set<string>();
    const seen = new Set<string>();
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
      if (seen.has(name)) this.duplicates.add((key as Node).range?.[0] ?? 0);
      seen.add(name);
      const read = this.read(value, depth + 1, below(texts, name));
      if (name === '<<') this.#merge(out, own, read, value);
      else {
        own.add(name);
        out[name] = read;
      }
    }
    return out;
  }

  /** Keys of the map itself override merged ones, regardless of their order. */
  #merge(out: Record<string, Json>, own: ReadonlySet<string>, value: Json, node: unknown): void {
    for (const part of Array.isArray(value) ? (value as readonly Json[]) : [value]) {
      if (typeof part !== 'object' || part === null || Array.isArray(part)) {
        this.#fail(node, 'malformed-yaml', '<< must be followed by maps');
        return;
      }
      for (const [key, item] of Object.entries(part)) if (!own.has(key) && !Object.hasOwn(out, key)) out[key] = item;
    }
  }

  #fail(node: unknown, code: string, message: string, help?: string): null {
    const range = (node as Node | null)?.range;
    if (this.problems.length === 0) {
      const remedy = help ?? (code === 'non-string-key' ? quoteTheKey : undefined);
      this.problems.push({
        code,
        message,
        ...withoutUndefined({ remedy }),
        offset: range?.[0] ?? 0,
        length: Math.max(1, (range?.[1] ?? 1) - (range?.[0] ?? 0)),
      });
    }
    return null;
  }
}

export function keyText(key: unknown): string | undefined {
  if (!isScalar(key) || key.value === null) return undefined;
  if (typeof key.value === 'string') return key.value;
  return key.source ?? (typeof key.value === 'object' ? undefined : JSON.stringify(key.value));
}
