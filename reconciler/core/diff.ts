// Compares one document with its live object, key by key, and only the keys that are written.
import type { Effect } from '../../server/api/field.ts';
import type { Change } from './change.ts';
import type { Json, JsonObject } from './document.ts';
import { sameText } from '../../server/api/equal.ts';
import { isIgnored, type IgnorePatterns } from './ignore.ts';
import type { CoreKind } from './kinds/kind.ts';
import { asText, isMap, mapOf } from './kinds/values.ts';
import { compareText } from './order.ts';
import { isSecret } from './secret.ts';

export interface Diff {
  /** Sorted by path. */
  readonly changes: readonly Change[];
  /** Paths of the live object nobody wrote and the server did not make. */
  readonly unmanaged: readonly string[];
}

interface Walk {
  readonly kind: CoreKind;
  readonly live: JsonObject;
  readonly ignore: IgnorePatterns;
  readonly changes: Change[];
  readonly unmanaged: string[];
}

const nothing: Diff = { changes: [], unmanaged: [] };

export function diffObject(kind: CoreKind, desired: JsonObject, live: object, ignore: IgnorePatterns): Diff {
  const walk: Walk = { kind, live: live as JsonObject, ignore, changes: [], unmanaged: [] };
  for (const field in kind.fields) {
    const shape = kind.fields[field];
    const now = walk.live[field];
    const wanted = desired[field];
    if (shape === 'map') diffMap(walk, [field], mapOf(now), mapOf(wanted));
    else if (shape === 'devices') diffDevices(walk, field, mapOf(now), mapOf(wanted));
    else if (wanted === undefined) continue;
    else if (shape === 'list') diffList(walk, field, now, wanted);
    else diffScalar(walk, field, now, wanted);
  }
  if (walk.changes.length === 0 && walk.unmanaged.length === 0) return nothing;
  walk.changes.sort((a, b) => compareText(a.path, b.path));
  return walk;
}

function diffMap(walk: Walk, prefix: readonly string[], live: JsonObject, wanted: JsonObject): void {
  for (const key in wanted) {
    const value = wanted[key] ?? null;
    const now = live[key];
    const text = typeof now === 'string' && now !== '' ? now : undefined;
    if (value === null ? text === undefined : same(walk, key, text, asText(value))) continue;
    const segments = [...prefix, key];
    if (walk.kind.isProvenance?.(segments) !== true) add(walk, segments, text, value === null ? undefined : value);
  }
  for (const key in live) {
    if (key in wanted || live[key] === '') continue;
    const segments = [...prefix, key];
    if (!walk.kind.isComputed(segments)) walk.unmanaged.push(segments.join('.'));
  }
}

const same = (walk: Walk, key: string, live: string | undefined, wanted: string): boolean =>
  (live !== undefined && sameText(key, live, wanted)) || walk.kind.fulfils?.(key, live, wanted) === true;

function diffDevices(walk: Walk, field: string, live: JsonObject, wanted: JsonObject): void {
  for (const name in wanted) {
    const value = wanted[name];
    const now = live[name];
    if (!isMap(value)) {
      if (now !== undefined) add(walk, [field, name], now, undefined);
    } else if (!isMap(now)) add(walk, [field, name], undefined, presentOnly(value));
    else if (typeof value['type'] === 'string' && value['type'] !== now['type']) {
      // Properties of one type mean nothing to another: the device is replaced as a whole.
      add(walk, [field, name], now, presentOnly(value));
    } else diffMap(walk, [field, name], now, value);
  }
  for (const name in live) if (!(name in wanted)) walk.unmanaged.push(`${field}.${name}`);
}

const presentOnly = (device: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(device).filter(([, value]) => value !== null));

function diffList(walk: Walk, field: string, live: Json | undefined, wanted: Json): void {
  const now = Array.isArray(live) ? (live as readonly Json[]) : [];
  const then = Array.isArray(wanted) ? (wanted as readonly Json[]) : [];
  if (now.length !== then.length || now.some((item, index) => item !== then[index])) add(walk, [field], now, then);
}

function diffScalar(walk: Walk, field: string, live: Json | undefined, wanted: Json): void {
  const now = live ?? (typeof wanted === 'boolean' ? false : '');
  const then = wanted ?? (typeof now === 'boolean' ? false : '');
  if (now === then) return;
  if (typeof now === 'string' && typeof then === 'string' && same(walk, field, now, then)) return;
  add(walk, [field], now, then);
}

function add(walk: Walk, segments: readonly string[], before: Json | undefined, after: Json | undefined): void {
  const path = segments.join('.');
  if (isIgnored(walk.ignore, path)) return;
  const effect: Effect = walk.kind.effectOf(segments, walk.live, after);
  walk.changes.push({
    path,
    segments,
    before,
    after,
    effect,
    secret: isSecret(segments, before) || isSecret(segments, after),
  });
}
