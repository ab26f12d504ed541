// Cuts the text of a template into plain text, `{{ outputs }}` and `{% statements %}`, and their insides into tokens.
import { TemplateError } from './syntax.ts';

export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'output' | 'statement'; readonly tokens: readonly Token[]; readonly line: number };

export interface Token {
  readonly kind: 'name' | 'number' | 'text' | 'operator' | 'end';
  readonly value: string;
  readonly line: number;
}

const closers: Readonly<Record<string, string>> = { '{{': '}}', '{%': '%}', '{#': '#}' };

export function cutPieces(source: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  let line = 1;
  let trimNext = false;
  const take = (to: number): string => {
    const text = source.slice(at, to);
    at = to;
    line += text.split('\n').length - 1;
    return text;
  };
  const addText = (text: string, trimEnd: boolean): void => {
    let kept = trimNext ? text.trimStart() : text;
    if (trimEnd) kept = kept.trimEnd();
    trimNext = false;
    if (kept !== '') pieces.push({ kind: 'text', text: kept });
  };
  while (at < source.length) {
    const open = nextOpening(source, at);
    const isLast = open < 0;
    const trims = !isLast && source[open + 2] === '-';
    addText(take(isLast ? source.length : open), trims);
    if (isLast) break;
    const startLine = line;
    const opener = source.slice(open, open + 2);
    take(open + (trims ? 3 : 2));
    if (opener === '{#') {
      const end = source.indexOf('#}', at);
      if (end < 0) throw new TemplateError(startLine, 'a comment {# has no #}');
      trimNext = source[end - 1] === '-';
      take(end + 2);
      continue;
    }
    const inside = tokenize(source, at, line, closers[opener] ?? '');
    trimNext = inside.trims;
    take(inside.end);
    const raw = opener === '{%' ? rawWord(inside.tokens) : undefined;
    if (raw === undefined) {
      pieces.push({ kind: opener === '{{' ? 'output' : 'statement', tokens: inside.tokens, line: startLine });
      continue;
    }
    const closing = new RegExp(`\\{%-?\\s*end${raw}\\s*-?%\\}`, 'g');
    closing.lastIndex = at;
    const match = closing.exec(source);
    if (match === null) throw new TemplateError(startLine, `{% ${raw} %} has no {% end${raw} %}`);
    const text = take(match.index);
    if (raw !== 'comment') addText(text, match[0].startsWith('{%-'));
    take(match.index + match[0].length);
    trimNext = match[0].endsWith('-%}');
  }
  return pieces;
}

function nextOpening(source: string, from: number): number {
  for (let at = source.indexOf('{', from); at >= 0; at = source.indexOf('{', at + 1)) {
    const next = source[at + 1];
    if (next === '{' || next === '%' || next === '#') return at;
  }
  return -1;
}

/** Blocks whose content is not parsed. */
function rawWord(tokens: readonly Token[]): string | undefined {
  const [first, second] = tokens;
  const isAlone = second?.kind === 'end';
  return isAlone && ['raw', 'verbatim', 'comment'].includes(first?.value ?? '') ? first?.value : undefined;
}

const tokenAt =
  /\s+|([A-Za-z_][A-Za-z0-9_]*)|([0-9]+(?:\.[0-9]+)?)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(==|!=|<=|>=|\/\/|&&|\|\||[-+*/%~<>!()[\]{},.:|=])/sy;

function tokenize(
  source: string,
  from: number,
  fromLine: number,
  closer: string,
): { readonly tokens: readonly Token[]; readonly end: number; readonly trims: boolean } {
  const tokens: Token[] = [];
  let line = fromLine;
  for (let at = from; at < source.length;) {
    const trims = source[at] === '-' && source.startsWith(closer, at + 1);
    if (trims || source.startsWith(closer, at)) {
      tokens.push({ kind: 'end', value: '', line });
      return { tokens, end: at + closer.length + (trims ? 1 : 0), trims };
    }
    tokenAt.lastIndex = at;
    const match = tokenAt.exec(source);
    if (match === null) throw new TemplateError(line, `${JSON.stringify(source[at])} is not understood here`);
    const [whole, name, number, text, operator] = match;
    if (name !== undefined) tokens.push({ kind: 'name', value: name, line });
    else if (number !== undefined) tokens.push({ kind: 'number', value: number, line });
    else if (text !== undefined) tokens.push({ kind: 'text', value: unquote(text), line });
    else if (operator !== undefined) tokens.push({ kind: 'operator', value: operator, line });
    line += whole.split('\n').length - 1;
    at += whole.length;
  }
  throw new TemplateError(fromLine, `${closer} is missing`);
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

function unquote(text: string): string {
  return text.slice(1, -1).replaceAll(/\\(.)/gs, (_whole, character: string) => escapes[character] ?? character);
}
