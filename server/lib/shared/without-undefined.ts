// Leaves members out instead of giving them the value undefined.

type WithoutUndefined<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

/** The members that have a value. */
export function withoutUndefined<T extends object>(members: T): WithoutUndefined<T> {
  const present: Partial<T> = {};
  for (const name in members) {
    if (members[name] !== undefined) present[name] = members[name];
  }
  return present as WithoutUndefined<T>;
}
