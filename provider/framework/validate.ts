// Judges configurations by what their attributes say: checks of known values, and write-only values for those who keep them.
import type { Attribute, Attributes } from './attribute.ts';
import { failure, type Diagnostic } from './diagnostic.ts';
import { renderPath, type Path, type PathStep } from './path.ts';
import { isList, isMap, isUnknown, isWhollyKnown, type Value, type ValueMap } from './value.ts';

export interface ValidateFacts {
  /** Terraform 1.11 and later; older ones would store the value. */
  readonly writeOnlyAllowed: boolean;
}

export function validateAttributes(attributes: Attributes, config: ValueMap, facts: ValidateFacts): Diagnostic[] {
  return visitObject(attributes, config, [], facts);
}

function visitObject(attributes: Attributes, config: ValueMap, path: Path, facts: ValidateFacts): Diagnostic[] {
  const found: Diagnostic[] = [];
  for (const name in attributes) {
    const attribute = attributes[name];
    const value = config[name] ?? null;
    if (attribute === undefined || value === null) continue;
    found.push(...visit(attribute, value, [...path, { attribute: name }], facts));
  }
  return found;
}

function visit(attribute: Attribute<unknown>, value: Value, path: Path, facts: ValidateFacts): Diagnostic[] {
  if (attribute.writeOnly === true && !facts.writeOnlyAllowed) {
    const detail =
      'It is never stored, which takes Terraform 1.11 or OpenTofu 1.11 or newer; leave it out with this version.';
    return [failure(`${renderPath(path)} cannot be given to this version of Terraform`, detail, path)];
  }
  if (isUnknown(value)) return [];
  if (attribute.type === 'number' && !Number.isSafeInteger(value)) {
    const detail = `${renderPath(path)} must be a whole number of at most 2^53.`;
    return [failure(`Invalid value of ${renderPath(path)}`, detail, path)];
  }
  const nulls = attribute.nested?.nesting === 'single' ? [] : nullsIn(value, attribute.nested === undefined);
  if (nulls.length > 0) return nulls.map((steps) => nullEntry([...path, ...steps]));
  const inside = items(attribute, value).flatMap(([step, item]) =>
    isMap(item) ? visitObject(attribute.nested?.attributes ?? {}, item, [...path, ...step], facts) : [],
  );
  return inside.length > 0 ? inside : checked(attribute, value, path);
}

/** A check sees whole values only, except maps, whose known entries are worth a look by themselves. */
function checked({ check }: Attribute<unknown>, value: Value, path: Path): Diagnostic[] {
  if (check === undefined) return [];
  const whole = isWhollyKnown(value) ? value : isMap(value) ? knownEntries(value) : undefined;
  if (whole === undefined) return [];
  const result = check(whole);
  if (result === undefined) return [];
  const name = renderPath(path);
  if (typeof result === 'string') {
    // The value may come from a variable that is sensitive; Terraform shows the line with what it may show of it.
    return [failure(`Invalid value of ${name}`, `${name} ${result}.`, path)];
  }
  return result.map((problem) => {
    const full = [...path, ...problem.path];
    return failure(`Invalid value of ${renderPath(full)}`, `${renderPath(full)} ${problem.message}.`, full);
  });
}

const knownEntries = (value: ValueMap): ValueMap =>
  Object.fromEntries(Object.entries(value).filter(([, item]) => isWhollyKnown(item)));

function nullEntry(path: Path): Diagnostic {
  const name = renderPath(path);
  const detail = `${name} must not be null. Leave the entry out; a for expression with if can do that.`;
  return failure(`Invalid value of ${name}`, detail, path);
}

/** Where entries of lists and maps are null, which Terraform lets through. What objects leave out is null by right. */
function nullsIn(value: Value, isDeep: boolean): readonly Path[] {
  const entries: readonly (readonly [PathStep, Value])[] = isList(value)
    ? value.map((item, index) => [{ index }, item] as const)
    : Object.entries(isMap(value) ? value : {}).map(([key, item]) => [{ key }, item] as const);
  return entries.flatMap(([step, item]): readonly Path[] => {
    if (item === null) return [[step]];
    return isDeep ? nullsIn(item, true).map((rest) => [step, ...rest]) : [];
  });
}

function items({ nested }: Attribute<unknown>, value: Value): readonly (readonly [readonly PathStep[], Value])[] {
  if (nested === undefined) return [];
  if (nested.nesting === 'single') return [[[], value]];
  if (isList(value)) return value.map((item, index) => [[{ index }], item]);
  return isMap(value) ? Object.entries(value).map(([key, item]) => [[{ key }], item]) : [];
}
