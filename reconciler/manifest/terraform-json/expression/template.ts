// Reads templates: text with interpolations ${ }, directives %{ if } and %{ for }, and strip markers ~, into the tree of expressions.
import { ExpressionError, type Expression, type ForClause, type Span } from './syntax.ts';
import { builtDirectives, flushIndent, type Part } from './template-parts.ts';
import type { Token } from './tokens.ts';

/** The reader of the inside of `${ }` and `%{ }`, which shares the cursor. */
export interface Cursor {
  readonly text: string;
  at: number;
  expression(): Expression;
  forHead(): Omit<ForClause, 'condition'>;
  next(): Token;
  peek(): Token;
}

/** The end of a template and the form of its text. */
export type Ending =
  /** A text with escapes, up to the closing quote. */
  | { readonly type: 'quote'; readonly start: number }
  /** Literal text, up to this offset. */
  | { readonly type: 'offset'; readonly end: number; readonly isIndented: boolean };

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\' };

/** Moves the cursor behind the template. Throws ExpressionError. */
export function readTemplate(cursor: Cursor, ending: Ending): Expression {
  const start = ending.type === 'quote' ? ending.start : cursor.at;
  const parts = new TemplateReader(cursor, ending).parts();
  return builtDirectives(ending.type === 'offset' && ending.isIndented ? flushIndent(parts) : parts, {
    start,
    end: cursor.at,
  });
}

class TemplateReader {
  readonly #cursor: Cursor;
  readonly #ending: Ending;
  readonly #parts: Part[] = [];
  /** True when the next text loses its leading blanks. */
  #strips = false;

  constructor(cursor: Cursor, ending: Ending) {
    this.#cursor = cursor;
    this.#ending = ending;
  }

  parts(): readonly Part[] {
    const cursor = this.#cursor;
    while (!this.#hasEnded()) {
      const two = cursor.text.slice(cursor.at, cursor.at + 2);
      if (two === '${') this.#interpolation();
      else if (two === '%{') this.#directive();
      else this.#text();
    }
    return this.#parts;
  }

  #hasEnded(): boolean {
    const cursor = this.#cursor;
    if (this.#ending.type === 'offset') return cursor.at >= this.#ending.end;
    const { start } = this.#ending;
    const char = cursor.text[cursor.at];
    if (char === undefined) throw syntax('the quoted text does not end', { start, end: cursor.at });
    if (char !== '"') return false;
    cursor.at++;
    return true;
  }

  /** Up to the next template or the end of the line: strip markers reach no further. */
  #text(): void {
    const cursor = this.#cursor;
    const { text } = cursor;
    const isQuoted = this.#ending.type === 'quote';
    const end = this.#ending.type === 'offset' ? this.#ending.end : text.length;
    let found = '';
    while (cursor.at < end) {
      const char = text[cursor.at] ?? '';
      if (isQuoted && char === '"') break;
      if (isQuoted && char === '\n') {
        const start = this.#ending.type === 'quote' ? this.#ending.start : cursor.at;
        throw syntax('a quoted text ends in its line', { start, end: cursor.at });
      }
      if ((char === '$' || char === '%') && text.startsWith(`${char}${char}{`, cursor.at)) {
        found += `${char}{`;
        cursor.at += 3;
      } else if ((char === '$' || char === '%') && text[cursor.at + 1] === '{') break;
      else if (isQuoted && char === '\\') found += this.#escape();
      else {
        found += char;
        cursor.at++;
        if (char === '\n') break;
      }
    }
    this.#parts.push({ type: 'text', text: this.#strips ? found.replace(/^\s+/u, '') : found });
    this.#strips = false;
  }

  #interpolation(): void {
    const cursor = this.#cursor;
    const start = cursor.at;
    this.#open();
    const expression = cursor.expression();
    this.#close('the interpolation', start);
    this.#parts.push({ type: 'value', expression });
  }

  #directive(): void {
    const cursor = this.#cursor;
    const start = cursor.at;
    this.#open();
    const token = cursor.next();
    const word = token.type === 'name' ? token.text : '';
    const span = { start, end: token.end };
    if (word === 'if') this.#parts.push({ type: 'if', condition: cursor.expression(), span });
    else if (word === 'for') this.#parts.push({ type: 'for', clause: cursor.forHead(), span });
    else if (word === 'else' || word === 'endif' || word === 'endfor') this.#parts.push({ type: word, span });
    else throw syntax('%{ must be followed by if, else, endif, for or endfor; a literal %{ is written %%{', span);
    this.#close('the directive', start);
  }

  #open(): void {
    const cursor = this.#cursor;
    cursor.at += 2;
    this.#strips = false;
    if (cursor.text[cursor.at] !== '~') return;
    cursor.at++;
    const last = this.#parts.at(-1);
    if (last?.type === 'text') this.#parts[this.#parts.length - 1] = { ...last, text: last.text.replace(/\s+$/u, '') };
  }

  #close(what: string, start: number): void {
    const cursor = this.#cursor;
    const token = cursor.peek();
    const strips = token.type === 'sign' && token.text === '~';
    cursor.at = strips ? token.end : cursor.at;
    const close = cursor.next();
    if (close.type !== 'sign' || close.text !== '}')
      throw syntax(`${what} does not end with }`, { start, end: close.end });
    this.#strips = strips;
  }

  #escape(): string {
    const cursor = this.#cursor;
    const char = cursor.text[cursor.at + 1] ?? '';
    const simple = escapes[char];
    if (simple !== undefined) {
      cursor.at += 2;
      return simple;
    }
    const digits = char === 'u' ? 4 : char === 'U' ? 8 : 0;
    const hex = cursor.text.slice(cursor.at + 2, cursor.at + 2 + digits);
    const code = Number.parseInt(hex, 16);
    if (digits === 0 || !new RegExp(`^[0-9a-fA-F]{${digits}}$`).test(hex) || code > 0x10ffff)
      throw syntax(`\\${char} is no escape`, { start: cursor.at, end: cursor.at + 2 });
    cursor.at += 2 + digits;
    return String.fromCodePoint(code);
  }
}

const syntax = (message: string, { start, end }: Span): ExpressionError =>
  new ExpressionError('E_SYNTAX', message, { start, end });
