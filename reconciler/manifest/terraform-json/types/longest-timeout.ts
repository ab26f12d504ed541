// The `timeouts` of a resource as `manage.timeout`: documents have one limit for each step, so the longest applies.
import type { JsonObject } from '../../../core/documents/document.ts';
import { isMap } from '../../../core/documents/json-values.ts';
import { isSet, wordOf, type Arguments } from './resource-type.ts';

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

export function longestTimeout(args: Arguments): JsonObject {
  const written = isMap(args['timeouts']) ? Object.values(args['timeouts']).filter(isSet).map(wordOf) : [];
  const lengthOf = (text: string): number => {
    const [, count, unit = ''] = /^([0-9]+)(ms|s|m|h)$/.exec(text) ?? [];
    return Number(count) * (units[unit] ?? Number.NaN);
  };
  const [first] = written.toSorted((a, b) => lengthOf(b) - lengthOf(a));
  return first === undefined ? {} : { timeout: first };
}
