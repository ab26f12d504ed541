// The value of a YAML scalar in a manifest: numbers and most values of config stay texts as written.
import type { Json } from '../../core/documents/document.ts';

/** Maps whose values are always texts, with the number of map levels down to those values. */
const textMaps: Readonly<Record<string, number>> = { config: 1, devices: 2, environment: 1, properties: 1 };

/** The levels for the value of a key. A map in place of a text (a seed of cloud-init) is read as ordinary YAML. */
export function below(texts: number | undefined, key: string): number | undefined {
  if (texts !== undefined) return texts - 1;
  return Object.hasOwn(textMaps, key) ? textMaps[key] : undefined;
}

/** Numbers stay texts: `0660` and `1.10` keep their spelling. */
export function readScalar(value: unknown, source: string | undefined, isText: boolean): Json {
  if (typeof value === 'boolean' && isText && source !== undefined && source !== String(value)) return source;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (value === null || value === undefined) return null;
  return source ?? (typeof value === 'number' ? String(value) : null);
}
