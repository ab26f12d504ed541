// The paths that a document owns: those that it writes, without ignored ones and those that apply at creation only.
import type { Document, Json, JsonObject } from '../documents/document.ts';
import { isIgnored, type IgnorePatterns } from '../ownership/ignored-paths.ts';
import { pathText, snapshotFields, snapshotsIn } from '../documents/inside.ts';
import { coreKind } from '../kinds/index.ts';
import type { CoreKind } from '../kinds/kind.ts';
import { isMap } from '../documents/json-values.ts';
import { compareText } from '../text/listing-order.ts';
import type { Path } from '../ownership/owner-records.ts';

/** Sorted. A value of null owns the absence of its key or device: another set's key there is a conflict. */
export function ownedPaths(document: Document, ignore: IgnorePatterns): readonly Path[] {
  const kind = coreKind(document.kind);
  const paths: Path[] = [];
  const add = (path: Path): void => {
    const isLeftOut = ignore.length > 0 && isIgnored(ignore, pathText(path));
    if (!isLeftOut && kind.isProvenance?.(path) !== true) paths.push(path);
  };
  for (const field of fieldsOf(kind)) {
    const value = document.values[field];
    if (value !== undefined && value !== null) addField(kind, field, value, add);
  }
  addSnapshots(document.values, add);
  return paths;
}

const sortedFields = new WeakMap<CoreKind, readonly string[]>();

function fieldsOf(kind: CoreKind): readonly string[] {
  let fields = sortedFields.get(kind);
  if (fields === undefined) sortedFields.set(kind, (fields = Object.keys(kind.fields).sort(compareText)));
  return fields;
}

/** Any set may require the snapshot; only its owner may set its attributes. */
function addSnapshots(values: JsonObject, add: (path: Path) => void): void {
  for (const [name, spec] of [...snapshotsIn(values)].sort(([a], [b]) => compareText(a, b)))
    for (const key of snapshotFields) if (spec[key] !== undefined) add(['snapshots', name, key]);
}

function addField(kind: CoreKind, field: string, value: Json, add: (path: Path) => void): void {
  const shape = kind.fields[field];
  if (shape === 'scalar' || shape === 'list') add([field]);
  else if (shape === 'files') addKeys([field], value as JsonObject, add);
  else if (shape === 'map') addKeys([field], value as JsonObject, add);
  else if (isMap(value)) {
    for (const name of Object.keys(value).sort(compareText)) {
      const device = value[name];
      if (isMap(device)) addKeys([field, name], device, add);
      else add([field, name]);
    }
  }
}

function addKeys(above: Path, map: JsonObject, add: (path: Path) => void): void {
  for (const key of Object.keys(map).sort(compareText)) add([...above, key]);
}
