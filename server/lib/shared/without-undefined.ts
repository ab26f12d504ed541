// Leaves members out instead of giving them the value undefined.

type WithoutUndefined<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

/** The members that have a value. */
export const withoutUndefined = <T extends object>(members: T): WithoutUndefined<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as WithoutUndefined<T>;
