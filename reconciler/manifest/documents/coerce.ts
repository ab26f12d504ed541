// Converts texts to booleans and booleans to texts, where the schema of a document allows only one of them.
import type { JsonSchema } from '../../../server/api/schema/json-schema.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';

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
    else if (typeof item === 'boolean' && (type === 'string' || takesText(properties[key]))) out[key] = String(item);
    // `profiles: null` is the API's other way to leave them out, and `config:` with all entries commented out is null as well.
    else if (!(item === null && isOptionalGroup(key, type, schema))) out[key] = item;
  }
  return out;
}

/** `description: true`: any scalar may be written where the API has a text. */
const takesText = (schema: JsonSchema | undefined): boolean =>
  ((schema?.['anyOf'] ?? []) as readonly JsonSchema[]).some(({ type }) => type === 'string');

/** An optional map or list. */
const isOptionalGroup = (key: string, type: unknown, schema: JsonSchema): boolean =>
  (type === 'object' || type === 'array' || key === 'profiles' || key === 'snapshots') &&
  !(schema['required'] as readonly string[]).includes(key);
