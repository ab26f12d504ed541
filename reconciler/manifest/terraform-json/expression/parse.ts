// Reads templates and expressions of Terraform's language into a tree; refuses by name what the evaluator does not do.
import { ExpressionError, type Binary, type Expression, type ForClause, type ObjectItem, type Span } from './syntax.ts';
import { tokenAt, type Token } from './tokens.ts';

/** Deeper texts are no configuration, and would exhaust the stack. */
const maxDepth = 200;

/** The content of a JSON string: text with `${ }` in it. Throws ExpressionError. */
export function parseTemplate(text: string): Expression {
  const parser = new Parser(text);
  return parser.template(undefined);
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

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\' };

class Parser {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Up to the closing quote, or to the end of the text when there is none. */
  template(quoteAt: number | undefined): Expression {
    const start = quoteAt ?? 0;
    const parts: (string | Expression)[] = [];
    let text = '';
    const isQuoted = quoteAt !== undefined;
    for (;;) {
      const char = this.#text[this.#at];
      if (char === undefined) {
        if (isQuoted) throw this.#error('E_SYNTAX', 'the quoted text does not end', { start, end: this.#at });
        break;
      }
      if (isQuoted && char === '"') {
        this.#at++;
        break;
      }
      if (isQuoted && char === '\n') {
        throw this.#error('E_SYNTAX', 'a quoted text ends in its line', { start, end: this.#at });
      }
      const marker = this.#text.slice(this.#at, this.#at + 2);
      if ((char === '$' || char === '%') && this.#text.startsWith(`${char}${char}{`, this.#at)) {
        text += `${char}{`;
        this.#at += 3;
      } else if (marker === '%{') {
        throw this.#error('E_DIRECTIVE', 'template directives %{ } are not evaluated', this.#span(this.#at, 2));
      } else if (marker === '${') {
        if (text !== '') parts.push(text);
        text = '';
        parts.push(this.#interpolation());
      } else if (isQuoted && char === '\\') text += this.#escape();
      else {
        text += char;
        this.#at++;
      }
    }
    if (text !== '') parts.push(text);
    const span = { start, end: this.#at };
    const [only] = parts;
    if (parts.length === 0) return { type: 'literal', value: '', ...span };
    if (parts.length === 1 && typeof only === 'string') return { type: 'literal', value: only, ...span };
    return { type: 'template', parts, ...span };
  }

  #interpolation(): Expression {
    const start = this.#at;
    this.#at += 2;
    if (this.#text[this.#at] === '~')
      throw this.#error('E_DIRECTIVE', 'strip markers ~ are not evaluated', this.#span(start, 3));
    const inner = this.expression();
    const token = this.#next();
    if (token.type === 'sign' && token.text === '}') return inner;
    if (this.#text[token.start] === '~') throw this.#error('E_DIRECTIVE', 'strip markers ~ are not evaluated', token);
    throw this.#error('E_SYNTAX', 'the interpolation does not end with }', { start, end: token.end });
  }

  #escape(): string {
    const char = this.#text[this.#at + 1] ?? '';
    const simple = escapes[char];
    if (simple !== undefined) {
      this.#at += 2;
      return simple;
    }
    const digits = char === 'u' ? 4 : char === 'U' ? 8 : 0;
    const hex = this.#text.slice(this.#at + 2, this.#at + 2 + digits);
    const code = Number.parseInt(hex, 16);
    if (digits === 0 || !new RegExp(`^[0-9a-fA-F]{${digits}}$`).test(hex) || code > 0x10ffff) {
      throw this.#error('E_SYNTAX', `\\${char} is no escape`, this.#span(this.#at, 2));
    }
    this.#at += 2 + digits;
    return String.fromCodePoint(code);
  }

  expression(): Expression {
    if (++this.#depth > maxDepth) throw this.#error('E_SYNTAX', 'it is nested too deeply', this.#span(this.#at, 1));
    const condition = this.#binary(0);
    let result = condition;
    if (this.#takeSign('?') !== undefined) {
      const yes = this.expression();
      this.#expectSign(':');
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
      const token = this.#peek();
      const operator = token.type === 'sign' ? operators.find((each) => each === token.text) : undefined;
      if (operator === undefined) return left;
      this.#at = token.end;
      const right = this.#binary(level + 1);
      left = { type: 'binary', operator, left, right, start: left.start, end: right.end };
    }
  }

  #unary(): Expression {
    const token = this.#peek();
    if (token.type === 'sign' && (token.text === '!' || token.text === '-')) {
      if (++this.#depth > maxDepth) throw this.#error('E_SYNTAX', 'it is nested too deeply', token);
      this.#at = token.end;
      const operand = this.#unary();
      this.#depth--;
      return { type: token.text === '!' ? 'not' : 'negative', operand, start: token.start, end: operand.end };
    }
    return this.#postfix(this.#primary());
  }

  #postfix(first: Expression): Expression {
    let object = first;
    for (;;) {
      const token = this.#peek();
      if (token.type !== 'sign' || (token.text !== '.' && token.text !== '[')) return object;
      this.#at = token.end;
      if (token.text === '.') object = this.#attribute(object);
      else if (this.#takeSign('*') === undefined) {
        const key = this.expression();
        const close = this.#expectSign(']');
        object = { type: 'index', object, key, start: object.start, end: close.end };
      } else {
        const close = this.#expectSign(']');
        const element: Expression = { type: 'element', start: close.end, end: close.end };
        const each = this.#postfix(element);
        return { type: 'splat', object, each, start: object.start, end: Math.max(each.end, close.end) };
      }
    }
  }

  #attribute(object: Expression): Expression {
    const token = this.#next();
    if (token.type === 'name')
      return { type: 'attribute', object, name: token.text, start: object.start, end: token.end };
    if (token.type === 'number' && Number.isInteger(token.value)) {
      const key: Expression = { type: 'literal', value: token.value, start: token.start, end: token.end };
      return { type: 'index', object, key, start: object.start, end: token.end };
    }
    if (token.type === 'sign' && token.text === '*') {
      throw this.#error('E_LEGACY_SPLAT', 'the splat .* is not evaluated', token);
    }
    throw this.#error('E_SYNTAX', 'an attribute name must follow the dot', token);
  }

  #primary(): Expression {
    const token = this.#next();
    if (token.type === 'number') return { type: 'literal', value: token.value, start: token.start, end: token.end };
    if (token.type === 'quote') return this.template(token.start);
    if (token.type === 'name') return this.#named(token);
    if (token.type === 'sign' && token.text === '(') {
      const inner = this.expression();
      const close = this.#expectSign(')');
      return { ...inner, start: token.start, end: close.end };
    }
    if (token.type === 'sign' && token.text === '[') return this.#list(token.start);
    if (token.type === 'sign' && token.text === '{') return this.#object(token.start);
    throw this.#error(
      'E_SYNTAX',
      token.type === 'end' ? 'the expression ends too early' : 'an expression must stand here',
      token,
    );
  }

  #named(token: Token & { readonly type: 'name' }): Expression {
    const { text, start, end } = token;
    if (text === 'true' || text === 'false') return { type: 'literal', value: text === 'true', start, end };
    if (text === 'null') return { type: 'literal', value: null, start, end };
    const after = this.#peek();
    if (after.type === 'sign' && after.text === '::') {
      throw this.#error('E_PROVIDER_FUNCTION', `functions of providers (${text}::) are not evaluated`, token);
    }
    if (after.type !== 'sign' || after.text !== '(') return { type: 'name', name: text, start, end };
    this.#at = after.end;
    const { items, end: closed } = this.#items(')');
    return { type: 'call', name: text, args: items, start, end: closed };
  }

  /** Comma-separated, a trailing comma allowed. */
  #items(close: string): { readonly items: readonly Expression[]; readonly end: number } {
    const items: Expression[] = [];
    for (;;) {
      const done = this.#takeSign(close);
      if (done !== undefined) return { items, end: done.end };
      items.push(this.expression());
      const dots = this.#takeSign('...');
      if (dots !== undefined) throw this.#error('E_EXPANSION', 'argument expansion ... is not evaluated', dots);
      if (this.#takeSign(',') === undefined) return { items, end: this.#expectSign(close).end };
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
    const end = this.#expectSign(']').end;
    return { type: 'for-list', clause: { ...clause, condition }, result, start, end };
  }

  #object(start: number): Expression {
    const clause = this.#forClause();
    if (clause !== undefined) {
      const key = this.expression();
      this.#expectSign('=>');
      const value = this.expression();
      const dots = this.#takeSign('...');
      if (dots !== undefined)
        throw this.#error('E_GROUPING', 'grouping ... in a for expression is not evaluated', dots);
      const condition = this.#ifClause();
      const end = this.#expectSign('}').end;
      return { type: 'for-object', clause: { ...clause, condition }, key, value, start, end };
    }
    const items: ObjectItem[] = [];
    for (;;) {
      const done = this.#takeSign('}');
      if (done !== undefined) return { type: 'object', items, start, end: done.end };
      items.push(this.#objectItem());
      // A line break may stand for the comma.
      this.#takeSign(',');
    }
  }

  #objectItem(): ObjectItem {
    const token = this.#peek();
    let key: Expression;
    if (token.type === 'name') {
      this.#at = token.end;
      key = { type: 'literal', value: token.text, start: token.start, end: token.end };
    } else key = this.expression();
    if (this.#takeSign('=') === undefined) this.#expectSign(':');
    return { key, value: this.expression() };
  }

  #forClause(): Omit<ForClause, 'condition'> | undefined {
    const token = this.#peek();
    if (token.type !== 'name' || token.text !== 'for') return undefined;
    this.#at = token.end;
    const first = this.#expectName();
    const second = this.#takeSign(',') === undefined ? undefined : this.#expectName();
    const word = this.#expectName();
    if (word !== 'in') throw this.#error('E_SYNTAX', 'the word in must follow', this.#span(this.#at, 1));
    const from = this.expression();
    this.#expectSign(':');
    return second === undefined ? { key: undefined, value: first, from } : { key: first, value: second, from };
  }

  #ifClause(): Expression | undefined {
    const token = this.#peek();
    if (token.type !== 'name' || token.text !== 'if') return undefined;
    this.#at = token.end;
    return this.expression();
  }

  expectEnd(): void {
    const token = this.#next();
    if (token.type !== 'end') throw this.#error('E_SYNTAX', 'nothing may follow the expression', token);
  }

  #expectName(): string {
    const token = this.#next();
    if (token.type !== 'name') throw this.#error('E_SYNTAX', 'a name must stand here', token);
    return token.text;
  }

  #expectSign(text: string): Token {
    const token = this.#next();
    if (token.type === 'sign' && token.text === text) return token;
    throw this.#error('E_SYNTAX', `${text} must stand here`, token);
  }

  #takeSign(text: string): Token | undefined {
    const token = this.#peek();
    if (token.type !== 'sign' || token.text !== text) return undefined;
    this.#at = token.end;
    return token;
  }

  #peek(): Token {
    return tokenAt(this.#text, this.#at);
  }

  #next(): Token {
    const token = this.#peek();
    this.#at = token.end;
    return token;
  }

  #span(start: number, length: number): Span {
    return { start, end: Math.min(start + length, this.#text.length) };
  }

  #error(code: ExpressionError['code'], message: string, { start, end }: Span): ExpressionError {
    return new ExpressionError(code, message, { start, end });
  }
}
