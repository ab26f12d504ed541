// Quotes a value of a manifest in a message: short, on one line, and never a secret.
import { hidden, isSecret } from '../../core/documents/secret.ts';
import type { Json } from '../../core/documents/document.ts';

const longest = 60;

/** `"runing"`, `[profile]`, `{memory: 1GiB}`; values with a secret path are masked. */
export function shownValue(value: Json, path = ''): string {
  const last = path.slice(path.indexOf('.') + 1);
  if (isSecret(path.split('.', 1), undefined) || isSecret(['config', last], undefined)) return hidden;
  const text = inner(value, typeof value === 'string');
  return text.length > longest ? `${text.slice(0, longest - 3)}...` : text;
}

function inner(value: Json, isOutermost: boolean): string {
  if (typeof value === 'string') return isOutermost || !/^[\w./:-]+$/.test(value) ? JSON.stringify(value) : value;
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map((item) => inner(item, false)).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${key}: ${isSecret(['config', key], undefined) ? hidden : inner(item, false)}`)
    .join(', ')}}`;
}
