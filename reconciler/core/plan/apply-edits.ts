// Applies the edits of a step to a live object: the body of a PUT, which keeps all unmanaged members.
import type { KindName } from '../../../server/api/kinds.ts';
import type { Change } from '../documents/change.ts';
import { comparedKey } from '../documents/compared-key.ts';
import type { Json, JsonObject } from '../documents/document.ts';
import { sameText } from '../../../server/api/text/equality.ts';
import { coreKind } from '../kinds/index.ts';
import { isMap, valueOf } from '../documents/json-values.ts';
import type { UpdateStep } from './plan.ts';

/** The whole body of the PUT: the live object with the edits. */
export function putBody(kind: KindName, live: object, edits: readonly Change[]): JsonObject {
  const edited = applyEdits(live as JsonObject, edits);
  const body: Record<string, Json> = {};
  for (const field of coreKind(kind).putFields) {
    const value = edited[field];
    if (value !== undefined) body[field] = value;
  }
  return body;
}

/** A copy with the edits; parts without edits are shared, not copied. */
export function applyEdits(live: JsonObject, edits: readonly Change[]): JsonObject {
  return edits.reduce((object, edit) => withValue(object, edit.segments, edit.after), live);
}

function withValue(object: JsonObject, segments: readonly string[], value: Json | undefined): JsonObject {
  const [key = '', ...rest] = segments;
  const before = valueOf(object, key);
  const { [key]: _replaced, ...others } = object;
  if (rest.length === 0) return value === undefined ? others : { ...others, [key]: value };
  return { ...others, [key]: withValue(isMap(before) ? before : {}, rest, value) };
}

export function valueAt(object: JsonObject, segments: readonly string[]): Json | undefined {
  let value: Json | undefined = object;
  for (const segment of segments) value = isMap(value) ? valueOf(value, segment) : undefined;
  return value;
}

/** True when a value that the step edits equals neither the value in the plan nor the desired value. */
export const isStale = (live: object, step: UpdateStep): boolean => stalePaths(live, step).length > 0;

export function stalePaths(live: object, step: UpdateStep): readonly string[] {
  const stale = step.edits.filter((edit) => {
    const now = valueAt(live as JsonObject, edit.segments);
    const key = comparedKey(edit.segments);
    return !sameValue(key, now, edit.before) && !sameValue(key, now, edit.after);
  });
  return stale.map(({ path }) => path);
}

/** An absent key and an empty text are the same to the server. */
const emptyIsAbsent = (value: Json | undefined): Json | undefined =>
  value === '' || value === null ? undefined : value;

function sameValue(key: string, left: Json | undefined, right: Json | undefined): boolean {
  const a = emptyIsAbsent(left);
  const b = emptyIsAbsent(right);
  if (typeof a === 'string' && typeof b === 'string') return sameText(key, a, b);
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  if (Array.isArray(a) || Array.isArray(b)) return JSON.stringify(a) === JSON.stringify(b);
  const [x, y] = [a as JsonObject, b as JsonObject];
  const keys = new Set([...Object.keys(x), ...Object.keys(y)]);
  return [...keys].every((name) => sameValue(name, valueOf(x, name), valueOf(y, name)));
}
