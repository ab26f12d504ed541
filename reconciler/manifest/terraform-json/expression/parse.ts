// Reads templates and expressions of Terraform's language into a tree; refuses unsupported syntax by its name.
import type { Binary, Expression, ForClause, ObjectItem } from './syntax.ts';
import { readTemplate, type Cursor } from './template.ts';
import { TokenReader } from './token-reader.ts';
import type { Token } from './tokens.ts';

/** No configuration is deeper, and deeper texts would exhaust the stack. */
const maxDepth = 200;

/** The content of a JSON string: text with `${ }` in it. Throws ExpressionError. */
export function parseTemplate(text: string): Expression {
  return readTemplate(new Parser(text), { type: 'offset', end: text.length, isIndented: false });
}

/** A bare expression, as in `depends_on` or in tests. Throws ExpressionError. */
export function parseExpression(text: string): Expression {
  const parser = new Parser(text);
  const expression = parser.expression();
  parser.expectEnd();
  return expression;
}

const precedence: readonly (readonly Binary[])[] = [
  ['||'],
  ['&&'],
  ['==', '!='],
  ['<', '<=', '>', '>='],
  ['+', '-'],
  ['*', '/', '%'],
];

/** A cursor in a text; templates and files of values move it, too. */
export class Parser extends TokenReader implements Cursor {
  #depth = 0;

  expression(): Expression {
    if (++this.#depth > maxDepth) throw this.error('it is nested too deeply', this.span(this.at, 1));
    const condition = this.#binary(0);
    let result = condition;
    if (this.takeSign('?') !== undefined) {
      const yes = this.expression();
      this.expectSign(':');
      const no = this.expression();
      result = { type: 'if', condition, yes, no, start: condition.start, end: no.end };
    }
    this.#depth--;
    return result;
  }

  #binary(level: number): Expression {
    const operators = precedence[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    for (;;) {
      const token = this.peek();
      const operator = token.type === 'sign' ? operators.find((each) => each === token.text) : undefined;
      if (operator === undefined) return left;
      this.at = token.end;
      const right = this.#binary(level + 1);
      left = { type: 'binary', operator, left, right, start: left.start, end: right.end };
    }
  }

  #unary(): Expression {
    const token = this.peek();
    if (token.type === 'sign' && (token.text === '!' || token.text === '-')) {
      if (++this.#depth > maxDepth) throw this.error('it is nested too deeply', token);
      this.at = token.end;
      const operand = this.#unary();
      this.#depth--;
      return { type: token.text === '!' ? 'not' : 'negative', operand, start: token.start, end: operand.end };
    }
    return this.#postfix(this.#primary());
  }

  #postfix(first: Expression): Expression {
    let object = first;
    for (;;) {
      const token = this.peek();
      if (token.type !== 'sign' || (token.text !== '.' && token.text !== '[')) return object;
      this.at = token.end;
      if (token.text === '.') object = this.#attribute(object);
      else if (this.takeSign('*') === undefined) {
        const key = this.expression();
        const close = this.expectSign(']');
        object = { type: 'index', object, key, start: object.start, end: close.end };
      } else {
        const close = this.expectSign(']');
        const element: Expression = { type: 'element', start: close.end, end: close.end };
        const each = this.#postfix(element);
        return { type: 'splat', object, each, start: object.start, end: Math.max(each.end, close.end) };
      }
    }
  }

  #attribute(object: Expression): Expression {
    const token = this.next();
    if (token.type === 'name')
      return { type: 'attribute', object, name: token.text, start: object.start, end: token.end };
    if (token.type === 'number' && /^\d+(?:\.\d+)?$/.test(token.text)) {
      // `.0.1` is two indexes.
      return token.text.split('.').reduce<Expression>((inner, digits) => {
        const key: Expression = { type: 'literal', value: Number(digits), start: token.start, end: token.end };
        return { type: 'index', object: inner, key, start: object.start, end: token.end };
      }, object);
    }
    if (token.type === 'sign' && token.text === '*') return this.#attributeSplat(object, token.end);
    throw this.error('an attribute name must follow the dot', token);
  }

  /** `.*`: following names and numbers apply to every element; an index in brackets applies to the result. */
  #attributeSplat(object: Expression, end: number): Expression {
    let each: Expression = { type: 'element', start: end, end };
    for (let token = this.peek(); token.type === 'sign' && token.text === '.'; token = this.peek()) {
      this.at = token.end;
      each = this.#attribute(each);
    }
    return { type: 'splat', object, each, start: object.start, end: Math.max(each.end, end) };
  }

  /** The cursor stands at the first line. */
  #heredoc({ mark, isIndented, start, end: from }: Token & { readonly type: 'heredoc' }): Expression {
    for (let at = from; at < this.text.length;) {
      const newline = this.text.indexOf('\n', at);
      const next = newline < 0 ? this.text.length : newline + 1;
      if (this.text.slice(at, next).trim() === mark) {
        const content = readTemplate(this, { type: 'offset', end: at, isIndented });
        this.at = newline < 0 ? next : newline;
        return { ...content, start, end: this.at };
      }
      at = next;
    }
    throw this.error(`the heredoc does not end with a line ${mark}`, { start, end: from });
  }

  #primary(): Expression {
    const token = this.next();
    if (token.type === 'number') return { type: 'literal', value: token.value, start: token.start, end: token.end };
    if (token.type === 'quote') return readTemplate(this, { type: 'quote', start: token.start });
    if (token.type === 'heredoc') return this.#heredoc(token);
    if (token.type === 'name') return this.#named(token);
    if (token.type === 'sign' && token.text === '(') {
      const inner = this.expression();
      const close = this.expectSign(')');
      return { ...inner, start: token.start, end: close.end };
    }
    if (token.type === 'sign' && token.text === '[') return this.#list(token.start);
    if (token.type === 'sign' && token.text === '{') return this.#object(token.start);
    throw this.error(token.type === 'end' ? 'the expression ends too early' : 'an expression is expected here', token);
  }

  #named(token: Token & { readonly type: 'name' }): Expression {
    const { text, start, end } = token;
    if (text === 'true' || text === 'false') return { type: 'literal', value: text === 'true', start, end };
    if (text === 'null') return { type: 'literal', value: null, start, end };
    let name = text;
    while (this.takeSign('::') !== undefined) name += `::${this.expectName()}`;
    const after = this.peek();
    if (after.type !== 'sign' || after.text !== '(') {
      if (name !== text) throw this.error(`${name} must be followed by (`, token);
      return { type: 'name', name: text, start, end };
    }
    this.at = after.end;
    const { items, end: closed, isExpanded } = this.#items(')', true);
    return { type: 'call', name, args: items, ...(isExpanded ? { isExpanded } : {}), start, end: closed };
  }

  /** Comma-separated, a trailing comma allowed. */
  #items(
    close: string,
    mayExpand = false,
  ): { readonly items: readonly Expression[]; readonly end: number; readonly isExpanded: boolean } {
    const items: Expression[] = [];
    for (;;) {
      const done = this.takeSign(close);
      if (done !== undefined) return { items, end: done.end, isExpanded: false };
      items.push(this.expression());
      if (mayExpand && this.takeSign('...') !== undefined) {
        this.takeSign(',');
        return { items, end: this.expectSign(close).end, isExpanded: true };
      }
      if (this.takeSign(',') === undefined) return { items, end: this.expectSign(close).end, isExpanded: false };
    }
  }

  #list(start: number): Expression {
    const clause = this.#forClause();
    if (clause === undefined) {
      const { items, end } = this.#items(']');
      return { type: 'list', items, start, end };
    }
    const result = this.expression();
    const condition = this.#ifClause();
    const end = this.expectSign(']').end;
    return { type: 'for-list', clause: { ...clause, condition }, result, start, end };
  }

  #object(start: number): Expression {
    const clause = this.#forClause();
    if (clause !== undefined) {
      const key = this.expression();
      this.expectSign('=>');
      const value = this.expression();
      const isGrouped = this.takeSign('...') !== undefined;
      const condition = this.#ifClause();
      const end = this.expectSign('}').end;
      const grouped = isGrouped ? { isGrouped } : {};
      return { type: 'for-object', clause: { ...clause, condition }, key, value, ...grouped, start, end };
    }
    const items: ObjectItem[] = [];
    for (;;) {
      const done = this.takeSign('}');
      if (done !== undefined) return { type: 'object', items, start, end: done.end };
      items.push(this.#objectItem());
      // A line break may replace the comma.
      this.takeSign(',');
    }
  }

  #objectItem(): ObjectItem {
    const token = this.peek();
    let key: Expression;
    if (token.type === 'name') {
      this.at = token.end;
      key = { type: 'literal', value: token.text, start: token.start, end: token.end };
    } else key = this.expression();
    if (this.takeSign('=') === undefined) this.expectSign(':');
    return { key, value: this.expression() };
  }

  #forClause(): Omit<ForClause, 'condition'> | undefined {
    const token = this.peek();
    if (token.type !== 'name' || token.text !== 'for') return undefined;
    this.at = token.end;
    const head = this.forHead();
    this.expectSign(':');
    return head;
  }

  /** `k, v in map`, behind the word `for`. */
  forHead(): Omit<ForClause, 'condition'> {
    const first = this.expectName();
    const second = this.takeSign(',') === undefined ? undefined : this.expectName();
    const word = this.expectName();
    if (word !== 'in') throw this.error('the word in must follow', this.span(this.at, 1));
    const from = this.expression();
    return second === undefined ? { key: undefined, value: first, from } : { key: first, value: second, from };
  }

  #ifClause(): Expression | undefined {
    const token = this.peek();
    if (token.type !== 'name' || token.text !== 'if') return undefined;
    this.at = token.end;
    return this.expression();
  }
}
