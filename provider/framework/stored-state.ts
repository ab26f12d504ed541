// Reads a state stored as JSON, by this version of the provider or an older one, into values of the current schema.
import type { Attributes } from './attribute.ts';
import type { Type } from './type.ts';
import type { Value, ValueMap } from './value.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = Readonly<Record<string, Json>>;
/** Each entry upgrades from the version that is its key to the next version. */
export type Upgrades = Readonly<Record<number, (old: JsonObject) => JsonObject>>;

export class StoredStateError extends Error {
  override readonly name = 'StoredStateError';
}

/** Throws StoredStateError for a state of a newer version, without an upgrade, or of another shape. */
export function readStoredState(
  attributes: Attributes,
  current: number,
  upgrades: Upgrades,
  stored: { readonly version: number; readonly json: string },
): ValueMap {
  if (stored.version > current) {
    throw new StoredStateError(
      `it has version ${stored.version} of this resource, and this provider knows versions up to ${current}: use the newer provider that wrote it`,
    );
  }
  let object = asObject(JSON.parse(stored.json) as Json, '');
  for (let version = stored.version; version < current; version += 1) {
    const upgrade = upgrades[version];
    if (upgrade === undefined) throw new StoredStateError(`it cannot be upgraded from version ${version}`);
    object = upgrade(object);
  }
  return readObject(attributes, object);
}

function readObject(attributes: Attributes, object: JsonObject): ValueMap {
  const members: Record<string, Value> = {};
  for (const name in attributes) {
    const attribute = attributes[name];
    if (attribute !== undefined) members[name] = readValue(attribute.type, memberOf(object, name), name);
  }
  return members;
}

/** Drops members that the type does not name: attributes of older versions. */
export function readValue(type: Type, json: Json, path: string): Value {
  if (json === null) return null;
  if (type === 'string' || type === 'bool' || type === 'number') return readScalar(type, json, path);
  if (type.kind === 'list') {
    if (!Array.isArray(json)) throw new StoredStateError(`${path} is not a list`);
    return (json as readonly Json[]).map((item, index) => readValue(type.item, item, `${path}[${index}]`));
  }
  const object = asObject(json, path);
  if (type.kind === 'dynamic') return readValue(type.item, memberOf(object, 'value'), path);
  if (type.kind === 'map') {
    // Entries and not assignments: a key may be __proto__.
    return Object.fromEntries(
      Object.entries(object).map(([key, item]) => [key, readValue(type.item, item, `${path}.${key}`)] as const),
    );
  }
  const members: Record<string, Value> = {};
  for (const name in type.members) {
    const member = type.members[name];
    if (member !== undefined) members[name] = readValue(member, memberOf(object, name), `${path}.${name}`);
  }
  return members;
}

const memberOf = (object: JsonObject, name: string): Json => object[name] ?? null;

function readScalar(type: 'string' | 'bool' | 'number', json: Json, path: string): Value {
  const expected = type === 'bool' ? 'boolean' : type;
  if (typeof json === expected) return json;
  throw new StoredStateError(`${path} is not a ${type}`);
}

function asObject(json: Json, path: string): JsonObject {
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as JsonObject;
  throw new StoredStateError(`${path === '' ? 'it' : path} is not an object`);
}
