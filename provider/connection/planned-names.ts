// The new names that this process planned for objects of one server and project, since Terraform plans each object by itself.
import type { Value } from '../framework/value.ts';
import type { Link } from './link.ts';

const plannedNames = new WeakMap<Link, Map<string, string>>();

/** An object by its type, the objects that have it, and its name. */
export interface Named {
  readonly typeName: string;
  readonly within: readonly Value[];
  readonly name: string;
}

const keyOf = ({ typeName, within, name }: Named): string => JSON.stringify([typeName, ...within, name]);

/** The name that the object gets by this apply; undefined: it keeps its name, or its plan comes later. */
export const plannedName = (link: Link, object: Named): string | undefined =>
  plannedNames.get(link)?.get(keyOf(object));

/** Returns the former names of the objects that wait for each other's names and for that of this one; empty: none do. */
export function notePlannedName(link: Link, object: Named, name: string): readonly string[] {
  const names = plannedNames.get(link) ?? new Map<string, string>();
  plannedNames.set(link, names.set(keyOf(object), name));
  const found: string[] = [];
  for (let next: string | undefined = name; next !== undefined && !found.includes(next);) {
    if (next === object.name) return found;
    found.push(next);
    next = plannedName(link, { ...object, name: next });
  }
  return [];
}
