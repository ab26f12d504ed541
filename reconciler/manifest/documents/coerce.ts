// Converts texts to booleans and booleans to texts, where the schema of a document allows only one of them.
import type { JsonSchema } from '../../../server/api/schema/json-schema.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';

const booleanWords: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  false: false,
  no: false,
  off: false,
};

export function coerce(value: JsonObject, schema: JsonSchema): JsonObject {
  const properties = schema['properties'] as Readonly<Record<string, JsonSchema>>;
  const out: Record<string, Json> = {};
  for (const [key, item] of Object.entries(value)) {
    const type = Object.hasOwn(properties, key) ? properties[key]?.['type'] : undefined;
    if (type === 'boolean' && typeof item === 'string') out[key] = booleanWords[item.toLowerCase()] ?? item;
    else if (type === 'array' && Array.isArray(item))
      out[key] = item.map((each: Json) => textsIn(each, properties[key]));
    else if (typeof item === 'boolean' && (type === 'string' || takesText(properties[key]))) out[key] = String(item);
    // `profiles: null` is the API's other way to leave them out, and `config:` with all entries commented out is null as well.
    else if (!(item === null && isOptionalGroup(key, type, schema))) out[key] = item;
  }
  return out;
}

/** `destination_port: 80` in an item of a list. Members without a value are left out. */
function textsIn(item: Json, list: JsonSchema | undefined): Json {
  const members = (list?.['items'] as JsonSchema | undefined)?.['properties'];
  if (!isMap(item) || members === undefined) return item;
  const known = members as Readonly<Record<string, JsonSchema>>;
  return Object.fromEntries(
    Object.entries(item).flatMap(([name, value]): readonly (readonly [string, Json])[] => {
      if (value === null && Object.hasOwn(known, name)) return [];
      const isText = typeof value === 'number' || typeof value === 'boolean';
      return [[name, isText && takesText(known[name]) ? String(value) : value]];
    }),
  );
}

/** `description: true`: any scalar may be written where the API has a text. */
const takesText = (schema: JsonSchema | undefined): boolean =>
  ((schema?.['anyOf'] ?? []) as readonly JsonSchema[]).some(({ type }) => type === 'string');

/** An optional map or list. */
const isOptionalGroup = (key: string, type: unknown, schema: JsonSchema): boolean =>
  (type === 'object' || type === 'array' || key === 'profiles' || key === 'snapshots') &&
  !(schema['required'] as readonly string[]).includes(key);
