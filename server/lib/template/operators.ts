// The operators of templates over plain values: comparison, arithmetic, members, ranges, each with the work that it costs.
import { listOf } from './filters.ts';
import { Callable, textOf, type Budget, type Value } from './values.ts';

const maxRange = 10_000;

/** Own members only; lists by index; and the few methods of maps in templates. */
export function memberOf(of: Value, key: Value, budget: Budget): Value {
  if (Array.isArray(of)) {
    const isPlace = typeof key === 'number' || (typeof key === 'string' && /^\d{1,9}$/.test(key));
    return isPlace ? ((of as readonly Value[]).at(Number(key)) ?? null) : null;
  }
  if (!(of instanceof Map)) return null;
  const map = of as ReadonlyMap<string, Value>;
  const name = textOf(key, budget);
  const own = map.get(name);
  if (own !== undefined) return own;
  budget.spend(weightOf(of));
  if (name === 'items') return new Callable(() => [...map]);
  if (name === 'keys') return new Callable(() => [...map.keys()]);
  if (name === 'values') return new Callable(() => [...map.values()]);
  if (name === 'get')
    return new Callable(([wanted = '', fallback = null]) => map.get(textOf(wanted, budget)) ?? fallback);
  return null;
}

export function numberOf(value: Value): number {
  const number =
    typeof value === 'string' && value.trim() !== '' ? Number(value) : typeof value === 'number' ? value : 0;
  return Number.isFinite(number) ? number : 0;
}

export function divisor(value: Value): number {
  const number = numberOf(value);
  if (number === 0) throw new RangeError('division by zero');
  return number;
}

export const divided = (left: Value, right: Value): number => numberOf(left) / divisor(right);

export function weightOf(value: Value): number {
  if (typeof value === 'string') return value.length;
  if (Array.isArray(value)) return value.length * 16;
  return value instanceof Map ? value.size * 16 : 0;
}

export function isSame(left: Value, right: Value): boolean {
  // A missing value equals the empty text: templates read unset keys.
  return left === right || (left === null && right === '') || (left === '' && right === null);
}

export function isOrdered(operator: '<' | '<=' | '>' | '>=', left: Value, right: Value): boolean {
  const areTexts = typeof left === 'string' && typeof right === 'string';
  const [a, b] = areTexts ? [left, right] : [numberOf(left), numberOf(right)];
  if (operator === '<') return a < b;
  if (operator === '<=') return a <= b;
  return operator === '>' ? a > b : a >= b;
}

export function isIn(item: Value, of: Value, budget: Budget): boolean {
  if (typeof of === 'string') return of.includes(textOf(item, budget));
  if (of instanceof Map) return of.has(textOf(item, budget));
  return listOf(of).some((one) => isSame(one, item));
}

export function rangeOf(args: readonly Value[], budget: Budget): readonly Value[] {
  const [from, to] = args.length > 1 ? [numberOf(args[0] ?? 0), numberOf(args[1] ?? 0)] : [0, numberOf(args[0] ?? 0)];
  const count = Math.max(0, Math.ceil(to - from));
  if (count > maxRange) throw new RangeError(`a range has at most ${maxRange} numbers`);
  budget.spend(count * 8);
  return Array.from({ length: count }, (_none, index) => from + index);
}
