// Functions that turn a value of one kind into another: conversions of type, JSON, digests.
import { createHash } from 'node:crypto';
import { text } from './arguments.ts';
import type { FunctionRow } from './function-row.ts';
import { jsonText, readJson } from '../json-text.ts';
import { setOf, unify } from '../unify.ts';
import {
  ConversionError,
  isList,
  isMap,
  isSet,
  mapFrom,
  toBool,
  toNumber,
  toText,
  typeElements,
  typeName,
  uniform,
  unknown,
  type Value,
} from '../values.ts';

const convert = (run: (value: Value) => Value): FunctionRow => ({
  least: 1,
  max: 1,
  seesUnknown: true,
  takesNull: true,
  run: ([value = null]) => (value === unknown || value === null ? value : run(value)),
});
const digest = (algorithm: string, encoding: 'hex' | 'base64'): FunctionRow => ({
  least: 1,
  max: 1,
  run: (args) => createHash(algorithm).update(text(args, 0)).digest(encoding),
});

/** Nothing says the type of an empty tuple or object. */
const elementType = (value: Value): Value => typeElements(value)[0] ?? unknown;

function toList(value: Value): Value {
  if (isSet(value)) return uniform(value.items, value.sample);
  if (isList(value)) return uniform(unify(value), elementType(value));
  throw new ConversionError(`a list is wanted, not ${typeName(value)}`);
}

function toSet(value: Value): Value {
  if (isSet(value)) return value;
  if (isList(value)) return setOf(value, [elementType(value)]);
  throw new ConversionError(`a list is wanted, not ${typeName(value)}`);
}

function toMap(value: Value): Value {
  if (!isMap(value)) throw new ConversionError(`an object is wanted, not ${typeName(value)}`);
  const keys = Object.keys(value);
  const unified = unify(Object.values(value));
  return uniform(mapFrom(keys.map((key, index) => [key, unified[index] ?? null] as const)), elementType(value));
}

export const conversions: Readonly<Record<string, FunctionRow>> = {
  tostring: convert((value) => toText(value)),
  tonumber: convert((value) => toNumber(value)),
  tobool: convert((value) => toBool(value)),
  tolist: convert(toList),
  toset: convert(toSet),
  tomap: convert(toMap),
  jsonencode: { least: 1, max: 1, takesNull: true, run: ([value = null]) => jsonText(value) },
  jsondecode: { least: 1, max: 1, run: (args) => readJson(text(args, 0)) },
  md5: digest('md5', 'hex'),
  sha1: digest('sha1', 'hex'),
  sha256: digest('sha256', 'hex'),
  sha512: digest('sha512', 'hex'),
  base64sha256: digest('sha256', 'base64'),
  base64sha512: digest('sha512', 'base64'),
};
