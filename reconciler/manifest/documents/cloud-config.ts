// cloud-init seeds that are written as maps: converts them to the text that the server stores, always the same for equal maps, and
// compares texts as maps.
import { parse } from 'yaml';
import { isSeedKey, plainSeedKeys, seedKeys } from '../../../server/api/container/cloud-init-seed-keys.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';
import { exactYaml } from '../text/yaml-text.ts';
import type { CompareSeeds } from '../../core/settings/cloud-init-seeds.ts';

const firstLine = '#cloud-config\n';

/** Seeds are read as YAML 1.1, where `yes`, `0644` and `12:30` are not texts: they are quoted. */
const written = (value: Json): string =>
  exactYaml(value, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false });

export function seedText(key: string, value: JsonObject): string {
  return (plainSeedKeys as readonly string[]).includes(key) ? written(value) : `${firstLine}${written(value)}`;
}

/** A flat document with texts in place of such maps. */
export function withSeedTexts(document: JsonObject): JsonObject {
  const { kind, config } = document;
  if ((kind !== 'container' && kind !== 'profile') || !isMap(config)) return document;
  const maps = Object.entries(config).filter(([key, value]) => isMap(value) && isSeedKey(key));
  if (maps.length === 0) return document;
  const texts = maps.map(([key, value]) => [key, seedText(key, value as JsonObject)] as const);
  return { ...document, config: { ...config, ...Object.fromEntries(texts) } };
}

/** Undefined for seeds that are not maps: scripts, templates, several parts. */
function mapIn(key: string, text: string): JsonObject | undefined {
  if ((seedKeys as readonly string[]).includes(key) && !text.startsWith(firstLine)) return undefined;
  try {
    const value = parse(text, { version: '1.1', maxAliasCount: 100 }) as Json;
    return isMap(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export const compareSeeds: CompareSeeds = (key, live, declared) => {
  if (!isSeedKey(key)) return undefined;
  const wanted = mapIn(key, declared);
  // A user's own text may contain meaningful comments: only text that gantry generated may be laid out differently.
  if (wanted === undefined || seedText(key, wanted) !== declared) return undefined;
  const found = mapIn(key, live);
  return found === undefined ? undefined : differences(found, wanted, '');
};

const maxPaths = 10;

function differences(a: Json | undefined, b: Json | undefined, path: string): readonly string[] {
  const below = (key: string): string => (path === '' ? key : `${path}.${key}`);
  if (isMap(a) && isMap(b)) {
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
    return keys.flatMap((key) => differences(a[key], b[key], below(key))).slice(0, maxPaths);
  }
  if (Array.isArray(a) && Array.isArray(b) && a.length === b.length)
    return a
      .flatMap((item, index) => differences(item as Json, b[index] as Json, below(String(index))))
      .slice(0, maxPaths);
  return JSON.stringify(a) === JSON.stringify(b) ? [] : [path];
}
