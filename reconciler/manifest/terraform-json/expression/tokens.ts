// Splits the inside of an interpolation into tokens, one at a time, since a quoted text contains its own template.
import { ExpressionError } from './syntax.ts';

export type Token =
  | {
      readonly type: 'number';
      readonly value: number;
      readonly text: string;
      readonly start: number;
      readonly end: number;
    }
  | { readonly type: 'name'; readonly text: string; readonly start: number; readonly end: number }
  | { readonly type: 'sign'; readonly text: string; readonly start: number; readonly end: number }
  /** The opening quote; the template parser continues from there. */
  | { readonly type: 'quote'; readonly start: number; readonly end: number }
  /** `<<MARK`: `end` is where its first line begins. */
  | {
      readonly type: 'heredoc';
      readonly mark: string;
      readonly isIndented: boolean;
      readonly start: number;
      readonly end: number;
    }
  | { readonly type: 'end'; readonly start: number; readonly end: number };

// Longest first.
const signs = ['...', '=>', '==', '!=', '<=', '>=', '&&', '||', '::', ...Array.from('+-*/%<>!?:.,()[]{}=~')];
const name = /[\p{ID_Start}_][\p{ID_Continue}-]*/uy;
const number = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const heredoc = /^<<(-?)([\p{ID_Start}_][\p{ID_Continue}-]*)\r?\n/u;
const maxMark = 200;
const blank = /(?:\s+|#[^\n]*|\/\/[^\n]*|\/\*[^]*?\*\/)+/y;

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/** The token at or after `from`; blanks and comments lie between tokens. */
export function tokenAt(text: string, from: number): Token {
  const start = from + (match(blank, text, from)?.length ?? 0);
  if (start >= text.length) return { type: 'end', start, end: start };
  if (text[start] === '"') return { type: 'quote', start, end: start + 1 };
  const digits = match(number, text, start);
  if (digits !== undefined) return numberToken(digits, start);
  const word = match(name, text, start);
  if (word !== undefined) return { type: 'name', text: word, start, end: start + word.length };
  const opening = heredoc.exec(text.slice(start, start + maxMark));
  if (opening !== null) {
    const [whole, dash = '', mark = ''] = opening;
    return { type: 'heredoc', mark, isIndented: dash === '-', start, end: start + whole.length };
  }
  const sign = signs.find((each) => text.startsWith(each, start));
  if (sign !== undefined) return { type: 'sign', text: sign, start, end: start + sign.length };
  const shown = JSON.stringify(String.fromCodePoint(text.codePointAt(start) ?? 0));
  throw new ExpressionError('E_SYNTAX', `${shown} has no meaning here`, { start, end: start + 1 });
}

function numberToken(digits: string, start: number): Token {
  const value = Number(digits);
  const span = { start, end: start + digits.length };
  if (!Number.isFinite(value) || (/^\d+$/.test(digits) && !Number.isSafeInteger(value))) {
    throw new ExpressionError('E_BIG_NUMBER', `${digits} is too large to be kept exactly`, span);
  }
  return { type: 'number', value, text: digits, ...span };
}
