// Validates configurations by their attributes: what is missing, checks of known values, and write-only values on Terraform versions that would store them.
import type { Attribute, Attributes } from './attribute.ts';
import { failure, type Diagnostic } from './diagnostic.ts';
import { renderPath, type Path, type PathStep } from './path.ts';
import { isList, isMap, isUnknown, isWhollyKnown, type Value, type ValueMap } from './value.ts';

export interface ValidateFacts {
  /** True for Terraform 1.11 and later; older versions would store the value. */
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
    const place = [...path, { attribute: name }];
    if (attribute === undefined) continue;
    if (isMissing(attribute, value)) found.push(missing(place));
    else if (value !== null) found.push(...visit(attribute, value, place, facts));
  }
  return found;
}

function visit(attribute: Attribute<unknown>, value: Value, path: Path, facts: ValidateFacts): Diagnostic[] {
  if (attribute.writeOnly === true && !facts.writeOnlyAllowed) {
    const detail =
      'It is never stored, which needs Terraform 1.11 or OpenTofu 1.11 or newer; leave it out with this version.';
    return [failure(`This version of Terraform does not support ${renderPath(path)}`, detail, path)];
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

/** Terraform refuses a required argument that is left out, and accepts one that is null. Checks have words of their own for empty texts. */
const isMissing = ({ required, check }: Attribute<unknown>, value: Value): boolean =>
  required === true && (value === null || (value === '' && check === undefined));

const missing = (path: Path): Diagnostic =>
  failure(`${renderPath(path)} is missing`, `${renderPath(path)} is required: it must not be null or empty.`, path);

/** A check gets only wholly known values, except maps, whose known entries it gets. */
function checked({ check }: Attribute<unknown>, value: Value, path: Path): Diagnostic[] {
  if (check === undefined) return [];
  const whole = isWhollyKnown(value) ? value : isMap(value) ? knownEntries(value) : undefined;
  if (whole === undefined) return [];
  const result = check(whole);
  if (result === undefined) return [];
  const name = renderPath(path);
  if (typeof result === 'string') {
    // The message omits the value, which may come from a sensitive variable; Terraform shows the line itself.
    return [failure(`Invalid value of ${name}`, `${name} ${result}.`, path)];
  }
  return result.map((problem) => wrongValue([...path, ...problem.path], problem.message));
}

/** Most messages of the API have a subject of their own; the path is that of the others. */
export function wrongValue(path: Path, message: string): Diagnostic {
  const name = renderPath(path);
  const lacksSubject = /^(is|must|cannot be|has|sets|needs|names|contradicts) /.test(message);
  const sentence = lacksSubject ? `${name} ${message}` : message;
  return failure(`Invalid value of ${name}`, sentence.replace(/\.?$/, '.'), path);
}

const knownEntries = (value: ValueMap): ValueMap =>
  Object.fromEntries(Object.entries(value).filter(([, item]) => isWhollyKnown(item)));

function nullEntry(path: Path): Diagnostic {
  const name = renderPath(path);
  const detail = `${name} must not be null. Leave the entry out, for example with a for expression and if.`;
  return failure(`Invalid value of ${name}`, detail, path);
}

/** Finds null entries of lists and maps, which Terraform accepts. A null member of an object is legal: it was left out. */
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
