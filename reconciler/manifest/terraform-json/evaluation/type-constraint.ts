// The types of variables: reads `list(string)`, `object({a = number})`, and converts values to them, as Terraform does.
import { parseExpression, parseTemplate } from '../expression/parse.ts';
import { evaluate } from '../expression/evaluate.ts';
import type { Expression } from '../expression/syntax.ts';
import { setOf, unify } from '../expression/unify.ts';
import {
  ConversionError,
  has,
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

export interface Convert {
  (value: Value): Value;
  /** A value of the type, for lists that are empty. */
  readonly sample: Value;
}

const converting = (sample: Value, convert: (value: Value) => Value): Convert =>
  Object.assign((value: Value) => convert(value), { sample } as const);

/** `type` of a variable, as JSON holds it: a bare type or one inside `${ }`. Throws ConversionError or ExpressionError. */
export function readType(text: string): Convert {
  const template = text.trim().startsWith('${') ? parseTemplate(text.trim()) : parseExpression(text);
  const [inner] = template.type === 'template' ? template.parts : [template];
  if (inner === undefined || typeof inner === 'string') throw noType();
  return convertTo(inner);
}

const noType = (): ConversionError =>
  new ConversionError(
    'the type must be string, number, bool, any, list(...), set(...), map(...), object({...}) or tuple([...])',
  );

const any = converting(unknown, (value) => value);
const primitives: Readonly<Record<string, Convert>> = {
  string: converting('', toText),
  number: converting(0, toNumber),
  bool: converting(false, toBool),
  any,
};

function convertTo(type: Expression): Convert {
  if (type.type === 'name') {
    const convert = Object.hasOwn(primitives, type.name) ? primitives[type.name] : undefined;
    // The syntax of old Terraform versions.
    if (type.name === 'list') return listOf(any, unified);
    if (type.name === 'map') return mapOf(any);
    if (convert === undefined) throw noType();
    return convert;
  }
  if (type.type !== 'call') throw noType();
  const [argument] = type.args;
  if (argument === undefined || type.args.length !== 1) throw noType();
  switch (type.name) {
    case 'list':
      return listOf(convertTo(argument), unified);
    case 'set':
      return listOf(convertTo(argument), (items, sample) => setOf(items, [sample]));
    case 'map':
      return mapOf(convertTo(argument));
    case 'object':
      return objectOf(argument);
    case 'tuple':
      return tupleOf(argument);
    default:
      throw noType();
  }
}

/** All items of `any` still have one type. */
const unified = (items: readonly Value[], sample: Value): readonly Value[] => uniform(unify(items), sample);

const listOf = (convert: Convert, join: (items: readonly Value[], sample: Value) => Value): Convert =>
  converting(join([], convert.sample), (value) => {
    if (value === null || value === unknown) return value;
    const items = isList(value) ? value : isSet(value) ? value.items : undefined;
    if (items === undefined) throw new ConversionError(`a list is wanted, not ${typeName(value)}`);
    return join(items.map(convert), convert.sample);
  });

const mapOf = (convert: Convert): Convert =>
  converting(uniform({}, convert.sample), (value) => {
    if (value === null || value === unknown) return value;
    if (!isMap(value)) throw new ConversionError(`a map is wanted, not ${typeName(value)}`);
    const keys = keysOf(value);
    const items = unify(keys.map((key) => convert(value[key] ?? null)));
    return uniform(mapFrom(keys.map((key, at) => [key, items[at] ?? null] as const)), convert.sample);
  });

interface Attribute {
  readonly name: string;
  readonly convert: Convert;
  readonly isOptional: boolean;
  /** The value if it is null or not written. */
  readonly left: Value;
}

function objectOf(argument: Expression): Convert {
  if (argument.type !== 'object') throw noType();
  const attributes = argument.items.map(({ key, value }): Attribute => {
    const name = key.type === 'literal' ? String(key.value) : '';
    const isOptional = value.type === 'call' && value.name === 'optional';
    const [type] = isOptional ? value.args : [value];
    if (name === '' || type === undefined) throw noType();
    const [, fallback] = isOptional ? value.args : [];
    const left = fallback === undefined ? null : convertTo(type)(evaluate(fallback, { resolve: () => undefined }));
    return { name, convert: convertTo(type), isOptional, left };
  });
  const sample = mapFrom(attributes.map(({ name, convert }) => [name, convert.sample] as const));
  return converting(sample, (value) => {
    if (value === null || value === unknown) return value;
    if (!isMap(value)) throw new ConversionError(`an object is wanted, not ${typeName(value)}`);
    return mapFrom(
      attributes.map(({ name, convert, isOptional, left }) => {
        if (!has(value, name) && !isOptional) throw new ConversionError(`the attribute ${name} is missing`);
        const written = has(value, name) ? convert(value[name] ?? null) : null;
        return [name, written ?? left] as const;
      }),
    );
  });
}

function tupleOf(argument: Expression): Convert {
  if (argument.type !== 'list') throw noType();
  const parts = argument.items.map(convertTo);
  const samples = parts.map(({ sample }) => sample);
  return converting(samples, (value) => {
    if (value === null || value === unknown) return value;
    const items = isList(value) ? value : undefined;
    if (items?.length !== parts.length) throw new ConversionError(`a list of ${parts.length} is wanted`);
    return items.map((item, index) => parts[index]?.(item) ?? null);
  });
}
