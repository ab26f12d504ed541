// JSON as Terraform writes it: sorted keys, no blanks, <, > and & escaped.
import {
  composedIn,
  ConversionError,
  isList,
  isMap,
  isSet,
  keysOf,
  mapFrom,
  numberText,
  tidy,
  unknown,
  type Value,
} from './values.ts';

const escaped = /[<>&\u2028\u2029]/g;

export function jsonText(value: Value): string {
  if (value === unknown) throw new ConversionError('a value that is not known yet has no JSON');
  if (typeof value === 'string') {
    return JSON.stringify(value).replaceAll(
      escaped,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  }
  if (typeof value === 'number') return numberText(value);
  if (value === null || typeof value === 'boolean') return String(value);
  if (isMap(value))
    return `{${keysOf(value)
      .map((key) => `${jsonText(key)}:${jsonText(value[key] ?? null)}`)
      .join(',')}}`;
  const items = isSet(value) ? value.items : value;
  return `[${items.map(jsonText).join(',')}]`;
}

export function readJson(text: string): Value {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new ConversionError(`it is no JSON: ${(error as Error).message}`);
  }
  return fromJson(parsed);
}

/** A value out of parsed JSON. Throws ConversionError for numbers that were not kept exactly. */
export function fromJson(parsed: unknown): Value {
  return composedIn(valueOf(parsed));
}

function valueOf(parsed: unknown): Value {
  if (typeof parsed === 'number') return tidy(parsed);
  if (Array.isArray(parsed)) return parsed.map(valueOf);
  if (typeof parsed === 'object' && parsed !== null) {
    return mapFrom(Object.entries(parsed).map(([key, value]) => [key, valueOf(value)] as const));
  }
  return typeof parsed === 'string' || typeof parsed === 'boolean' ? parsed : null;
}

/** Plain data out of a wholly known value. */
export function toPlain(value: Value): unknown {
  if (value === unknown) throw new ConversionError('a value that is not known yet cannot be written down');
  if (isList(value)) return value.map(toPlain);
  if (isSet(value)) return value.items.map(toPlain);
  return isMap(value) ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toPlain(item)])) : value;
}
