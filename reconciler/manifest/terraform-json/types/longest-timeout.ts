// The `timeouts` of a resource as `manage.timeout`: documents have one limit for each step, so the longest applies.
import { durationMs } from '../../../../server/api/text/durations.ts';
import type { JsonObject } from '../../../core/documents/document.ts';
import { isMap } from '../../../core/documents/json-values.ts';
import { isSet, wordOf, type Arguments } from './resource-type.ts';

export function longestTimeout(args: Arguments): JsonObject {
  const written = isMap(args['timeouts']) ? Object.values(args['timeouts']).filter(isSet).map(wordOf) : [];
  const lengthOf = (text: string): number => durationMs(text) ?? Number.NaN;
  const [first] = written.toSorted((a, b) => lengthOf(b) - lengthOf(a));
  return first === undefined ? {} : { timeout: first };
}
