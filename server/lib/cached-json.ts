// Caches the JSON of immutable objects and lists. Joins a list from the texts of its members.

/** The derived data of each kept value; undefined until the first use. Released together with the value. */
const known = new WeakMap<object, string | Buffer | undefined>();

/** Freezes the value (its members must not change either) and lets `jsonOf` cache its JSON as long as it is referenced. */
export function keepJson<T extends object>(value: T): T {
  Object.freeze(value);
  if (!known.has(value)) known.set(value, undefined);
  return value;
}

/** The same text as JSON.stringify, and `null` for a value without JSON, such as undefined. Kept lists, which are long, are UTF-8 bytes:
 *  sent without being copied or measured again. */
export function jsonOf(value: unknown): string | Buffer {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (!known.has(value)) return JSON.stringify(value);
  let json = known.get(value);
  if (json === undefined) {
    json = Array.isArray(value) ? Buffer.from(`[${value.map(jsonOf).join(',')}]`) : JSON.stringify(value);
    known.set(value, json);
  }
  return json;
}

/** Also caches the derivation's result for a kept value; for other values it is called each time. */
export function keepDerived<T extends object, D extends object>(derive: (value: T) => D): (value: T) => D {
  const derived = new WeakMap<T, D>();
  return (value) => {
    if (!known.has(value)) return derive(value);
    let result = derived.get(value);
    if (result === undefined) {
      result = keepJson(derive(value));
      derived.set(value, result);
    }
    return result;
  };
}
