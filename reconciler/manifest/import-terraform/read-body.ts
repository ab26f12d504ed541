// Reads HCL: blocks and arguments with their places in the text. Expressions keep their tree; nothing is evaluated. Pure.
import { Parser } from '../terraform-json/expression/parse.ts';
import { ExpressionError, type Expression, type Span } from '../terraform-json/expression/syntax.ts';

export interface Argument extends Span {
  readonly type: 'argument';
  readonly name: string;
  readonly value: Expression;
}

export interface Block extends Span {
  readonly type: 'block';
  readonly name: string;
  readonly labels: readonly (Span & { readonly text: string })[];
  readonly items: readonly Item[];
  /** The offset behind its opening brace. */
  readonly open: number;
}

export type Item = Argument | Block;

/** No configuration nests blocks deeper, and deeper texts would exhaust the stack. */
const maxDepth = 30;

/** Throws ExpressionError. */
export function readBody(text: string): readonly Item[] {
  const parser = new Parser(text);
  const items: Item[] = [];
  while (parser.peek().type !== 'end') items.push(readItem(parser, 0));
  return items;
}

function readItem(parser: Parser, depth: number): Item {
  const { start } = parser.peek();
  const name = parser.expectName();
  const item =
    parser.takeSign('=') === undefined ? readBlock(parser, name, start, depth) : readArgument(parser, name, start);
  const next = parser.peek();
  const isLast = next.type === 'end' || (next.type === 'sign' && next.text === '}');
  if (!isLast && !/[\r\n]/.test(parser.text.slice(item.end, next.start)))
    throw parser.error('the next argument or block must begin a new line', next);
  return item;
}

function readArgument(parser: Parser, name: string, start: number): Argument {
  const value = parser.expression();
  return { type: 'argument', name, value, start, end: parser.at };
}

function readBlock(parser: Parser, name: string, start: number, depth: number): Block {
  if (depth > maxDepth) throw parser.error('blocks are nested too deeply', parser.span(start, 1));
  const labels = [];
  for (;;) {
    const token = parser.peek();
    if (token.type === 'sign' && token.text === '{') break;
    if (token.type !== 'quote' && token.type !== 'name')
      throw new ExpressionError('E_SYNTAX', `= or { is expected after ${name}`, token);
    labels.push(readLabel(parser));
  }
  const open = parser.expectSign('{').end;
  const items: Item[] = [];
  for (let close = parser.takeSign('}'); close === undefined; close = parser.takeSign('}')) {
    const next = parser.peek();
    if (next.type === 'end') throw parser.error(`the block ${name} has no }`, parser.span(start, 1));
    items.push(readItem(parser, depth + 1));
  }
  return { type: 'block', name, labels, items, start, open, end: parser.at };
}

function readLabel(parser: Parser): Span & { readonly text: string } {
  const token = parser.peek();
  const label = parser.expression();
  const text =
    label.type === 'name' ? label.name : label.type === 'literal' && typeof label.value === 'string' ? label.value : '';
  if (text === '') throw parser.error('the label of a block is a name or a quoted text', token);
  return { text, start: token.start, end: label.end };
}
