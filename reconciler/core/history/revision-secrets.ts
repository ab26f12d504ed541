// Removes secrets from documents before a revision is recorded, and restores them for a rollback. Pure.
import type { Address, Json, JsonObject } from '../documents/document.ts';
import type { WrittenDocument } from './revisions.ts';
import { isMap } from '../documents/json-values.ts';
import { hashOf, type KeyHash } from '../ownership/owner-records.ts';
import { isSecret } from '../documents/secret.ts';

const references = ['from_env', 'from_file', 'from_sops', 'from_vault'];

const isReference = (value: JsonObject): boolean => {
  const keys = Object.keys(value);
  return keys.length === 1 && references.includes(keys[0] ?? '');
};

/** The hash that replaces a secret which was written in clear. */
export const cutHash = (value: Json | undefined): string | undefined =>
  isMap(value) && typeof value['$secret'] === 'string' ? value['$secret'] : undefined;

/** True when the whole value is secret: cloud-init seeds also when they are maps. */
function isCut(path: readonly string[], value: Json, secrets: readonly string[] | undefined): boolean {
  if (value === null || value === '') return false;
  return isSecret(path, value, secrets) && (!isMap(value) || (path.length === 2 && path[0] === 'config'));
}

/** `text`: the server's text for a value of the path. */
export function cutSecrets(
  written: WrittenDocument,
  hash: KeyHash,
  text: (path: readonly string[], value: Json) => Json,
): WrittenDocument {
  const walk = (value: Json, path: readonly string[]): Json => {
    if (isMap(value) && isReference(value)) return value;
    if (isCut(path, value, written.secrets)) return { $secret: hashOf(hash, path, text(path, value)) };
    if (Array.isArray(value))
      return (value as readonly Json[]).map((item, index) => walk(item, [...path, String(index)]));
    if (!isMap(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, [...path, key])]));
  };
  return { ...written, value: walk(written.value, []) as JsonObject };
}

export interface FillResult {
  readonly documents: readonly WrittenDocument[];
  /** `container/web1 config.environment.PW`. */
  readonly missing: readonly string[];
}

/** `find`: finds a value for the path with this hash. */
export function fillSecrets(
  documents: readonly WrittenDocument[],
  find: (address: Address, path: readonly string[], hash: string) => Json | undefined,
): FillResult {
  const missing: string[] = [];
  const filled = documents.map((document) => {
    const secrets = [...(document.secrets ?? [])];
    const walk = (value: Json, path: readonly string[]): Json => {
      const hash = cutHash(value);
      if (hash !== undefined) {
        const found = find(document.address, path, hash);
        if (found === undefined) missing.push(`${document.address} ${path.join('.')}`);
        else secrets.push(path.join('.'));
        return found ?? '';
      }
      if (Array.isArray(value))
        return (value as readonly Json[]).map((item, index) => walk(item, [...path, String(index)]));
      if (!isMap(value)) return value;
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, [...path, key])]));
    };
    const value = walk(document.value, []) as JsonObject;
    return { ...document, value, ...(secrets.length === 0 ? {} : { secrets }) };
  });
  return { documents: filled, missing };
}

/** Shows secrets as placeholders. The server refuses such a manifest, so no container can get one. */
export function shownDocument({ address, value }: WrittenDocument): JsonObject {
  const walk = (item: Json, path: readonly string[]): Json => {
    if (cutHash(item) !== undefined) return { from_env: variableOf(address, path) };
    if (Array.isArray(item)) return (item as readonly Json[]).map((one, index) => walk(one, [...path, String(index)]));
    if (!isMap(item)) return item;
    return Object.fromEntries(Object.entries(item).map(([key, one]) => [key, walk(one, [...path, key])]));
  };
  return walk(value, []) as JsonObject;
}

/** `CONTAINER_WEB1_ENVIRONMENT_DB_PASSWORD`. */
const variableOf = (address: Address, path: readonly string[]): string =>
  [address, ...path.slice(path[0] === 'config' ? 1 : 0)]
    .join('_')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase();

export const holdsCuts = (value: Json): boolean =>
  cutHash(value) !== undefined ||
  (typeof value === 'object' && value !== null && Object.values(value as JsonObject).some(holdsCuts));
