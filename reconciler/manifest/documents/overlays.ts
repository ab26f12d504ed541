// Merges documents with `patch: true` into those they name: maps are merged key by key, other values replaced, `null` removes a key.
// Diagnostics name the document that wrote the value.
import { hint } from '../../../server/api/text/nearest-word.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { asText, isMap } from '../../core/documents/json-values.ts';
import { scopedName } from '../../core/text/scoped-name.ts';
import { wrong, type Finding } from '../text/finding.ts';
import type { PlacedText } from '../text/locate-diagnostics.ts';
import type { RawDocument } from '../text/parse-yaml.ts';

export interface Part {
  readonly source: PlacedText;
  readonly raw: RawDocument;
  /** The overlays that were merged, in order. */
  readonly overlays?: readonly Part[];
}

export interface Overlaid {
  readonly parts: readonly Part[];
  readonly problems: readonly { readonly part: Part; readonly finding: Finding }[];
}

const isPatch = ({ raw }: Part): boolean => isMap(raw.value) && raw.value['patch'] === true;

/** Merges overlays in the order in which they were read; the base may come before or after them. Overlays of `elsewhere` are left out. */
export function applyOverlays(parts: readonly Part[], elsewhere: readonly Part[] = []): Overlaid {
  const patches = parts.filter(isPatch);
  if (patches.length === 0) return { parts, problems: [] };
  const result = parts.filter((part) => !isPatch(part));
  const problems: { part: Part; finding: Finding }[] = [];
  for (const patch of patches) {
    const key = keyOf(patch.raw.value);
    const at = result.findIndex(({ raw }) => key !== undefined && keyOf(raw.value) === key);
    const base = result[at];
    if (base === undefined && key !== undefined && elsewhere.some(({ raw }) => keyOf(raw.value) === key)) continue;
    if (base === undefined) problems.push({ part: patch, finding: noBase(key, result) });
    else if (directiveOf(patch.raw.value) === 'delete') result.splice(at, 1);
    else result[at] = overlaid(base, patch);
  }
  return { parts: result, problems };
}

/** Kind and name as they are written: `profile web`. */
function keyOf(value: Json): string | undefined {
  if (!isMap(value)) return undefined;
  const { kind, name, pool, project } = value;
  if (typeof kind !== 'string') return undefined;
  const own = kind === 'server_config' ? 'server' : name;
  if (typeof own !== 'string') return undefined;
  const path = kind === 'storage_volume' && typeof pool === 'string' ? `${kind}/${pool}/${own}` : `${kind}/${own}`;
  return scopedName(path, typeof project === 'string' ? project : undefined);
}

function noBase(key: string | undefined, parts: readonly Part[]): Finding {
  if (key === undefined) return wrong('bad-overlay', 'patch', 'an overlay must say kind and name of what it changes');
  const known = parts.flatMap(({ raw }) => keyOf(raw.value) ?? []);
  return wrong(
    'bad-overlay',
    'name',
    `there is no ${key} to lay this over${hint(key, known)}`,
    'correct the name, or leave patch out',
  );
}

function overlaid(base: Part, patch: Part): Part {
  const { patch: _patch, ...changes } = patch.raw.value as JsonObject;
  const value = mergedMaps(base.raw.value as JsonObject, changes);
  return { ...base, raw: { ...base.raw, value }, overlays: [...(base.overlays ?? []), patch] };
}

function mergedMaps(base: JsonObject, changes: JsonObject): JsonObject {
  const { $patch, ...written } = changes;
  if ($patch === 'replace') return withoutNulls(written) as JsonObject;
  const out = new Map(Object.entries(base));
  for (const [key, change] of Object.entries({ ...written, ...unknownDirective($patch) })) {
    const before = out.get(key);
    if (change === null || directiveOf(change) === 'delete') out.delete(key);
    else if (isMap(before) && isMap(change)) out.set(key, mergedMaps(before, change));
    else out.set(key, mergedLists(key, before, change) ?? withoutNulls(change));
  }
  return Object.fromEntries(out);
}

/** `$patch: delete` removes a document, a map or an entry; `$patch: replace` replaces the old value as a whole. */
const directiveOf = (value: Json): Json | undefined => (isMap(value) ? value['$patch'] : undefined);

/** Reported as an unknown key when the document is read. */
const unknownDirective = ($patch: Json | undefined): JsonObject =>
  $patch === undefined || $patch === 'merge' ? {} : { $patch };

/** Lists with named entries, and the key that holds the name. */
const listKeys: Readonly<Record<string, string>> = { files: 'path', exec: 'name', snapshots: 'name' };

/** Merges lists entry by entry. Undefined for a list without named entries, which is replaced. */
function mergedLists(field: string, before: Json | undefined, change: Json): Json | undefined {
  const key = listKeys[field];
  if (key === undefined || !isNamedList(before, key) || !isNamedList(change, key)) return undefined;
  const out = new Map(before.map((item) => [asText(item[key]), item]));
  for (const item of change) {
    const name = asText(item[key]);
    if (directiveOf(item) === 'delete') out.delete(name);
    else out.set(name, mergedMaps(out.get(name) ?? {}, item));
  }
  return [...out.values()];
}

const isNamedList = (value: Json | undefined, key: string): value is readonly JsonObject[] =>
  Array.isArray(value) && (value as readonly Json[]).every((item) => isMap(item) && asText(item[key]) !== '');

/** Removing a key that does not exist is an error. */
const withoutNulls = (value: Json): Json =>
  isMap(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([key, item]) => (item === null ? [] : [[key, withoutNulls(item)] as const])),
      )
    : value;

/** The document that wrote the value at the path: the last overlay that has it, otherwise the base. */
export function writerOf(part: Part, path: string): Part {
  const writer = (part.overlays ?? []).findLast(({ raw }) => holds(raw.value, path));
  return writer ?? part;
}

/** Keys may contain dots: the longest matching key wins. */
function holds(value: Json, path: string): boolean {
  if (path === '') return false;
  if (!isMap(value)) return false;
  const key = Object.keys(value)
    .filter((each) => path === each || path.startsWith(`${each}.`))
    .reduce((best, each) => (each.length > best.length ? each : best), '');
  if (key === '') return false;
  const inner = value[key];
  return path.length === key.length || !isMap(inner) || holds(inner, path.slice(key.length + 1));
}
