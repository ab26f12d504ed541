// Functions of lists, sets and objects.
import { list, map, number, sequence, textsOf, whole } from './arguments.ts';
import { makesList, type FunctionRow } from './function-row.ts';
import { asElementOf, contentOf, distinct, setOf, unify } from '../unify.ts';
import {
  charactersOf,
  ConversionError,
  compareBytes,
  has,
  isList,
  isMap,
  isSet,
  isUniform,
  keysOf,
  like,
  mapFrom,
  same,
  tidy,
  toText,
  typeElements,
  typeName,
  uniform,
  unknown,
  type Value,
  type ValueMap,
} from '../values.ts';

/** No hand-written configuration has more elements. */
const maxElements = 1024;

function length(value: Value): Value {
  if (value === unknown) return unknown;
  if (typeof value === 'string') return charactersOf(value).length;
  if (isList(value)) return value.length;
  if (isSet(value)) return value.items.length;
  if (isMap(value)) return Object.keys(value).length;
  throw new ConversionError(`${typeName(value)} has no length`);
}

function element(items: readonly Value[], at: number): Value {
  if (items.length === 0) throw new ConversionError('an empty list has no element');
  // The index wraps around; below zero it does so in lists only.
  const rest = at % items.length;
  if (rest < 0 && !isUniform(items)) throw new ConversionError(`${at} is no index of a tuple`);
  return items.at(rest) ?? null;
}

function lookup([object = null, key = null, ...fallback]: readonly Value[]): Value {
  if (!isMap(object)) throw new ConversionError(`argument 1 must be an object, not ${typeName(object)}`);
  const name = toText(key);
  // The default gets the type of the elements of a map, even if it is not needed.
  const left = fallback.map((value) => (isUniform(object) ? asElementOf(typeElements(object), value) : value));
  if (typeof name === 'string' && has(object, name)) return object[name] ?? null;
  const [value] = left;
  if (value === undefined) throw new ConversionError(`the object has no ${String(name)}`);
  return value;
}

const keyList = (object: ValueMap): Value => (isUniform(object) ? uniform(keysOf(object), '') : [...keysOf(object)]);
const valuesOf = (object: ValueMap): Value =>
  like(
    object,
    keysOf(object).map((key) => object[key] ?? null),
  );

function merge(objects: readonly Value[]): Value {
  if (objects.includes(unknown)) return unknown;
  const present = objects.filter((object) => object !== null);
  const merged = mapFrom(present.flatMap((_, index) => Object.entries(map(present, index))));
  return objects.length > 0 && objects.every(isUniform) && isOneKind(present) ? uniform(merged) : merged;
}

/** Whether the elements of all maps have one type, as far as simple ones show it. */
function isOneKind(maps: readonly Value[]): boolean {
  const kinds = maps.flatMap((_, at) => {
    const sample = Object.values(map(maps, at)).find((value) => value !== null && value !== unknown);
    return sample === undefined ? [] : typeName(sample);
  });
  return new Set(kinds).size <= 1;
}

/** A tuple, unless all are lists. */
function concat(args: readonly Value[]): Value {
  const items = args.flatMap((_, index) => sequence(args, index));
  if (!args.every(isUniform)) return items;
  const unified = unify([...items, ...args.flatMap(typeElements)]);
  return uniform(unified.slice(0, items.length), unified.at(-1));
}

/** Unknown if one element is: it may be a list of any length. */
function flatten(items: readonly Value[]): Value {
  const flat = items.flatMap(flattened);
  return flat.includes(unknown) ? unknown : flat;
}

const flattened = (value: Value): readonly Value[] =>
  (isSet(value) ? value.items : isList(value) ? value : undefined)?.flatMap(flattened) ?? [value];

function coalesce(args: readonly Value[]): Value {
  const unified = unify(args);
  for (const value of unified) {
    if (value === unknown) return unknown;
    if (value !== null && value !== '') return value;
  }
  throw new ConversionError('all arguments are null or empty');
}

function range(args: readonly Value[]): readonly Value[] {
  const [start, limit] = args.length === 1 ? [0, number(args, 0)] : [number(args, 0), number(args, 1)];
  const step = args.length === 3 ? number(args, 2) : limit < start ? -1 : 1;
  if (step === 0 || (limit - start) * step < 0) {
    if (step !== 0 && limit === start) return [];
    throw new ConversionError('the step does not lead from the start to the limit');
  }
  const count = Math.ceil(tidy((limit - start) / step));
  if (count > maxElements) throw new ConversionError(`more than ${maxElements} elements`);
  return Array.from({ length: count }, (_, index) => tidy(start + index * step));
}

function reverse([value = null]: readonly Value[]): Value {
  if (isSet(value)) return uniform([...value.items].reverse(), typeElements(value)[0]);
  return like(value, [...sequence([value], first)].reverse());
}

function slice(items: readonly Value[], start: number, end: number): readonly Value[] {
  if (start < 0 || end > items.length || start > end) {
    throw new ConversionError(`${start} to ${end} is not inside a list of ${items.length}`);
  }
  return items.slice(start, end);
}

function one(items: readonly Value[]): Value {
  if (items.length > 1) throw new ConversionError(`a list of one or none is wanted, not of ${items.length}`);
  return items[0] ?? null;
}

function indexIn(items: readonly Value[], wanted: Value): number {
  const at = items.findIndex((item) => same(item, wanted) === true);
  if (at < 0) throw new ConversionError('the list has no such element');
  return at;
}

function zipmap(args: readonly Value[]): Value {
  const names = list(args, first);
  return names.includes(unknown) ? unknown : like(args[second] ?? null, zip(textsOf(names), list(args, second)));
}

function zip(names: readonly string[], values: readonly Value[]): ValueMap {
  if (names.length !== values.length) throw new ConversionError('the lists are of different lengths');
  return mapFrom(names.map((name, index) => [name, values[index] ?? null] as const));
}

function chunks(items: readonly Value[], size: number): readonly Value[] {
  if (size < 0) throw new ConversionError('the size must not be negative');
  if (size === 0) return items.length === 0 ? [] : [uniform(items)];
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    uniform(items.slice(index * size, (index + 1) * size)),
  );
}

function isIn(items: readonly Value[], wanted: Value): boolean {
  return items.some((item) => same(item, wanted) === true);
}

function matchKeys(values: readonly Value[], keys: readonly Value[], wanted: readonly Value[]): readonly Value[] {
  if (values.length !== keys.length) throw new ConversionError('length of keys and values should be equal');
  const all = unify([...keys, ...wanted]).map(contentOf);
  const searched = new Set(all.slice(keys.length));
  return values.filter((_, at) => searched.has(all[at] ?? ''));
}

/** A set when one of them is a set, else a list. */
function product(args: readonly Value[]): Value {
  if (args.length < 2) throw new ConversionError('at least two arguments are required');
  let rows: readonly (readonly Value[])[] = [[]];
  for (const [at] of args.entries()) {
    const items = unify(list(args, at));
    if (rows.length * items.length > maxProduct) throw new ConversionError(`more than ${maxProduct} combinations`);
    rows = rows.flatMap((row) => items.map((item) => [...row, item]));
  }
  return args.some(isSet) ? setOf(rows) : uniform(rows);
}
const maxProduct = 100_000;

function transpose(object: ValueMap): Value {
  const turned = new Map<string, string[]>();
  for (const key of keysOf(object)) {
    for (const item of textsOf(list([object[key] ?? null], first)))
      turned.set(item, [...(turned.get(item) ?? []), key]);
  }
  return mapFrom([...turned].map(([item, keys]) => [item, uniform(keys)] as const));
}

const [first, second] = [0, 1];
const onList = (run: (items: readonly Value[]) => Value): FunctionRow => ({
  least: 1,
  max: 1,
  run: (args) => run(list(args, first)),
});
const onElements = (run: (items: readonly Value[]) => Value): FunctionRow => ({ ...onList(run), passesElements: true });

/** Each becomes a set before they are combined: a list of bools and numbers cannot, regardless of the others. */
const asSets = (args: readonly Value[]): readonly (readonly Value[])[] =>
  args.map((_, index) => unify(list(args, index)));

const sets = (keep: (content: string, others: readonly ReadonlySet<string>[]) => boolean, least = 1): FunctionRow => ({
  least,
  run: (args) => {
    const [head = [], ...others] = unify(asSets(args)) as readonly (readonly Value[])[];
    const contents = others.map((other) => new Set(other.map(contentOf)));
    return setOf(
      head.filter((item) => keep(contentOf(item), contents)),
      args.flatMap(typeElements),
    );
  },
});

export const collections: Readonly<Record<string, FunctionRow>> = {
  length: { least: 1, max: 1, seesUnknown: true, run: ([value = null]) => length(value) },
  element: {
    least: 2,
    max: 2,
    passesElements: true,
    run: (args) => element(sequence(args, first), whole(args, second)),
  },
  lookup: { least: 2, max: 3, takesNull: true, passesElements: true, run: lookup },
  keys: { least: 1, max: 1, passesElements: true, run: (args) => keyList(map(args, first)) },
  values: { least: 1, max: 1, passesElements: true, run: (args) => valuesOf(map(args, first)) },
  merge: { least: 0, seesUnknown: true, takesNull: true, run: merge },
  concat: { least: 1, passesElements: true, run: concat },
  contains: { least: 2, max: 2, run: (args) => isIn(list(args, first), args[second] ?? null) },
  coalesce: { least: 1, seesUnknown: true, takesNull: true, run: coalesce },
  compact: makesList(
    onList((items) => textsOf(items.filter((item) => item !== null && item !== ''))),
    '',
  ),
  distinct: makesList(onList((items) => distinct(unify(items)))),
  flatten: onElements(flatten),
  reverse: { least: 1, max: 1, passesElements: true, run: reverse },
  sort: makesList(
    onList((items) => [...textsOf(items)].sort(compareBytes)),
    '',
  ),
  one: onElements(one),
  range: makesList({ least: 1, max: 3, run: range }),
  slice: {
    least: 3,
    max: 3,
    passesElements: true,
    run: (args) => like(args[first] ?? null, slice(sequence(args, first), whole(args, 1), whole(args, 2))),
  },
  index: { least: 2, max: 2, run: (args) => indexIn(sequence(args, first), args[second] ?? null) },
  zipmap: { least: 2, max: 2, passesElements: true, run: zipmap },
  chunklist: makesList({ least: 2, max: 2, run: (args) => chunks(unify(list(args, first)), whole(args, second)) }),
  setunion: { least: 1, run: (args) => setOf(asSets(args).flat(), args.flatMap(typeElements)) },
  setintersection: sets((content, others) => others.every((other) => other.has(content))),
  setsubtract: sets((content, others) => !others.some((other) => other.has(content)), 2),
  coalescelist: {
    least: 1,
    run: (args) => {
      const found = args.map((_, index) => list(args, index)).find((items) => items.length > 0);
      if (found === undefined) throw new ConversionError('no non-null, non-empty-list arguments');
      return found;
    },
  },
  matchkeys: makesList({
    least: 3,
    max: 3,
    run: (args) => matchKeys(sequence(args, 0), sequence(args, 1), list(args, 2)),
  }),
  setproduct: { least: 1, run: product },
  transpose: makesList({ least: 1, max: 1, run: (args) => transpose(map(args, first)) }),
  ephemeralasnull: { least: 1, max: 1, seesUnknown: true, takesNull: true, run: ([value = null]) => value },
  sensitive: { least: 1, max: 1, seesUnknown: true, takesNull: true, run: ([value = null]) => value },
  nonsensitive: { least: 1, max: 1, seesUnknown: true, takesNull: true, run: ([value = null]) => value },
};
