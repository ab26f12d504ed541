// The values of Terraform: known, null or not yet known; and their comparison. Knows no encoding.

/** A value that is known only after apply. A separate member of the union, distinct from null and from any text. */
class UnknownValue {
  readonly #kind = 'unknown';
  toJSON(): string {
    return `(${this.#kind})`;
  }
}
export type Unknown = UnknownValue;
export const unknownValue: Unknown = new UnknownValue();

/** Numbers: safe integers and floats as number, larger integers as bigint, other decimals as the text they came in. */
export type Value = Unknown | null | string | number | bigint | boolean | readonly Value[] | ValueMap;
export interface ValueMap {
  readonly [name: string]: Value;
}

/** The values that a plan may have where the state has a `T`. */
export type Planned<T> =
  | Unknown
  | (T extends string | number | bigint | boolean | null
      ? T
      : T extends readonly (infer Item)[]
        ? readonly Planned<Item>[]
        : T extends object
          ? { readonly [Key in keyof T]: Planned<T[Key]> }
          : never);

export const isUnknown = (value: unknown): value is Unknown => value instanceof UnknownValue;

export const isMap = (value: Value | undefined): value is ValueMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isUnknown(value);

export const isList = (value: Value | undefined): value is readonly Value[] => Array.isArray(value);

/** True when no part of it is unknown. */
export function isWhollyKnown(value: Value): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (isUnknown(value)) return false;
  if (isList(value)) return value.every(isWhollyKnown);
  for (const key in value) if (!isWhollyKnown(value[key] ?? null)) return false;
  return true;
}

/** Replaces every unknown part by null. */
export function knownPart(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  if (isUnknown(value)) return null;
  if (isList(value)) return value.map(knownPart);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, knownPart(item)]));
}

export function equalValues(a: Value, b: Value): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object') return isNumeric(a) && isNumeric(b) && String(a) === String(b);
  if (a === null || b === null || isUnknown(a) || isUnknown(b)) return false;
  if (isList(a))
    return isList(b) && a.length === b.length && a.every((item, index) => equalValues(item, b[index] ?? null));
  if (isList(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equalValues(a[key] ?? null, b[key] ?? null))
  );
}

const isNumeric = (value: Value): value is number | bigint => typeof value === 'number' || typeof value === 'bigint';
