// Reads the values of plain YAML several times faster than with positions. parse-yaml.ts reads texts with rare features (anchors, tags,
// merge keys, values over several lines outside of block scalars) or mistakes, and reports the mistakes.
import {
  CHOMPING_KEEP,
  COLLECTION_STYLE_FLOW,
  EVENT_MAPPING,
  EVENT_POP,
  EVENT_SCALAR,
  EVENT_SEQUENCE,
  EVENT_DOCUMENT,
  getScalarValue,
  parseEvents,
  SCALAR_STYLE_DOUBLE_QUOTED,
  SCALAR_STYLE_FOLDED_BLOCK,
  SCALAR_STYLE_LITERAL_BLOCK,
  SCALAR_STYLE_PLAIN,
  type Event,
  type ScalarEvent,
} from 'js-yaml';
import type { Json } from '../../core/documents/document.ts';
import { below, readScalar } from './yaml-scalars.ts';

export interface QuickDocument {
  readonly value: Json;
  /** Where the root begins in the whole text. */
  readonly offset: number;
}

/** Text that the two parsers may read differently: tabs, foreign line breaks, byte order marks, directives, indented markers. */
const rareText = /[\t\r\u0085\u2028\u2029\ufeff]|^ *%|^ +---/m;
/** Well below the limit of parse-yaml.ts: the two count levels differently. */
const max = { depth: 40, events: 100_000, keyLength: 500, partLength: 2000 } as const;

/** Ends a document at any place. */
const documentMarker = /\n---(?=\s|$)/g;

/** Undefined when parse-yaml.ts has to read the text. */
export function quickYaml(text: string): readonly QuickDocument[] | undefined {
  if (rareText.test(text)) return undefined;
  const documents: QuickDocument[] = [];
  try {
    let start = 0;
    for (const { index } of text.matchAll(documentMarker)) {
      if (index - start < max.partLength) continue;
      readPart(text.slice(start, index + 1), start, documents);
      start = index + 1;
    }
    readPart(text.slice(start), start, documents);
  } catch {
    return undefined;
  }
  return documents;
}

/** Reads a few documents at a time, so that their events can be freed before the next ones are read. */
function readPart(source: string, offset: number, documents: QuickDocument[]): void {
  const events = parseEvents(source, { maxDepth: max.depth });
  if (events.length > max.events) throw new NotPlain();
  const reader = new EventReader(source, events);
  while (!reader.isAtEnd) {
    const document = reader.readDocument();
    if (document !== undefined) documents.push({ value: document.value, offset: offset + document.start });
  }
}

class NotPlain extends Error {}

/** A key of one of these forms is not a text, or equals a key that is written differently. */
const notText =
  /^(?:[-+.]?[0-9][-+.\w]*|[-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)|~|null|Null|NULL|true|True|TRUE|false|False|FALSE|<<|__proto__)?$/;
const nothing = /^(?:~|null|Null|NULL)?$/;
const trueOrFalse = /^(?:true|True|TRUE|false|False|FALSE)$/;
/** Escapes that all parsers read alike. */
const rareEscape = /\\[^nt"\\]/;

/** A line of a block scalar, whose indentation may belong to the text. */
const blankLine = /^ +$/m;

class EventReader {
  readonly #source: string;
  readonly #events: readonly Event[];
  #next = 0;

  constructor(source: string, events: readonly Event[]) {
    this.#source = source;
    this.#events = events;
  }

  get isAtEnd(): boolean {
    return this.#next >= this.#events.length;
  }

  #take(): Event {
    const event = this.#events[this.#next];
    if (event === undefined) throw new NotPlain();
    this.#next += 1;
    return event;
  }

  /** undefined: it is empty. */
  readDocument(): { readonly value: Json; readonly start: number } | undefined {
    const opening = this.#take();
    if (opening.type !== EVENT_DOCUMENT || opening.directives.length > 0 || opening.explicitEnd) throw new NotPlain();
    const root = this.#take();
    const isEmpty = root.type === EVENT_SCALAR && root.valueStart === -1;
    // Other roots are not documents: parse-yaml.ts reports them with their place.
    if (root.type !== EVENT_MAPPING && !isEmpty) throw new NotPlain();
    const value = this.#read(root, undefined);
    if (this.#take().type !== EVENT_POP) throw new NotPlain();
    return root.type === EVENT_MAPPING ? { value, start: root.start } : undefined;
  }

  /** `texts`: see `below`. */
  #read(event: Event, texts: number | undefined): Json {
    if (event.type === EVENT_SCALAR) return this.#readScalar(event, texts === 0);
    if (event.type !== EVENT_MAPPING && event.type !== EVENT_SEQUENCE) throw new NotPlain();
    if (event.anchorStart !== -1 || event.tagStart !== -1) throw new NotPlain();
    return event.type === EVENT_MAPPING
      ? this.#readMap(texts, event.style === COLLECTION_STYLE_FLOW)
      : this.#readList();
  }

  #readMap(texts: number | undefined, isFlow: boolean): Json {
    const out: Record<string, Json> = {};
    for (let event = this.#take(); event.type !== EVENT_POP; event = this.#take()) {
      const key = this.#readKey(event, isFlow);
      if (Object.hasOwn(out, key)) throw new NotPlain();
      out[key] = this.#read(this.#take(), below(texts, key));
    }
    return out;
  }

  #readList(): Json {
    const out: Json[] = [];
    for (let event = this.#take(); event.type !== EVENT_POP; event = this.#take())
      out.push(this.#read(event, undefined));
    return out;
  }

  #readKey(event: Event, isFlow: boolean): string {
    if (event.type !== EVENT_SCALAR || event.valueEnd - event.valueStart > max.keyLength) throw new NotPlain();
    const text = this.#textOf(event);
    if (notText.test(text) || isBlock(event) || !(isFlow || this.#beginsLine(event))) throw new NotPlain();
    return text;
  }

  /** Excludes list markers: js-yaml accepts a key after a quoted list item, which is wrong. */
  #beginsLine({ valueStart, style }: ScalarEvent): boolean {
    let at = style === SCALAR_STYLE_PLAIN ? valueStart - 1 : valueStart - 2;
    while (at >= 0 && ' -?'.includes(this.#source.charAt(at))) at -= 1;
    return at < 0 || this.#source.charAt(at) === '\n';
  }

  #readScalar(event: ScalarEvent, isText: boolean): Json {
    const text = this.#textOf(event);
    if (event.style !== SCALAR_STYLE_PLAIN) return text;
    if (nothing.test(text)) return null;
    return trueOrFalse.test(text) ? readScalar(text.toLowerCase() === 'true', text, isText) : text;
  }

  #textOf(event: ScalarEvent): string {
    if (event.anchorStart !== -1 || event.tagStart !== -1) throw new NotPlain();
    if (!event.fast && event.valueStart !== -1 && this.#isRare(event)) throw new NotPlain();
    return getScalarValue(this.#source, event);
  }

  #isRare({ style, chomping, valueStart, valueEnd }: ScalarEvent): boolean {
    const written = this.#source.slice(valueStart, valueEnd);
    if (style === SCALAR_STYLE_FOLDED_BLOCK || chomping === CHOMPING_KEEP) return true;
    if (style === SCALAR_STYLE_LITERAL_BLOCK) return blankLine.test(written) || this.#hasWidth(valueStart);
    return written.includes('\n') || (style === SCALAR_STYLE_DOUBLE_QUOTED && rareEscape.test(written));
  }

  /** True when the line above sets the indentation of a block. */
  #hasWidth(blockStart: number): boolean {
    const line = this.#source.slice(this.#source.lastIndexOf('\n', blockStart - 2) + 1, blockStart);
    return /\|[-+]?[0-9]/.test(line);
  }
}

const isBlock = ({ style }: ScalarEvent): boolean =>
  style === SCALAR_STYLE_LITERAL_BLOCK || style === SCALAR_STYLE_FOLDED_BLOCK;
