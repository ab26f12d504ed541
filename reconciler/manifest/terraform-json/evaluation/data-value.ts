// The answer of a data source with the types of the provider's schema. Messages between threads carry plain lists and maps only. Pure.
import { isList, isMap, mapFrom, uniform, type Value, type ValueMap } from '../expression/values.ts';

/** Every list is one of Terraform, and so is every map that is an attribute; their elements are objects. */
export const typedAnswer = (answer: ValueMap): ValueMap => members(answer, attribute);

function attribute(value: Value, name: string): Value {
  if (!isMap(value)) return inside(value);
  return uniform(members(value, (item) => (holdsMaps.test(name) && isMap(item) ? uniform(item) : inside(item))));
}

/** Attributes whose elements are maps of texts. */
const holdsMaps = /^(?:expanded_)?devices$/;

function inside(value: Value): Value {
  if (isList(value)) return uniform(value.map(inside));
  return isMap(value) ? members(value, inside) : value;
}

const members = (map: ValueMap, change: (value: Value, name: string) => Value): ValueMap =>
  mapFrom(Object.entries(map).map(([name, value]) => [name, change(value, name)] as const));
