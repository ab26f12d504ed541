// Plans one object: computes the planned state from configuration and prior state, and which changes replace the object. Pure.
import type { Attribute, Attributes, Nested } from './attribute.ts';
import type { Path } from './path.ts';
import {
  equalValues,
  isList,
  isMap,
  isUnknown,
  isWhollyKnown,
  unknownValue,
  type Value,
  type ValueMap,
} from './value.ts';

export interface PlannedChange {
  readonly planned: ValueMap;
  /** A configured value differs from the prior state, so computed values may change as well. */
  readonly differs: boolean;
  /** Paths whose change replaces the object. Empty for a creation. */
  readonly replace: readonly Path[];
}

/**
 * Takes configured values first, then defaults, and sets write-only values to null. When anything differs, computed values without
 * configuration become unknown, except those that an update keeps. It never rewrites a configured value: Terraform would refuse the plan.
 */
export function planChange(
  attributes: Attributes,
  config: ValueMap,
  prior: ValueMap | null,
  isImported = false,
): PlannedChange {
  const kept = wantedObject(attributes, config, prior, isImported);
  const differs = prior === null || !equalValues(kept, prior);
  // The update ends the import: from then on the state has what is configured.
  const wanted = differs && isImported ? wantedObject(asConfigured(attributes), config, prior) : kept;
  const planned = differs ? withUnknowns(attributes, config, wanted, prior) : wanted;
  return { planned, differs, replace: prior === null ? [] : replacing(attributes, planned, prior) };
}

/** The same attributes, none of which counts as fulfilled by another value than the configured one. */
const asConfigured = (attributes: Attributes): Attributes =>
  Object.fromEntries(Object.entries(attributes).map(([name, { fulfilled: _fulfilled, ...rest }]) => [name, rest]));

function wantedObject(attributes: Attributes, config: ValueMap, prior: ValueMap | null, isImported = false): ValueMap {
  const wanted: Record<string, Value> = {};
  for (const name in attributes) {
    const attribute = attributes[name];
    if (attribute !== undefined)
      wanted[name] = wantedValue(attribute, config[name] ?? null, prior?.[name] ?? null, { prior, isImported });
  }
  return wanted;
}

function wantedValue(
  attribute: Attribute<unknown>,
  config: Value,
  prior: Value,
  object: { readonly prior: ValueMap | null; readonly isImported: boolean },
): Value {
  if (attribute.writeOnly === true) return null;
  if (config === null) return attribute.default ?? (attribute.computed === true ? prior : null);
  if (isUnknown(config)) return config;
  if (isWhollyKnown(config)) {
    if (prior !== null && attribute.same?.(prior, config) === true) return prior;
    // The object counts as already having the configured value.
    const { prior: before, isImported } = object;
    if (before !== null && attribute.fulfilled?.(config, before, isImported) === true) return prior;
  }
  return attribute.nested === undefined
    ? config
    : eachObject(attribute.nested, config, prior, (item, before) =>
        wantedObject(attribute.nested?.attributes ?? {}, item, before),
      );
}

/** The objects of a nested attribute, each paired with the prior object at its position. */
function eachObject(
  nested: Nested,
  value: Value,
  prior: Value,
  change: (item: ValueMap, before: ValueMap | null, key: string) => ValueMap,
): Value {
  const changed = (item: Value, before: Value | undefined, key: string): Value =>
    isMap(item) ? change(item, isMap(before) ? before : null, key) : item;
  if (nested.nesting === 'single') return changed(value, prior, '');
  if (isList(value)) {
    const befores = isList(prior) ? prior : [];
    return value.map((item, index) => changed(item, befores[index], String(index)));
  }
  if (!isMap(value)) return value;
  const befores = isMap(prior) ? prior : {};
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      changed(item, Object.hasOwn(befores, key) ? befores[key] : undefined, key),
    ]),
  );
}

function withUnknowns(attributes: Attributes, config: ValueMap, wanted: ValueMap, prior: ValueMap | null): ValueMap {
  const planned: Record<string, Value> = { ...wanted };
  for (const name in attributes) {
    const attribute = attributes[name];
    if (attribute === undefined) continue;
    const given = config[name] ?? null;
    if (given !== null) planned[name] = nestedUnknowns(attribute, given, wanted[name] ?? null, prior?.[name] ?? null);
    else if (isFilledIn(attribute) && !keeps(attribute, prior?.[name])) planned[name] = unknownValue;
  }
  return planned;
}

const isFilledIn = (attribute: Attribute<unknown>): boolean =>
  attribute.computed === true && attribute.default === undefined;

const keeps = (attribute: Attribute<unknown>, prior: Value | undefined): boolean =>
  attribute.keep === true && prior !== undefined && prior !== null;

function nestedUnknowns(attribute: Attribute<unknown>, given: Value, wanted: Value, prior: Value): Value {
  const { nested } = attribute;
  if (nested === undefined || isUnknown(wanted)) return wanted;
  return eachObject(nested, wanted, prior, (item, before, key) => {
    // An unchanged object keeps its computed values.
    if (before !== null && equalValues(item, before)) return item;
    return withUnknowns(nested.attributes, givenObject(nested, given, key), item, before);
  });
}

function givenObject(nested: Nested, given: Value, key: string): ValueMap {
  const item =
    nested.nesting === 'single' ? given : isList(given) ? given[Number(key)] : isMap(given) ? given[key] : null;
  return isMap(item) ? item : {};
}

function replacing(attributes: Attributes, planned: ValueMap, prior: ValueMap): readonly Path[] {
  const paths: Path[] = [];
  for (const name in attributes) {
    const rule = attributes[name]?.replace;
    if (rule === undefined) continue;
    const [before, after] = [prior[name] ?? null, planned[name] ?? null];
    if (equalValues(before, after)) continue;
    if (rule === true || rule(before, after)) paths.push([{ attribute: name }]);
  }
  return paths;
}

/** The planned values, with every unknown filled in from `actual`: the state after a successful apply. */
export function fillUnknowns(planned: Value, actual: Value): Value {
  if (isUnknown(planned)) return actual;
  if (isMap(planned)) {
    const from = isMap(actual) ? actual : {};
    const settled = Object.entries(planned).map(([key, item]) => [key, fillUnknowns(item, from[key] ?? null)] as const);
    return Object.fromEntries(settled);
  }
  if (!isList(planned)) return planned;
  const from = isList(actual) ? actual : [];
  return planned.map((item, index) => fillUnknowns(item, from[index] ?? null));
}
