// Assembles the parts of a template: directives and the text between them become conditions and loops; heredocs lose their common
// indentation. Pure.
import { ExpressionError, type Expression, type ForClause, type Span } from './syntax.ts';
import { composed } from './values.ts';

export type Part =
  /** At most one line. */
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'value'; readonly expression: Expression }
  | { readonly type: 'if'; readonly condition: Expression; readonly span: Span }
  | { readonly type: 'for'; readonly clause: Omit<ForClause, 'condition'>; readonly span: Span }
  | { readonly type: 'else' | 'endif' | 'endfor'; readonly span: Span };

type Piece = string | Expression;

/** Throws ExpressionError for directives without an end or a beginning. */
export function builtDirectives(parts: readonly Part[], span: Span): Expression {
  const reader = { at: 0 };
  const pieces = piecesUntil(parts, reader, [], span);
  const [only] = pieces;
  if (pieces.length === 0) return { type: 'literal', value: '', ...span };
  if (pieces.length === 1 && typeof only === 'string') return { type: 'literal', value: composed(only), ...span };
  // A lone interpolation keeps the type of its value; a lone directive makes a text.
  const isValue = parts.length === 1 && parts[0]?.type === 'value';
  return { type: 'template', parts: pieces, ...(isValue ? {} : { isText: true }), ...span };
}

function piecesUntil(
  parts: readonly Part[],
  reader: { at: number },
  ends: readonly Part['type'][],
  opener: Span,
): readonly Piece[] {
  const pieces: Piece[] = [];
  for (;;) {
    const part = parts[reader.at];
    if (part === undefined) {
      if (ends.length === 0) return pieces;
      throw fail(`the directive has no ${ends.map((each) => `%{ ${each} }`).join(' or ')}`, opener);
    }
    if (ends.includes(part.type)) return pieces;
    reader.at++;
    if (part.type === 'text') addText(pieces, part.text);
    else if (part.type === 'value') pieces.push(part.expression);
    else if (part.type === 'if') pieces.push(condition(parts, reader, part));
    else if (part.type === 'for') pieces.push(loop(parts, reader, part));
    else throw fail(`%{ ${part.type} } has no begin`, part.span);
  }
}

function addText(pieces: Piece[], text: string): void {
  const last = pieces.at(-1);
  if (text === '') return;
  if (typeof last === 'string') pieces[pieces.length - 1] = last + text;
  else pieces.push(text);
}

const textOf = (parts: readonly Piece[], { start, end }: Span): Expression => ({
  type: 'template',
  parts,
  isText: true,
  start,
  end,
});

function condition(parts: readonly Part[], reader: { at: number }, opener: Part & { readonly type: 'if' }): Expression {
  const yes = textOf(piecesUntil(parts, reader, ['else', 'endif'], opener.span), opener.span);
  let no: Expression = { type: 'literal', value: '', ...opener.span };
  if (parts[reader.at]?.type === 'else') {
    reader.at++;
    no = textOf(piecesUntil(parts, reader, ['endif'], opener.span), opener.span);
  }
  reader.at++;
  return { type: 'if', condition: opener.condition, yes, no, ...opener.span };
}

function loop(parts: readonly Part[], reader: { at: number }, opener: Part & { readonly type: 'for' }): Expression {
  const result = textOf(piecesUntil(parts, reader, ['endfor'], opener.span), opener.span);
  reader.at++;
  const list: Expression = {
    type: 'for-list',
    clause: { ...opener.clause, condition: undefined },
    result,
    ...opener.span,
  };
  return { type: 'joined', list, ...opener.span };
}

/** For `<<-`: removes the common indentation of all lines; blank lines do not count. */
export function flushIndent(parts: readonly Part[]): readonly Part[] {
  const starts = parts.flatMap((part, at) => {
    const before = parts[at - 1];
    const isStart = before === undefined || (before.type === 'text' && before.text.endsWith('\n'));
    return isStart ? [at] : [];
  });
  const indents = starts.flatMap((at) => {
    const part = parts[at];
    if (part?.type !== 'text') return [0];
    const rest = part.text.replace(/^\s+/u, '');
    return rest === '' && part.text.endsWith('\n') ? [] : [part.text.length - rest.length];
  });
  const least = Math.min(...indents, Number.MAX_SAFE_INTEGER);
  const isStart = new Set(starts);
  return parts.map((part, at) => {
    if (part.type !== 'text' || !isStart.has(at)) return part;
    const blank = /^\s*$/u.test(part.text) && part.text.endsWith('\n');
    return blank ? part : { ...part, text: part.text.slice(least) };
  });
}

const fail = (message: string, span: Span): ExpressionError => new ExpressionError('E_SYNTAX', message, span);
