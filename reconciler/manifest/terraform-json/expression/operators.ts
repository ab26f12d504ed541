// The operators of the language, on values. Throws ConversionError.
import { settled } from './binary-numbers.ts';
import type { Binary } from './syntax.ts';
import { ConversionError, digitsOf, same, tidy, toBool, toNumber, unknown, type Value } from './values.ts';

export function unary(type: 'not' | 'negative', operand: Value): Value {
  const value = type === 'not' ? toBool(operand) : toNumber(operand);
  if (value === unknown) return unknown;
  if (value === null) throw new ConversionError('null is no operand');
  return typeof value === 'boolean' ? !value : tidy(-value);
}

export function plus(a: number, b: number): number {
  return settled('+', a, b, a + b);
}

type Sum = (a: number, b: number) => number | boolean;
const sums: Readonly<Partial<Record<Binary, Sum>>> = {
  '+': plus,
  '-': (a, b) => settled('-', a, b, a - b),
  '*': (a, b) => settled('*', a, b, a * b),
  '/': divide,
  '%': remainder,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
};

function divide(a: number, b: number): number {
  if (b === 0) throw new ConversionError('division by zero');
  return settled('/', a, b, a / b);
}

/** The remainder of decimals without their binary noise, never minus zero; with a divisor of zero the number itself, as with Terraform. */
function remainder(a: number, b: number): number {
  if (b === 0) return a;
  const places = Math.max(decimals(a), decimals(b));
  const scale = 10 ** places;
  return tidy((Math.round(a * scale) % Math.round(b * scale)) / scale + 0);
}

const decimals = (value: number): number => digitsOf(value).split('.')[1]?.length ?? 0;

export function binary(operator: Binary, a: Value, b: Value): Value {
  if (operator === '==' || operator === '!=') {
    const equal = same(a, b);
    return equal === unknown ? unknown : equal === (operator === '==');
  }
  if (operator === '&&' || operator === '||') return logic(operator, a, b);
  const x = toNumber(a);
  const y = toNumber(b);
  if (x === unknown || y === unknown) return unknown;
  if (x === null || y === null) throw new ConversionError('null is no operand');
  return sums[operator]?.(x, y) ?? null;
}

/** Both sides are evaluated. A known side decides for an unknown one where it can. */
function logic(operator: '&&' | '||', a: Value, b: Value): Value {
  const x = toBool(a);
  const y = toBool(b);
  if (x === null || y === null) throw new ConversionError('null is no operand');
  const decisive = operator === '||';
  if (x === decisive || y === decisive) return decisive;
  return x === unknown || y === unknown ? unknown : !decisive;
}
