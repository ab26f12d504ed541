// What a scalar of YAML is in a manifest: numbers and most of what stands in config stay the text that is written.
import type { Json } from '../../core/documents/document.ts';

/** Maps whose values are texts, whatever they look like, and how many levels of maps down those stand. */
const textMaps: Readonly<Record<string, number>> = { config: 1, devices: 2, environment: 1, properties: 1 };

/** For the value of a key. What is below a text (a seed of cloud-init as a map) is read as any YAML. */
export function below(texts: number | undefined, key: string): number | undefined {
  if (texts !== undefined) return texts - 1;
  return Object.hasOwn(textMaps, key) ? textMaps[key] : undefined;
}

/** Numbers stay the text they are written as: `0660` and `1.10` mean what they show. */
export function readScalar(value: unknown, source: string | undefined, isText: boolean): Json {
  if (typeof value === 'boolean' && isText && source !== undefined && source !== String(value)) return source;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (value === null || value === undefined) return null;
  return source ?? (typeof value === 'number' ? String(value) : null);
}
