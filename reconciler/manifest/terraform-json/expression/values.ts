// The values of Terraform's language and their conversions, as Terraform does them. evaluate.ts evaluates expressions.

/** Not known before an apply. */
export const unknown: unique symbol = Symbol('unknown');
export type Unknown = typeof unknown;

/** The result of toset(): distinct, in order. */
export class ValueSet {
  readonly items: readonly Value[];
  /** As that of lists and maps. */
  readonly sample: Value;
  constructor(items: readonly Value[], sample: Value) {
    this.items = items;
    this.sample = sample;
  }
}

export interface ValueMap {
  readonly [key: string]: Value;
}
export type Value = null | string | number | boolean | readonly Value[] | ValueSet | ValueMap | Unknown;

/** A value that cannot be converted; the evaluator adds the place. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
}

export const isList = (value: Value): value is readonly Value[] => Array.isArray(value);
export const isSet = (value: Value): value is ValueSet => value instanceof ValueSet;
export const isMap = (value: Value): value is ValueMap =>
  typeof value === 'object' && value !== null && !isList(value) && !isSet(value);

/**
 * Lists and maps of Terraform, whose elements have one type, each with a sample of that type for when it is empty: null where it is not
 * noted, unknown for any type. Other arrays are Terraform's tuples, other maps its objects.
 */
const uniforms = new WeakMap<object, Value>();
export const isUniform = (value: Value): boolean => typeof value === 'object' && value !== null && uniforms.has(value);

/** The tuple or object as a list or map. */
export function uniform<T extends readonly Value[] | ValueMap>(value: T, sample: Value = null): T {
  const copy = isList(value) ? [...value] : mapFrom(Object.entries(value));
  uniforms.set(copy, sample);
  return copy as T;
}

/** Its elements or, of an empty list, set or map, its sample: what decides the type of values that it is brought together with. */
export function typeElements(value: Value): readonly Value[] {
  const elements = isSet(value) ? value.items : isList(value) ? value : isMap(value) ? Object.values(value) : [];
  const sample = isSet(value) ? value.sample : typeof value === 'object' && value !== null ? uniforms.get(value) : null;
  return elements.length > 0 || sample === undefined || sample === null ? elements : [sample];
}

/** Own keys only, in the order in which Terraform iterates. */
export const keysOf = (map: ValueMap): readonly string[] => Object.keys(map).sort(compareBytes);
export const has = (map: ValueMap, key: string): boolean => Object.hasOwn(map, key);

/** The value as a list or map if the model is one. */
export const like = <T extends readonly Value[] | ValueMap>(model: Value, value: T): T =>
  isUniform(model) ? uniform(value, typeElements(model)[0]) : value;

/** A map without the traps of inherited names. */
export function mapFrom(entries: Iterable<readonly [string, Value]>): ValueMap {
  return Object.fromEntries(entries);
}

/** Code units: twice the largest file that a function reads. */
const maxTextLength = 2 ** 25;

/** Terraform keeps every text in the composed form of Unicode. Throws ConversionError if it is too long. */
export function composed(text: string): string {
  checkLength(text.length);
  return /[^\0-\u02ff]/.test(text) ? text.normalize('NFC') : text;
}

/** Throws ConversionError if the texts are too long together. */
export function joinTexts(texts: readonly string[], separator: string): string {
  const gaps = Math.max(0, texts.length - 1) * separator.length;
  checkLength(texts.reduce((sum, { length }) => sum + length, gaps));
  return texts.join(separator);
}

/** Hostile configurations multiply texts until no memory is left. Throws ConversionError. */
export function checkLength(length: number): void {
  if (length > maxTextLength) throw new ConversionError(`a text has more than ${maxTextLength} characters`);
}

/** The value with all its texts and keys in that form; the same value if they are. */
export function composedIn(value: Value): Value {
  if (typeof value === 'string') return composed(value);
  if (isList(value)) {
    const items = value.map(composedIn);
    return items.some((item, index) => item !== value[index]) ? like(value, items) : value;
  }
  if (!isMap(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [composed(key), composedIn(item)] as const);
  return entries.some(([key, item]) => item !== value[key]) ? like(value, mapFrom(entries)) : value;
}

/** Terraform sorts by UTF-8 bytes; code units differ from them beyond the basic plane. */
export function compareBytes(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** User-perceived characters, as Terraform counts them. */
export const charactersOf = (text: string): readonly string[] =>
  Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);

export function typeName(value: Value): string {
  if (value === null) return 'null';
  if (value === unknown) return 'a value not known yet';
  if (isList(value)) return 'a list';
  if (isSet(value)) return 'a set';
  return isMap(value) ? 'an object' : `a ${typeof value === 'boolean' ? 'bool' : typeof value}`;
}

/** Terraform's zero has a sign, too, which its texts show. */
export const isNegative = (value: number): boolean => value < 0 || Object.is(value, -0);

/** Removes floating point noise of decimal arithmetic: 0.1 + 0.2 is 0.3, as with Terraform's wider numbers. */
export function tidy(value: number): number {
  if (!Number.isFinite(value)) throw new ConversionError('the result is no finite number');
  if (Number.isInteger(value)) {
    if (!Number.isSafeInteger(value)) throw new ConversionError(`${value} is too large to be kept exactly`);
    return value;
  }
  const rounded = Number(value.toPrecision(15));
  // Noise hides a shorter number; a third has none, and multiplied by three it must be whole.
  return rounded.toExponential().length < 15 ? rounded : value;
}

/** More digits than 15 come of a division or a root; Terraform has about 150 of them. */
export const isExact = (value: number): boolean => Number.isInteger(value) || Number(value.toPrecision(15)) === value;

/** Throws ConversionError if Terraform writes more digits. */
export function numberText(value: number): string {
  if (!isExact(value)) throw inexact(value);
  return digitsOf(value);
}

export const inexact = (value: number): ConversionError =>
  new ConversionError(
    `${value} has more digits than are kept here: round it with floor(), ceil() or format("%.2f", ...)`,
  );

/** The number, never written with an exponent. */
export function digitsOf(value: number): string {
  const text = Object.is(value, -0) ? '-0' : String(value);
  const [mantissa = '', exponent] = text.split('e');
  if (exponent === undefined) return text;
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const shift = Number(exponent);
  const sign = value < 0 ? '-' : '';
  return shift < 0
    ? `${sign}0.${'0'.repeat(-shift - 1)}${whole}${fraction}`
    : `${sign}${whole}${fraction.padEnd(shift, '0')}`;
}

const numeric = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

export function toNumber(value: Value): number | null | Unknown {
  if (value === unknown || value === null || typeof value === 'number') return value;
  if (typeof value === 'string' && numeric.test(value)) return tidy(Number(value));
  throw new ConversionError(`a number is wanted, not ${describe(value)}`);
}

export function toText(value: Value): string | null | Unknown {
  if (value === unknown || value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'boolean') return String(value);
  throw new ConversionError(`a string is wanted, not ${describe(value)}`);
}

export function toBool(value: Value): boolean | null | Unknown {
  if (value === unknown || value === null || typeof value === 'boolean') return value;
  if (value === 'true' || value === '1') return true;
  if (value === 'false' || value === '0') return false;
  throw new ConversionError(`true or false is wanted, not ${describe(value)}`);
}

/** `the string "x"`, `a list`: never more of a value than a short text. */
export function describe(value: Value): string {
  if (typeof value === 'string') return value.length > 40 ? 'a string' : `the string ${JSON.stringify(value)}`;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeName(value);
}

/** Deep, and by type: 1 is not "1", a list no tuple. Unknown when the answer depends on an unknown value. */
export function same(a: Value, b: Value): boolean | Unknown {
  if (a === unknown || b === unknown) return unknown;
  if (isUniform(a) !== isUniform(b)) return false;
  if (isSet(a) && isSet(b))
    return a.items.length + b.items.length === 0 ? mayBeOneType(a, b) : allSame(a.items, b.items);
  if (isList(a) && isList(b)) return a.length + b.length === 0 ? mayBeOneType(a, b) : allSame(a, b);
  if (isMap(a) && isMap(b)) {
    const [left, right] = [keysOf(a), keysOf(b)];
    if (left.length + right.length === 0) return mayBeOneType(a, b);
    if (left.length !== right.length || left.some((key, index) => key !== right[index])) return false;
    return allSame(
      left.map((key) => a[key] ?? null),
      left.map((key) => b[key] ?? null),
    );
  }
  return a === b;
}

/** Two empty values are equal unless their types are known to differ. */
function mayBeOneType(a: Value, b: Value): boolean {
  const [[x = null], [y = null]] = [typeElements(a), typeElements(b)];
  return x === null || y === null || typeName(x) === typeName(y);
}

function allSame(a: readonly Value[], b: readonly Value[]): boolean | Unknown {
  if (a.length !== b.length) return false;
  let result: boolean | Unknown = true;
  for (const [index, item] of a.entries()) {
    const one = same(item, b[index] ?? null);
    if (one === false) return false;
    if (one === unknown) result = unknown;
  }
  return result;
}

/** True when nothing in it is unknown. */
export function isWhole(value: Value): boolean {
  if (value === unknown) return false;
  if (isList(value)) return value.every(isWhole);
  if (isSet(value)) return value.items.every(isWhole);
  return !isMap(value) || Object.values(value).every(isWhole);
}

/** The elements of anything that has some; undefined for what has none. */
export function elementsOf(value: Value): readonly (readonly [key: Value, value: Value])[] | undefined {
  if (isList(value)) return value.map((item, index) => [index, item]);
  if (isSet(value)) return value.items.map((item) => [item, item]);
  if (isMap(value)) return keysOf(value).map((key) => [key, value[key] ?? null]);
  return undefined;
}
