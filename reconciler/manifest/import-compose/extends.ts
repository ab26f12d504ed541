// Services with those that they extend in the same file. Pure.
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { asText, isMap, mapOf } from '../../core/documents/json-values.ts';

/** Parts that a service does not take over from the one that it extends. */
const ownParts = ['depends_on', 'container_name', 'extends', 'profiles'];

/** undefined: it extends a service of another file, or itself. */
export function withExtended(services: JsonObject, name: string, seen: readonly string[] = []): JsonObject | undefined {
  const service = mapOf(services[name]);
  const given = service['extends'];
  if (given === undefined || given === null) return service;
  const base = isMap(given) ? asText(given['service']) : asText(given);
  if ((isMap(given) && given['file'] !== undefined) || !Object.hasOwn(services, base) || seen.includes(base))
    return undefined;
  const above = withExtended(services, base, [...seen, name]);
  if (above === undefined) return undefined;
  const { extends: _, ...own } = service;
  const taken = Object.entries(above).filter(([key]) => !ownParts.includes(key));
  const files = [...listOf(above['env_file']), ...listOf(own['env_file'])];
  const joined = merged(Object.fromEntries(taken), own);
  return files.length === 0 ? joined : { ...joined, env_file: files };
}

/** One value, or a list of such values. */
export const listOf = (given: Json | undefined): readonly Json[] =>
  given === undefined || given === null ? [] : Array.isArray(given) ? (given as readonly Json[]) : [given];

function merged(base: JsonObject, own: JsonObject): JsonObject {
  const both = Object.entries(own).map(([key, value]): [string, Json] => [key, mergedValue(base[key], value)]);
  return { ...base, ...Object.fromEntries(both) };
}

/** Maps and lists are joined; commands are replaced, as all other values. */
function mergedValue(base: Json | undefined, own: Json): Json {
  if (isMap(base) && isMap(own)) return merged(base, own);
  if (Array.isArray(base) && isMap(own)) return merged(mapOfPairs(base as readonly Json[]), own);
  if (isMap(base) && Array.isArray(own)) return merged(base, mapOfPairs(own as readonly Json[]));
  return Array.isArray(base) && Array.isArray(own) ? [...(base as readonly Json[]), ...(own as readonly Json[])] : own;
}

export const mapOfPairs = (pairs: readonly Json[]): JsonObject =>
  Object.fromEntries(
    pairs.map((pair): [string, Json] => {
      const text = asText(pair);
      const at = text.indexOf('=');
      return at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
    }),
  );
