// The facts of the provider's schema about one type, as the evaluation needs them.
import { membersOf, wordsOf } from '../evaluation/argument-shapes.ts';
import type { ReferableType } from '../evaluation/instance.ts';
import { unknown, type Value } from '../expression/values.ts';
import { common, dataSources, resources, type TypeRow } from './provider-schema.ts';

type Facts = Required<Pick<ReferableType, 'arguments' | 'shapes' | 'filled' | 'computed'>>;

const later = (): Value => unknown;
const ownName = (values: Readonly<Record<string, Value>>): Value => values['name'] ?? unknown;

function factsOf(row: TypeRow): Facts {
  const shapes = membersOf(row.arguments);
  return {
    arguments: new Set(Object.keys(shapes)),
    shapes,
    filled: new Set(wordsOf(row.filled)),
    computed: Object.fromEntries(wordsOf(row.computed).map((name) => [name, later] as const)),
  };
}

const none: TypeRow = { arguments: {}, filled: '', computed: '' };

/** A reference to the id of a resource is one to its name. */
export function resourceFacts(typeName: string): Facts {
  const { arguments: own, ...row } = resources[typeName] ?? none;
  const facts = factsOf({ ...row, arguments: { ...own, object: { ...own.object, ...common } } });
  return { ...facts, computed: { id: ownName, ...facts.computed } };
}

export const computedOf = (...names: readonly string[]): ReferableType['computed'] => ({
  id: ownName,
  ...Object.fromEntries(names.map((name) => [name, later] as const)),
});

const dataTypes: Readonly<Record<string, ReferableType>> = Object.fromEntries(
  Object.entries(dataSources).map(([name, row]) => {
    const { filled: _filled, ...facts } = factsOf(row);
    return [name, facts] as const;
  }),
);
export const dataTypeOf = (name: string): ReferableType | undefined =>
  Object.hasOwn(dataTypes, name) ? dataTypes[name] : undefined;
export const dataTypeNames: readonly string[] = Object.keys(dataTypes);
