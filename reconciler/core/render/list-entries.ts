// Shows the changed entries of a long list, such as rules of a network ACL, which would not fit in one line. Pure.
import type { Json, JsonObject } from '../documents/document.ts';
import { isMap } from '../documents/json-values.ts';
import { compareText } from '../text/listing-order.ts';

export interface ListEntries {
  /** Removed and added entries, in their order. */
  readonly gone: readonly string[];
  readonly come: readonly string[];
}

const entriesOf = (list: Json | undefined): readonly JsonObject[] | undefined =>
  list === undefined
    ? []
    : Array.isArray(list) && (list as readonly Json[]).every((entry) => isMap(entry))
      ? (list as readonly JsonObject[])
      : undefined;

/** The same text for members in another order. */
const idOf = (entry: JsonObject): string =>
  JSON.stringify(Object.entries(entry).toSorted(([a], [b]) => compareText(a, b)));

/** Undefined: not lists of objects, or only their order differs. */
export function changedEntries(before: Json | undefined, after: Json | undefined): ListEntries | undefined {
  const [old, next] = [entriesOf(before), entriesOf(after)];
  if (old === undefined || next === undefined) return undefined;
  const [oldIds, nextIds] = [new Set(old.map(idOf)), new Set(next.map(idOf))];
  const gone = old.filter((entry) => !nextIds.has(idOf(entry))).map((entry) => JSON.stringify(entry));
  const come = next.filter((entry) => !oldIds.has(idOf(entry))).map((entry) => JSON.stringify(entry));
  return gone.length + come.length === 0 ? undefined : { gone, come };
}
