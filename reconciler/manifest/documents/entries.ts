// Reads lists and numbers of entries whose shape the schema has checked.
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';

export const listOf = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter(isMap) : [];

export const numberOf = <K extends string>(name: K, value: Json | undefined): Partial<Record<K, number>> =>
  value === undefined || value === null ? {} : ({ [name]: Number(value) } as Record<K, number>);
