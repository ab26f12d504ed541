// Brings values to one type, as lists, sets, maps and the two sides of a condition must have. Throws ConversionError.
import {
  compareBytes,
  ConversionError,
  elementsOf,
  isList,
  isMap,
  isSet,
  isUniform,
  isWhole,
  keysOf,
  mapFrom,
  toBool,
  toNumber,
  toText,
  typeElements,
  typeName,
  uniform,
  unknown,
  ValueSet,
  type Unknown,
  type Value,
} from './values.ts';

const isPrimitive = (value: Value): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
const isPresent = (value: Value): boolean => value !== null && value !== unknown;

/** Texts win over numbers and bools, lists over sets, sets over tuples; lists and objects are unified inside. */
export function unify(values: readonly Value[]): readonly Value[] {
  const present = values.filter(isPresent);
  if (present.every(isPrimitive)) return unifyPrimitives(values, present);
  if (present.every((value) => isList(value) || isSet(value))) {
    return present.some(isSet) ? values.map(sequenceConversion(values)) : unifyLists(values);
  }
  if (present.every(isMap)) return unifyMaps(values);
  throw differ(present);
}

const differ = (present: readonly Value[]): ConversionError =>
  new ConversionError(`values of one type are wanted, not ${[...new Set(present.map(typeName))].join(' and ')}`);

export const isSequence = (value: Value): value is readonly Value[] | ValueSet => isList(value) || isSet(value);
const itemsOf = (value: readonly Value[] | ValueSet): readonly Value[] => (isSet(value) ? value.items : value);

function unifyPrimitives(values: readonly Value[], present: readonly Value[]): readonly Value[] {
  const types = new Set(present.map((value) => typeof value));
  if (types.size <= 1) return values;
  if (types.has('string')) return values.map((value) => toText(value));
  throw differ(present);
}

/** To the type of the lists among these values, without lists to that of the sets. */
export function sequenceConversion(values: readonly Value[]): (value: Value) => Value {
  const sequences = values.filter(isSequence);
  const lists = sequences.filter(isUniform);
  const elements = unify((lists.length > 0 ? lists : sequences.filter(isSet)).flatMap(typeElements));
  return (value) => {
    if (!isSequence(value)) return value;
    const items = itemsOf(value).map((item) => asElementOf(elements, item));
    return lists.length > 0 ? uniform(items, elements.find(isPresent)) : setOf(items, elements);
  };
}

/** Tuples of one length stay tuples and are unified place by place; others become lists. */
function unifyLists(values: readonly Value[]): readonly Value[] {
  const lists = values.filter(isList);
  const lengths = new Set(lists.map((list) => list.length));
  if (lengths.size > 1 || lists.some(isUniform))
    return inParts(values, isList, (list, items, sample) => uniform(items.slice(0, list.length), sample));
  const columns = Array.from({ length: [...lengths][0] ?? 0 }, (_, at) => unify(lists.map((list) => list[at] ?? null)));
  let row = -1;
  return values.map((value) => {
    if (!isList(value)) return value;
    row++;
    return columns.map((column) => column[row] ?? null);
  });
}

/** Objects with the same attributes stay objects and are unified one by one; others become maps. */
function unifyMaps(values: readonly Value[]): readonly Value[] {
  const maps = values.filter(isMap);
  const names = new Set(maps.map((map) => JSON.stringify(keysOf(map))));
  if (names.size > 1 || maps.some(isUniform)) {
    return inParts(values, isMap, (map, items, sample) =>
      uniform(mapFrom(Object.keys(map).map((key, index) => [key, items[index] ?? null] as const)), sample),
    );
  }
  const keys = keysOf(maps[0] ?? {});
  const columns = keys.map((key) => unify(maps.map((map) => map[key] ?? null)));
  let row = -1;
  return values.map((value) => {
    if (!isMap(value)) return value;
    row++;
    return mapFrom(keys.map((key, index) => [key, columns[index]?.[row] ?? null] as const));
  });
}

/** Unifies the parts of all values together and puts each value together again. */
function inParts<T extends Value>(
  values: readonly Value[],
  isWanted: (value: Value) => value is T,
  join: (value: T, parts: readonly Value[], sample: Value | undefined) => Value,
): readonly Value[] {
  const unified = unify(values.filter(isWanted).flatMap(typeElements));
  let at = 0;
  return values.map((value) => {
    if (!isWanted(value)) return value;
    const start = at;
    at += typeElements(value).length;
    return join(value, unified.slice(start, at), unified.find(isPresent));
  });
}

/** The value with the type of these elements. */
export function asElementOf(elements: readonly Value[], value: Value): Value {
  const sample = elements.find(isPresent);
  if (typeof sample === 'string') return toText(value);
  if (typeof sample === 'number') return toNumber(value);
  if (typeof sample === 'boolean') return toBool(value);
  return sample === undefined ? value : (unify([sample, value])[1] ?? null);
}

/**
 * Distinct and in order: texts by bytes, numbers by size, others by the bytes of all that they hold. `typed`: values that decide the type
 * of the items, too.
 */
export function setOf(items: readonly Value[], typed: readonly Value[] = []): ValueSet | Unknown {
  if (items.some((item) => !isWhole(item))) return unknown;
  const unified = unify([...items, ...typed]);
  const own = distinct(unified.slice(0, items.length));
  return new ValueSet([...own].sort(compareValues), unified.find(isPresent) ?? typed[0] ?? null);
}

/** The first of each value. The values have one type and are known. */
export function distinct(values: readonly Value[]): readonly Value[] {
  return [...new Map(values.map((value) => [contentOf(value), value] as const)).values()];
}

function compareValues(a: Value, b: Value): number {
  if (typeof a === 'string' && typeof b === 'string') return compareBytes(a, b);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  return compareBytes(contentOf(a), contentOf(b));
}

/** Equal for equal values of one type only. */
export function contentOf(value: Value): string {
  const parts = elementsOf(value);
  if (parts === undefined) return JSON.stringify(value);
  const named = isMap(value);
  return `[${parts.map(([key, item]) => `${named ? `${JSON.stringify(key)}:` : ''}${contentOf(item)};`).join('')}]`;
}
