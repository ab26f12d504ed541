// Adds the place in the text to diagnostics: file, line, column and the line itself, with secrets masked.
import { LineCounter } from 'yaml';
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { Location } from '../../core/documents/document.ts';
import { isSecret } from '../../core/documents/secret.ts';
import type { Finding } from './finding.ts';
import { parseText } from './parse-json.ts';
import type { RawDocument, TextProblem } from './parse-yaml.ts';
import type { SourceText } from './sources.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** Keeps the text without its tree: the tree is parsed again for the few diagnostics that are shown. */
export class PlacedText {
  readonly file: string;
  readonly folder: string;
  readonly #text: string;
  #lines: LineCounter | undefined;
  #documents: ReadonlyMap<number, RawDocument> | undefined;

  constructor(source: SourceText) {
    this.file = source.file;
    this.folder = source.folder;
    this.#text = source.text;
  }

  locationAt(offset: number): Location {
    this.#lines ??= countLines(this.#text);
    const { line, col } = this.#lines.linePos(offset);
    return { file: this.file, line: Math.max(1, line), column: Math.max(1, col) };
  }

  /** The place in the form of a related place. */
  placeAt(offset: number): { readonly file: string; readonly line: number; readonly column: number } {
    return this.locationAt(offset);
  }

  excerptAt(offset: number, length = 1): Pick<Diagnostic, 'excerpt'> {
    const start = this.#text.lastIndexOf('\n', offset - 1) + 1;
    const end = this.#text.indexOf('\n', offset);
    const text = this.#text.slice(start, end === -1 ? undefined : end).replace(/\r$/, '');
    if (text.length > 400) return {};
    return { excerpt: { text: masked(text), length: Math.max(1, Math.min(length, text.length - (offset - start))) } };
  }

  diagnosticOf(problem: TextProblem): Diagnostic {
    const { code, message, remedy, offset, length } = problem;
    return {
      severity: 'error',
      code,
      path: '',
      message,
      ...withoutUndefined({ remedy }),
      ...this.locationAt(offset),
      ...this.excerptAt(offset, length),
    };
  }

  /** The document that begins at `documentOffset`. */
  documentAt(documentOffset: number): RawDocument | undefined {
    this.#documents ??= new Map(
      parseText({ file: this.file, text: this.#text }).documents.map((raw) => [raw.offset, raw]),
    );
    return this.#documents.get(documentOffset);
  }

  locationOf(documentOffset: number, path: string): Location {
    const place = this.documentAt(documentOffset)?.placeOf(path, 'value');
    return this.locationAt(place?.offset ?? documentOffset);
  }
}

function countLines(text: string): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1);
  return lines;
}

const entry = /([\w.$-]+)(["']?\s*:\s+)("(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?|[^\s{["'][^\n]*)/g;

/**
 * Lines are shown unchanged, except for values with a secret key. The mask is as long as the value, so that marks below the line
 * stay aligned.
 */
export function masked(line: string): string {
  let from = 0;
  let out = '';
  for (entry.lastIndex = 0; ;) {
    const match = entry.exec(line);
    if (match === null) return out + line.slice(from);
    const [whole, key = '', , rest = ''] = match;
    // Plain text ends at a comma or brace only within braces, which open before its key: a value has braces, too.
    const isFlow = /[{[]/.test(line.slice(0, match.index));
    const value = isFlow && !/^["']/.test(rest) ? (/^[^,}\]]*/.exec(rest)?.[0] ?? rest) : rest;
    const start = match.index + whole.length - rest.length;
    out += line.slice(from, start) + (isSecret(['config', key], value) ? '*'.repeat(value.length) : value);
    from = start + value.length;
    entry.lastIndex = from;
  }
}

const keyCodes = new Set(['unknown-key', 'not-available', 'bad-variables']);

export function placedDiagnostic(
  finding: Finding,
  source: PlacedText,
  raw: RawDocument,
  part: 'key' | 'value' = keyCodes.has(finding.code) ? 'key' : 'value',
): Diagnostic {
  const { offset, length } = raw.placeOf(finding.path, part);
  return { ...finding, ...source.locationAt(offset), ...source.excerptAt(offset, length) };
}

/** Adds the place to a diagnostic of the core, which knows only address and path. */
export function locateDocument(
  diagnostic: Diagnostic,
  entry: { readonly source: PlacedText; readonly offset: number } | undefined,
): Diagnostic {
  if (entry === undefined || diagnostic.excerpt !== undefined) return diagnostic;
  const { source, offset } = entry;
  const place = source.documentAt(offset)?.placeOf(diagnostic.path, 'value') ?? { offset, length: 1 };
  return { ...diagnostic, ...source.locationAt(place.offset), ...source.excerptAt(place.offset, place.length) };
}
