// Evaluates JSON with templates in its texts and keys; the caller decides how texts and numbers are read.
import type { Json, JsonObject } from '../../../core/documents/document.ts';
import { below } from '../config/blocks.ts';
import { mapFrom, toText, unknown, type Value } from '../expression/values.ts';
import type { Context } from './instance.ts';

export type Leaf = string | number | boolean | null;

export function valueOfJson(json: Json, context: Context, valueOf: (leaf: Leaf, context: Context) => Value): Value {
  if (Array.isArray(json)) return json.map((item: Json, at) => valueOfJson(item, inside(context, String(at)), valueOf));
  if (typeof json !== 'object' || json === null) return valueOf(json, context);
  const entries: [string, Value][] = [];
  for (const [key, item] of Object.entries(json as JsonObject)) {
    const name = key.includes('{') ? valueOf(key, context) : key;
    const value = valueOfJson(item, inside(context, key), valueOf);
    if (name === unknown) return unknown;
    entries.push([toText(name) as string, value]);
  }
  return mapFrom(entries);
}

const inside = (context: Context, step: string): Context => ({ ...context, place: below(context.place, step) });
