// The facts of the provider's schema about one type, as the evaluation needs them.
import type { ReferableType } from '../evaluation/instance.ts';
import { unknown, type Value } from '../expression/values.ts';
import { dataSources, resources, type TypeRow } from './provider-schema.ts';

type Facts = Required<Pick<ReferableType, 'arguments' | 'shapes' | 'filled' | 'computed'>>;

const later = (): Value => unknown;
const ownName = (values: Readonly<Record<string, Value>>): Value => values['name'] ?? unknown;
const wordsOf = (text: string): readonly string[] => text.split(' ').filter((word) => word !== '');

const factsOf = ({ shapes, filled, computed }: TypeRow): Facts => ({
  arguments: new Set(Object.keys(shapes)),
  shapes,
  filled: new Set(wordsOf(filled)),
  computed: Object.fromEntries(wordsOf(computed).map((name) => [name, later] as const)),
});

const none: TypeRow = { shapes: {}, filled: '', computed: '' };

/** A reference to the id of a resource is one to its name. */
export function resourceFacts(typeName: string): Facts {
  const facts = factsOf(resources[typeName] ?? none);
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
