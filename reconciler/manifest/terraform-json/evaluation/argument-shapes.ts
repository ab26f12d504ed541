// The types of the arguments of gantry's resource types, and the conversion of values to them, as Terraform does it by the provider's
// schema: numeric texts become numbers, omitted arguments are null, unknown ones are refused. Pure.
import { hint } from '../../../../server/api/text/nearest-word.ts';
import {
  ConversionError,
  isList,
  isMap,
  isSet,
  keysOf,
  mapFrom,
  toBool,
  toNumber,
  toText,
  typeName,
  uniform,
  unknown,
  type Value,
} from '../expression/values.ts';

export type Members = Readonly<Record<string, Shape>>;
export type Shape =
  | 'text'
  | 'number'
  | 'bool'
  | 'texts'
  /** A map of texts. */
  | 'map'
  /** A list of maps of texts. */
  | 'maps'
  /** Known after an apply; in objects only. */
  | 'computed'
  | { readonly object: Members }
  | { readonly list: Members }
  | { readonly each: Members };

/** Names, separated by spaces, of the arguments of each shape; the members of nested ones. */
export type NamesByShape = { readonly [Plain in Exclude<Shape, object>]?: string } & {
  readonly [Nested in 'object' | 'list' | 'each']?: Readonly<Record<string, NamesByShape>>;
};

export const membersOf = ({ object = {}, list = {}, each = {}, ...plain }: NamesByShape): Members =>
  Object.fromEntries([
    ...Object.entries(plain).flatMap(([shape, names]) => wordsOf(names).map((name) => [name, shape] as const)),
    ...Object.entries(object).map(([name, below]) => [name, { object: membersOf(below) }] as const),
    ...Object.entries(list).map(([name, below]) => [name, { list: membersOf(below) }] as const),
    ...Object.entries(each).map(([name, below]) => [name, { each: membersOf(below) }] as const),
  ]) as Members;

export const wordsOf = (text: string): readonly string[] => text.split(' ').filter((word) => word !== '');

/** A problem of an argument, with its place below it. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError';
  readonly path: readonly string[];
  /** The message quotes the value. */
  readonly hasValue: boolean;
  constructor(path: readonly string[], message: string, hasValue = false) {
    super(message);
    this.path = path;
    this.hasValue = hasValue;
  }
}

const primitives = { text: toText, number: toNumber, bool: toBool } as const;

/** Throws ShapeError. Computed members are left out, since they cannot be written. */
export function shaped(value: Value, shape: Shape, path: readonly string[] = []): Value {
  if (value === null || value === unknown) return value;
  if (typeof shape === 'string') return shapedText(value, shape, path);
  if ('object' in shape) return shapedObject(value, shape.object, path);
  if ('each' in shape) return eachOf(value, path, (item, below) => shapedObject(item, shape.each, below));
  return uniform(
    listOf(value, path).map((item, at) =>
      item === null || item === unknown ? item : shapedObject(item, shape.list, [...path, String(at)]),
    ),
  );
}

function shapedText(value: Value, shape: Exclude<Shape, object>, path: readonly string[]): Value {
  if (shape === 'texts')
    return uniform(
      listOf(value, path).map((item, at) => shaped(item, 'text', [...path, String(at)])),
      '',
    );
  if (shape === 'map') return eachOf(value, path, (item, below) => shaped(item, 'text', below), '');
  if (shape === 'maps') return eachOf(value, path, (item, below) => shaped(item, 'map', below));
  if (shape === 'computed') throw new ShapeError(path, 'is set by the provider');
  return primitive(value, shape, path);
}

function primitive(value: Value, shape: keyof typeof primitives, path: readonly string[]): Value {
  try {
    return primitives[shape](value);
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error;
    throw new ShapeError(path, error.message, true);
  }
}

function listOf(value: Value, path: readonly string[]): readonly Value[] {
  if (isList(value)) return value;
  if (isSet(value)) return value.items;
  throw new ShapeError(path, `a list is wanted, not ${typeName(value)}`);
}

function eachOf(
  value: Value,
  path: readonly string[],
  convert: (item: Value, path: readonly string[]) => Value,
  sample: Value = null,
): Value {
  if (!isMap(value)) throw new ShapeError(path, `a map is wanted, not ${typeName(value)}`);
  const entries = keysOf(value).map((key) => {
    const item = value[key] ?? null;
    return [key, item === null || item === unknown ? item : convert(item, [...path, key])] as const;
  });
  return uniform(mapFrom(entries), sample);
}

function shapedObject(value: Value, members: Members, path: readonly string[]): Value {
  if (!isMap(value)) throw new ShapeError(path, `an object is wanted, not ${typeName(value)}`);
  const names = Object.keys(members).filter((name) => members[name] !== 'computed');
  const stranger = Object.keys(value).find((name) => !names.includes(name));
  if (stranger !== undefined) {
    const isComputed = Object.hasOwn(members, stranger);
    const message = isComputed ? 'is set by the provider' : `there is no such attribute${hint(stranger, names)}`;
    throw new ShapeError([...path, stranger], message);
  }
  return mapFrom(
    names.map((name) => [name, shaped(value[name] ?? null, members[name] ?? 'text', [...path, name])] as const),
  );
}

/** The values for references: with defaults, and unknown where an apply fills them in. */
export function withComputed(value: Value, shape: Shape): Value {
  if (typeof shape === 'string' || value === null || value === unknown) return value;
  if ('object' in shape) return completed(value, shape.object);
  if ('each' in shape) {
    return isMap(value)
      ? uniform(mapFrom(keysOf(value).map((key) => [key, completed(value[key] ?? null, shape.each)] as const)))
      : value;
  }
  return isList(value) ? uniform(value.map((item) => completed(item, shape.list))) : value;
}

function completed(value: Value, members: Members): Value {
  if (!isMap(value)) return value;
  return mapFrom(Object.keys(members).map((name) => [name, value[name] ?? unknown] as const));
}
