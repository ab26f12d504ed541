// Typed reads of document values: maps of text, devices, lists of text.
import type { Json, JsonObject } from './json.ts';

export const isMap = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const mapOf = (value: Json | undefined): JsonObject => (isMap(value) ? value : {});

/** The value under a key of the map itself: a device may be named `constructor`. */
export const valueOf = <T>(map: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(map, key) ? map[key] : undefined;

export const textOf = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined);

/** Any value as one text; callers expect a text. */
export const asText = (value: Json | undefined): string =>
  value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);

export const textsOf = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter((item) => typeof item === 'string') : [];

/** Entries with text values: without nulls (must be absent) and empty texts (unset). */
export function presentTexts(value: Json | undefined): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [key, item] of Object.entries(mapOf(value))) if (typeof item === 'string' && item !== '') out[key] = item;
  return out;
}

/** Devices without those that must be absent. */
export function presentDevices(value: Json | undefined): Record<string, Record<string, string>> {
  const out: Record<string, Record<string, string>> = {};
  for (const [name, device] of Object.entries(mapOf(value))) if (isMap(device)) out[name] = presentTexts(device);
  return out;
}
