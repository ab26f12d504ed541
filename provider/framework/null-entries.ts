// Handles null entries of maps: Terraform keeps them as values, resources never see them, and they count as no difference. Pure.
import type { Attributes } from './attribute.ts';
import type { Type } from './type.ts';
import { equalValues, isList, isMap, type Value, type ValueMap } from './value.ts';

/** Removes null entries of maps. Returns the same object when there are none. */
export function withoutNullEntries(attributes: Attributes, values: ValueMap): ValueMap {
  return eachMember(attributes, values, (type, value) => stripped(type, value));
}

/** Adds to a value from a resource the null entries of `before` that it lacks. */
export function withNullEntries(attributes: Attributes, values: ValueMap, before: ValueMap): ValueMap {
  return eachMember(attributes, values, (type, value, name) => restored(type, value, before[name] ?? null));
}

/** Turns a plan without null entries into one that Terraform accepts: each attribute equals the state or the configuration. */
export function plannedNullEntries(
  attributes: Attributes,
  planned: ValueMap,
  { config, prior }: { readonly config: ValueMap; readonly prior: ValueMap | null },
): ValueMap {
  return eachMember(attributes, planned, (type, value, name) =>
    chosen(type, value, prior?.[name] ?? null, config[name] ?? null),
  );
}

function eachMember(
  attributes: Attributes,
  values: ValueMap,
  change: (type: Type, value: Value, name: string) => Value,
): ValueMap {
  let changed: Record<string, Value> | undefined;
  for (const name in attributes) {
    const type = attributes[name]?.type;
    const value = values[name] ?? null;
    if (type === undefined || typeof type === 'string' || typeof value !== 'object' || value === null) continue;
    const next = change(type, value, name);
    if (next !== value) (changed ??= { ...values })[name] = next;
  }
  return changed ?? values;
}

function stripped(type: Type, value: Value): Value {
  if (typeof type === 'string') return value;
  if (type.kind === 'map') {
    if (!isMap(value)) return value;
    const kept = Object.values(value).includes(null)
      ? Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null))
      : value;
    return eachItem(kept, (item) => stripped(type.item, item));
  }
  return inside(type, value, (inner, item) => stripped(inner, item));
}

function restored(type: Type, value: Value, before: Value): Value {
  if (typeof type === 'string' || value === before) return value;
  if (type.kind === 'map') {
    if (!isMap(value) || !isMap(before)) return value;
    const same = eachItem(value, (item, key) => restored(type.item, item, before[key] ?? null));
    const nulls = Object.entries(before).filter(([key, item]) => item === null && !Object.hasOwn(value, key));
    return nulls.length === 0 ? same : { ...same, ...Object.fromEntries(nulls) };
  }
  return inside(type, value, (inner, item, key) => restored(inner, item, itemOf(before, key)));
}

function chosen(type: Type, planned: Value, prior: Value, config: Value): Value {
  if (typeof type === 'string') return planned;
  if (equalValues(planned, stripped(type, prior))) return prior;
  if (type.kind === 'map' && (typeof type.item === 'string' || type.item.kind === 'map'))
    return restored(type, planned, config);
  if (type.kind !== 'map')
    return inside(type, planned, (inner, item, key) => chosen(inner, item, itemOf(prior, key), itemOf(config, key)));
  const each = isMap(planned)
    ? eachItem(planned, (item, key) => chosen(type.item, item, itemOf(prior, key), itemOf(config, key)))
    : planned;
  return isMap(each) ? restored(type, each, onlyNulls(config)) : each;
}

const onlyNulls = (value: Value): Value =>
  isMap(value) ? Object.fromEntries(Object.entries(value).filter(([, item]) => item === null)) : value;

const itemOf = (value: Value, key: string): Value =>
  isMap(value) && Object.hasOwn(value, key)
    ? (value[key] ?? null)
    : isList(value)
      ? (value[Number(key)] ?? null)
      : null;

/** The members of an object, or the items of a list. */
function inside(
  type: Exclude<Type, string>,
  value: Value,
  change: (type: Type, value: Value, key: string) => Value,
): Value {
  if (type.kind === 'object' && isMap(value)) {
    return eachItem(value, (item, key) =>
      type.members[key] === undefined ? item : change(type.members[key], item, key),
    );
  }
  if (type.kind !== 'list' || !isList(value)) return value;
  const items = value.map((item, index) => change(type.item, item, String(index)));
  return items.every((item, index) => item === value[index]) ? value : items;
}

/** The same object when no item changes. */
function eachItem(value: ValueMap, change: (item: Value, key: string) => Value): ValueMap {
  let changed: Record<string, Value> | undefined;
  for (const key in value) {
    const item = value[key] ?? null;
    const next = change(item, key);
    if (next !== item) (changed ??= { ...value })[key] = next;
  }
  return changed ?? value;
}
