// Parses the text between braces: tokens -> expression. Limits nesting, so that evaluating one cannot exhaust the stack.
import type { Token } from './tokenize.ts';
import { TemplateError, binaryOperators, type BinaryOperator, type Expression } from './syntax.ts';

const maxDepth = 100;

/** Loosest first; each level is left-associative. */
const levels: readonly (readonly string[])[] = [
  ['or', '||'],
  ['and', '&&'],
  ['not'],
  ['==', '!=', '<', '<=', '>', '>=', 'in', 'not in'],
  ['~'],
  ['+', '-'],
  ['*', '/', '//', '%'],
];
const synonyms: Readonly<Record<string, BinaryOperator>> = { '||': 'or', '&&': 'and' };
const constants: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
  ['null', null],
  ['nil', null],
]);

type Shape<E = Expression> = E extends Expression ? Omit<E, 'depth' | 'line'> : never;

export class TokenReader {
  readonly #tokens: readonly Token[];
  #at = 0;
  #nesting = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get next(): Token {
    const token = this.#tokens[Math.min(this.#at, this.#tokens.length - 1)];
    if (token === undefined) throw new Error('a list of tokens ends with an end');
    return token;
  }

  take(): Token {
    const token = this.next;
    this.#at += 1;
    return token;
  }

  /** Takes the next token if it is this operator or word. */
  accept(value: string): boolean {
    const { next } = this;
    if (next.value !== value || (next.kind !== 'operator' && next.kind !== 'name')) return false;
    this.#at += 1;
    return true;
  }

  expect(value: string): void {
    if (!this.accept(value)) this.fail(`${value} is missing before ${shown(this.next)}`);
  }

  name(): string {
    const token = this.take();
    if (token.kind !== 'name') throw new TemplateError(token.line, `a name is missing before ${shown(token)}`);
    return token.value;
  }

  end(): void {
    if (this.next.kind !== 'end') this.fail(`${shown(this.next)} is too much`);
  }

  fail(problem: string): never {
    throw new TemplateError(this.next.line, problem);
  }

  expression(): Expression {
    this.#nesting += 1;
    if (this.#nesting > maxDepth) this.fail('the expression is nested too deeply');
    const value = this.#level(0);
    const chosen = this.accept('if') ? this.#choice(value) : value;
    this.#nesting -= 1;
    return chosen;
  }

  #choice(chosen: Expression): Expression {
    const condition = this.#level(0);
    const otherwise = this.accept('else') ? this.expression() : undefined;
    return this.#make({ kind: 'choice', condition, chosen, otherwise }, [condition, chosen, otherwise]);
  }

  #level(index: number): Expression {
    const operators = levels[index];
    if (operators === undefined) return this.#unary();
    if (operators[0] === 'not') return this.#not(index);
    let left = this.#level(index + 1);
    for (;;) {
      if (index === 3 && this.accept('is')) left = this.#test(left);
      else {
        const operator = this.#operatorOf(operators);
        if (operator === undefined) return left;
        const right = this.#level(index + 1);
        left = this.#make({ kind: 'binary', operator, left, right }, [left, right]);
      }
    }
  }

  #operatorOf(operators: readonly string[]): BinaryOperator | undefined {
    const found = operators.find((one) => (one === 'not in' ? this.#acceptNotIn() : this.accept(one)));
    return found === undefined ? undefined : (synonyms[found] ?? binaryOperators.find((one) => one === found));
  }

  #acceptNotIn(): boolean {
    const following = this.#tokens[this.#at + 1];
    if (this.next.value !== 'not' || this.next.kind !== 'name' || following?.value !== 'in') return false;
    this.#at += 2;
    return true;
  }

  #not(index: number): Expression {
    let count = 0;
    while (this.accept('not') || this.accept('!')) count += 1;
    const of = this.#level(index + 1);
    if (count === 0) return of;
    const once = this.#make({ kind: 'unary', operator: 'not', of }, [of]);
    return count % 2 === 1 ? once : this.#make({ kind: 'unary', operator: 'not', of: once }, [once]);
  }

  #test(of: Expression): Expression {
    const negated = this.accept('not');
    const name = this.name();
    if (name === 'defined') return this.#make({ kind: 'defined', of, negated }, [of]);
    if (name === 'undefined' || name === 'none') return this.#make({ kind: 'defined', of, negated: !negated }, [of]);
    return this.fail(`there is no test "is ${name}"`);
  }

  #unary(): Expression {
    let negative = false;
    while (this.accept('-')) negative = !negative;
    const of = this.#filtered();
    return negative ? this.#make({ kind: 'unary', operator: '-', of }, [of]) : of;
  }

  #filtered(): Expression {
    let of = this.#postfix();
    while (this.accept('|')) {
      const name = this.name();
      // Both spellings are in use: default("x") and default:"x".
      const args = this.accept('(') ? this.#arguments(')') : this.accept(':') ? [this.#postfix()] : [];
      of = this.#make({ kind: 'filter', name, of, args }, [of, ...args]);
    }
    return of;
  }

  #postfix(): Expression {
    let of = this.#primary();
    for (;;) {
      if (this.accept('.')) {
        const token = this.take();
        if (token.kind !== 'name' && token.kind !== 'number') this.fail('a name is missing after the dot');
        const key = this.#make({ kind: 'literal', value: token.value }, []);
        of = this.#make({ kind: 'member', of, key }, [of]);
      } else if (this.accept('[')) {
        const key = this.expression();
        this.expect(']');
        of = this.#make({ kind: 'member', of, key }, [of, key]);
      } else if (this.accept('(')) {
        const args = this.#arguments(')');
        of = this.#make({ kind: 'call', callee: of, args }, [of, ...args]);
      } else return of;
    }
  }

  #primary(): Expression {
    const token = this.take();
    if (token.kind === 'text') return this.#make({ kind: 'literal', value: token.value }, []);
    if (token.kind === 'number') return this.#make({ kind: 'literal', value: Number(token.value) }, []);
    if (token.kind === 'name') {
      const value = constants.get(token.value);
      if (value !== undefined) return this.#make({ kind: 'literal', value }, []);
      return this.#make({ kind: 'name', name: token.value }, []);
    }
    if (token.value === '(' && token.kind === 'operator') {
      const inner = this.expression();
      this.expect(')');
      return inner;
    }
    if (token.value === '[' && token.kind === 'operator') {
      const items = this.#arguments(']');
      return this.#make({ kind: 'list', items }, items);
    }
    throw new TemplateError(token.line, `a value is missing before ${shown(token)}`);
  }

  #arguments(closer: ')' | ']'): readonly Expression[] {
    const args: Expression[] = [];
    while (!this.accept(closer)) {
      args.push(this.expression());
      if (!this.accept(',')) {
        this.expect(closer);
        break;
      }
    }
    return args;
  }

  #make(shape: Shape, children: readonly (Expression | undefined)[]): Expression {
    const depth = 1 + Math.max(0, ...children.slice(0, 1000).map((child) => child?.depth ?? 0));
    if (depth > maxDepth || children.length > 1000) this.fail('the expression is too large');
    return { ...shape, depth, line: this.next.line };
  }
}

function shown(token: Token): string {
  return token.kind === 'end' ? 'the end' : JSON.stringify(token.value);
}
