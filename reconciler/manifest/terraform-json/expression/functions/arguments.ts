// Converts arguments of functions to the type that they need, or reports why it cannot.
import {
  ConversionError,
  describe,
  isList,
  isMap,
  isSet,
  toBool,
  toNumber,
  toText,
  typeName,
  type Value,
  type ValueMap,
} from '../values.ts';

const missing = (at: number): ConversionError => new ConversionError(`argument ${at + 1} is null`);

export function text(args: readonly Value[], at: number): string {
  const value = toText(args[at] ?? null);
  if (typeof value !== 'string') throw missing(at);
  return value;
}

export function number(args: readonly Value[], at: number): number {
  const value = toNumber(args[at] ?? null);
  if (typeof value !== 'number') throw missing(at);
  return value;
}

export function whole(args: readonly Value[], at: number): number {
  const value = number(args, at);
  if (!Number.isInteger(value)) throw new ConversionError(`a whole number is wanted, not ${value}`);
  return value;
}

export function truth(value: Value): boolean {
  const read = toBool(value);
  if (typeof read !== 'boolean') throw new ConversionError('null is neither true nor false');
  return read;
}

/** Elements of a list; a set has no order to rely on. */
export function sequence(args: readonly Value[], at: number): readonly Value[] {
  const value = args[at] ?? null;
  if (isList(value)) return value;
  throw new ConversionError(`argument ${at + 1} must be a list, not ${typeName(value)}`);
}

/** Elements of a list or a set. */
export function list(args: readonly Value[], at: number): readonly Value[] {
  const value = args[at] ?? null;
  if (isList(value)) return value;
  if (isSet(value)) return value.items;
  throw new ConversionError(`argument ${at + 1} must be a list, not ${typeName(value)}`);
}

export function map(args: readonly Value[], at: number): ValueMap {
  const value = args[at] ?? null;
  if (isMap(value)) return value;
  throw new ConversionError(`argument ${at + 1} must be an object, not ${typeName(value)}`);
}

export const textsOf = (values: readonly Value[]): readonly string[] =>
  values.map((value) => {
    const read = toText(value);
    if (typeof read !== 'string') throw new ConversionError(`a list of strings holds ${describe(value)}`);
    return read;
  });
