// Elements and attributes of values. Throws ExpressionError with the place in the text.
import { ExpressionError, type RefusalCode, type Span } from './syntax.ts';
import { describe, has, isList, isMap, toNumber, toText, typeName, unknown, type Value } from './values.ts';

export const fail = (code: RefusalCode, message: string, { start, end }: Span): ExpressionError =>
  new ExpressionError(code, message, { start, end });

export const attributes = (value: Value, names: readonly string[], span: Span): Value =>
  names.reduce((object, name) => index(object, name, span), value);

export function index(object: Value, key: Value, span: Span): Value {
  if (object === unknown || key === unknown) return unknown;
  if (isMap(object)) {
    const name = toText(key);
    if (typeof name === 'string' && has(object, name)) return object[name] ?? null;
    throw fail(
      'E_VALUE',
      `the object has no element ${typeof name === 'string' ? JSON.stringify(name) : describe(key)}`,
      span,
    );
  }
  if (isList(object)) {
    const at = toNumber(key);
    const item = typeof at === 'number' && Number.isInteger(at) ? object[at] : undefined;
    if (item !== undefined && Number(at) >= 0) return item;
    throw fail('E_VALUE', `the list of ${object.length} has no element ${describe(key)}`, span);
  }
  throw fail('E_TYPE', `${typeName(object)} has no element or attribute ${describe(key)}`, span);
}
