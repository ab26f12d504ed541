// The filters of templates: `{{ value | name(arguments) }}`. The budget is charged before each result is made.
import { isTrue, textOf, type Budget, type Value } from './values.ts';

type Filter = (value: Value, args: readonly Value[], budget: Budget) => Value;

const onText =
  (change: (text: string) => string): Filter =>
  (value, _args, budget) => {
    const text = textOf(value, budget);
    budget.allow(text.length);
    return change(text);
  };

export const filters: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['default', (value, [fallback = '']) => (isTrue(value) ? value : fallback)],
  ['d', (value, [fallback = '']) => (isTrue(value) ? value : fallback)],
  ['default_if_none', (value, [fallback = '']) => value ?? fallback],
  ['upper', onText((text) => text.toUpperCase())],
  ['lower', onText((text) => text.toLowerCase())],
  ['capfirst', onText((text) => text.slice(0, 1).toUpperCase() + text.slice(1))],
  ['capitalize', onText((text) => text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase())],
  [
    'title',
    onText((text) => text.toLowerCase().replace(/(?<![\p{L}\p{N}'])\p{L}/gu, (letter) => letter.toUpperCase())),
  ],
  ['trim', onText((text) => text.trim())],
  ['safe', (value) => value],
  ['string', onText((text) => text)],
  ['int', (value, _args, budget) => Math.trunc(numberOf(textOf(value, budget)))],
  ['integer', (value, _args, budget) => Math.trunc(numberOf(textOf(value, budget)))],
  ['float', (value, _args, budget) => numberOf(textOf(value, budget))],
  ['add', (value, [more = ''], budget) => added(value, more, budget)],
  ['slice', (value, [range = ''], budget) => sliced(value, textOf(range, budget), budget)],
  [
    'yesno',
    (value, [words = 'yes,no'], budget) => splitBy(textOf(words, budget), ',', budget)[isTrue(value) ? 0 : 1] ?? '',
  ],
  ['length', (value) => lengthOf(value)],
  ['first', (value) => (typeof value === 'string' ? value.slice(0, 1) : (listOf(value)[0] ?? null))],
  ['last', (value) => (typeof value === 'string' ? value.slice(-1) : (listOf(value).at(-1) ?? null))],
  ['list', (value) => listOf(value)],
  ['keys', (value) => (value instanceof Map ? [...(value as ReadonlyMap<string, Value>).keys()] : [])],
  ['sort', (value, _args, budget) => sorted(listOf(value), budget)],
  ['reverse', (value) => listOf(value).toReversed()],
  ['join', (value, [separator = ''], budget) => joined(listOf(value), textOf(separator, budget), budget)],
  ['split', (value, [separator = ','], budget) => splitBy(textOf(value, budget), textOf(separator, budget), budget)],
  [
    'replace',
    (value, [from = '', to = ''], budget) =>
      joined(splitBy(textOf(value, budget), textOf(from, budget), budget), textOf(to, budget), budget),
  ],
  ['indent', (value, [width = 4], budget) => indented(textOf(value, budget), Number(textOf(width, budget)), budget)],
]);

function numberOf(text: string): number {
  const number = Number.parseFloat(text);
  return Number.isFinite(number) ? number : 0;
}

export function listOf(value: Value): readonly Value[] {
  if (Array.isArray(value)) return value as readonly Value[];
  return value instanceof Map ? [...(value as ReadonlyMap<string, Value>).keys()] : [];
}

/** Adds numbers, and texts that are numbers; concatenates everything else. */
function added(value: Value, more: Value, budget: Budget): Value {
  const [left, right] = [textOf(value, budget), textOf(more, budget)];
  const [a, b] = [Number(left), Number(right)];
  if (left.trim() !== '' && right.trim() !== '' && Number.isFinite(a) && Number.isFinite(b)) return a + b;
  budget.allow(left.length + right.length);
  return left + right;
}

/** `from:to`, either of which may be omitted or count from the end. */
function sliced(value: Value, range: string, budget: Budget): Value {
  const match = /^\s*(-?\d{1,9})?\s*:\s*(-?\d{1,9})?\s*$/.exec(range);
  if (match === null) throw new RangeError(`slice takes from:to, not ${JSON.stringify(range.slice(0, 40))}`);
  const [from, to] = [Number(match[1] ?? 0), match[2] === undefined ? undefined : Number(match[2])];
  if (Array.isArray(value)) return (value as readonly Value[]).slice(from, to);
  const text = textOf(value, budget);
  budget.allow(text.length);
  return text.slice(from, to);
}

function lengthOf(value: Value): number {
  if (typeof value === 'string') return value.length;
  return listOf(value).length;
}

function sorted(list: readonly Value[], budget: Budget): readonly Value[] {
  const texts = list.map((item) => ({ item, text: textOf(item, budget) }));
  for (const { text } of texts) budget.spend(text.length * 16);
  return texts.toSorted((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0)).map(({ item }) => item);
}

function splitBy(text: string, separator: string, budget: Budget): readonly string[] {
  if (separator === '') return [text];
  // A part takes far more memory than its characters.
  budget.spend(text.length * 16);
  return text.split(separator);
}

function joined(list: readonly Value[], separator: string, budget: Budget): string {
  const texts: string[] = [];
  let length = 0;
  for (const item of list) {
    const text = textOf(item, budget);
    length += text.length + separator.length;
    if (length > budget.textLength + separator.length) budget.allow(length);
    texts.push(text);
  }
  budget.allow(Math.max(0, length - separator.length));
  return texts.join(separator);
}

/** Every line but the first. */
function indented(text: string, width: number, budget: Budget): string {
  if (!Number.isInteger(width) || width < 0 || width > 100) throw new RangeError('indent takes a width from 0 to 100');
  const lines = splitBy(text, '\n', budget);
  return joined(lines, `\n${' '.repeat(width)}`, budget);
}
