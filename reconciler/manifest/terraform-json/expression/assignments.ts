// Reads a file of `name = value` lines, the syntax of *.tfvars.
import { Parser } from './parse.ts';
import { ExpressionError, type Expression } from './syntax.ts';

export interface Assignment {
  readonly name: string;
  readonly value: Expression;
}

/** Throws ExpressionError, also for a name that is given twice, and for blocks. */
export function parseAssignments(text: string): readonly Assignment[] {
  const parser = new Parser(text.replace(/^\uFEFF/, ''));
  const found = new Map<string, Assignment>();
  for (;;) {
    const token = parser.next();
    if (token.type === 'end') return [...found.values()];
    if (token.type !== 'name') throw new ExpressionError('E_SYNTAX', 'the name of a variable is expected here', token);
    const { text: name } = token;
    if (found.has(name)) throw new ExpressionError('E_SYNTAX', `${name} is given twice`, token);
    const sign = parser.next();
    if (sign.type !== 'sign' || sign.text !== '=')
      throw new ExpressionError('E_SYNTAX', `= is expected after ${name}; files of values cannot contain blocks`, sign);
    found.set(name, { name, value: parser.expression() });
    const next = parser.peek();
    if (next.type !== 'end' && !/[\r\n]/.test(parser.text.slice(parser.at, next.start)))
      throw new ExpressionError('E_SYNTAX', 'the next name must begin a new line', next);
  }
}
