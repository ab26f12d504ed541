// Renders untrusted jinja-like templates: interprets them over plain values, with limited work. Templates cannot reach JavaScript: there
// are no objects with prototypes, no generated code, no included files.
import { assertNever } from '../shared/assert-never.ts';
import { filters, listOf } from './filters.ts';
import { divided, divisor, isIn, isOrdered, isSame, memberOf, numberOf, rangeOf, weightOf } from './operators.ts';
import { parseTemplate } from './parse.ts';
import { TemplateError, type BinaryOperator, type Expression, type Statement } from './syntax.ts';
import { Budget, Callable, isTrue, textOf, toValue, type RenderLimits, type Value } from './values.ts';

export { Callable, type Value } from './values.ts';
export { TemplateError } from './syntax.ts';

/** Some 50 ms at most. */
const limits: RenderLimits = { work: 300_000, outputBytes: 1024 * 1024 };

/** `context`: plain data and Callables. Throws TemplateError with the line of the mistake. */
export function renderTemplate(source: string, context: Readonly<Record<string, unknown>>): string {
  const statements = parseTemplate(source);
  const budget = new Budget(limits);
  const range = new Callable((args) => rangeOf(args, budget));
  const names = new Map<string, Value>([['range', range], ...(toValue(context) as ReadonlyMap<string, Value>)]);
  const renderer = new Renderer(budget, names);
  renderer.run(statements);
  return renderer.text;
}

class Renderer {
  readonly #budget: Budget;
  readonly #names: Map<string, Value>;
  readonly #parts: string[] = [];
  #length = 0;
  #line = 1;

  constructor(budget: Budget, names: Map<string, Value>) {
    this.#budget = budget;
    this.#names = names;
  }

  get text(): string {
    return this.#parts.join('');
  }

  run(statements: readonly Statement[]): void {
    try {
      for (const statement of statements) this.#statement(statement);
    } catch (error) {
      if (error instanceof RangeError) throw new TemplateError(this.#line, error.message);
      throw error;
    }
  }

  #statement(statement: Statement): void {
    this.#budget.spend();
    switch (statement.kind) {
      case 'text':
        return this.#write(statement.text);
      case 'output':
        return this.#write(textOf(this.#value(statement.value), this.#budget));
      case 'set':
        this.#names.set(statement.name, this.#value(statement.value));
        return undefined;
      case 'if':
        return this.run(
          statement.branches.find(({ condition }) => isTrue(this.#value(condition)))?.body ?? statement.otherwise,
        );
      case 'for':
        return this.#for(statement);
      default:
        return assertNever(statement);
    }
  }

  #write(text: string): void {
    this.#length += Buffer.byteLength(text);
    this.#budget.allow(this.#length > this.#budget.textLength ? this.#length : text.length);
    this.#parts.push(text);
  }

  #for(statement: Extract<Statement, { kind: 'for' }>): void {
    const over = this.#value(statement.over);
    const [first = '', second] = statement.names;
    this.#budget.spend(typeof over === 'string' ? over.length * 16 : weightOf(over));
    const pairs = pairsOf(over, second !== undefined);
    if (pairs.length === 0) return this.run(statement.otherwise);
    const shadowed = [first, second, 'loop', 'forloop'].map((name) => [name, this.#names.get(name ?? '')] as const);
    for (const [index, [key, value]] of pairs.entries()) {
      this.#line = statement.line;
      this.#budget.spend();
      this.#names.set(first, key);
      if (second !== undefined) this.#names.set(second, value);
      const place = placeOf(index, pairs.length);
      this.#names.set('loop', place);
      this.#names.set('forloop', place);
      this.run(statement.body);
    }
    for (const [name, value] of shadowed) {
      if (name === undefined) continue;
      if (value === undefined) this.#names.delete(name);
      else this.#names.set(name, value);
    }
    return undefined;
  }

  #value(expression: Expression): Value {
    this.#line = expression.line;
    this.#budget.spend();
    switch (expression.kind) {
      case 'literal':
        return expression.value;
      case 'name':
        return this.#names.get(expression.name) ?? null;
      case 'list':
        return expression.items.map((item) => this.#value(item));
      case 'member':
        return memberOf(this.#value(expression.of), this.#value(expression.key), this.#budget);
      case 'call':
        return this.#call(expression);
      case 'filter':
        return this.#filter(expression);
      case 'unary': {
        const value = this.#value(expression.of);
        this.#budget.spend(weightOf(value));
        return expression.operator === 'not' ? !isTrue(value) : -numberOf(value);
      }
      case 'binary':
        return this.#binary(expression.operator, expression.left, expression.right);
      case 'defined':
        return (this.#value(expression.of) !== null) !== expression.negated;
      case 'choice':
        if (isTrue(this.#value(expression.condition))) return this.#value(expression.chosen);
        return expression.otherwise === undefined ? null : this.#value(expression.otherwise);
      default:
        return assertNever(expression);
    }
  }

  #call({ callee, args }: Extract<Expression, { kind: 'call' }>): Value {
    const called = this.#value(callee);
    if (!(called instanceof Callable)) throw new RangeError('something is called that cannot be called');
    return called.call(args.map((arg) => this.#value(arg)));
  }

  #filter({ name, of, args }: Extract<Expression, { kind: 'filter' }>): Value {
    const filter = filters.get(name);
    if (filter === undefined) throw new RangeError(`there is no filter ${name}`);
    const value = this.#value(of);
    this.#budget.spend(weightOf(value));
    return filter(
      value,
      args.map((arg) => this.#value(arg)),
      this.#budget,
    );
  }

  #binary(operator: BinaryOperator, leftSide: Expression, rightSide: Expression): Value {
    const left = this.#value(leftSide);
    if (operator === 'or') return isTrue(left) ? left : this.#value(rightSide);
    if (operator === 'and') return isTrue(left) ? this.#value(rightSide) : left;
    const right = this.#value(rightSide);
    this.#budget.spend(weightOf(left) + weightOf(right));
    switch (operator) {
      case '==':
        return isSame(left, right);
      case '!=':
        return !isSame(left, right);
      case 'in':
        return isIn(left, right, this.#budget);
      case 'not in':
        return !isIn(left, right, this.#budget);
      case '~':
        return this.#join(left, right);
      case '+':
        if (Array.isArray(left) && Array.isArray(right)) return this.#lists(left, right);
        return typeof left === 'number' && typeof right === 'number' ? left + right : this.#join(left, right);
      case '<':
      case '<=':
      case '>':
      case '>=':
        return isOrdered(operator, left, right);
      case '-':
        return numberOf(left) - numberOf(right);
      case '*':
        return numberOf(left) * numberOf(right);
      case '/':
        return divided(left, right);
      case '//':
        return Math.floor(divided(left, right));
      case '%':
        return numberOf(left) % divisor(right);
      default:
        return assertNever(operator);
    }
  }

  #join(left: Value, right: Value): string {
    const [first, second] = [textOf(left, this.#budget), textOf(right, this.#budget)];
    this.#budget.allow(first.length + second.length);
    return first + second;
  }

  #lists(left: readonly Value[], right: readonly Value[]): readonly Value[] {
    this.#budget.allow((left.length + right.length) * 64);
    return [...left, ...right];
  }
}

function pairsOf(over: Value, wantsPairs: boolean): readonly (readonly [Value, Value])[] {
  if (over instanceof Map) return [...(over as ReadonlyMap<string, Value>)];
  const items = typeof over === 'string' ? Array.from(over) : listOf(over);
  return items.map((item) => {
    if (wantsPairs && Array.isArray(item)) return [(item[0] as Value) ?? null, (item[1] as Value) ?? null] as const;
    return [item, null] as const;
  });
}

function placeOf(index: number, length: number): ReadonlyMap<string, Value> {
  const [isFirst, isLast] = [index === 0, index === length - 1];
  return new Map<string, Value>([
    ['index', index + 1],
    ['index0', index],
    ['first', isFirst],
    ['last', isLast],
    ['length', length],
    ['Counter', index + 1],
    ['Counter0', index],
    ['First', isFirst],
    ['Last', isLast],
  ]);
}
