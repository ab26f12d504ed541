// The types of the provider for reading Terraform JSON: shapes of arguments, which of them have defaults, and attributes that are
// known after apply. A test writes the table into the reconciler, which never imports the provider. Pure.
import { presenceOf, type Attribute, type Attributes } from '../framework/attribute.ts';
import type { AnyProvider } from '../framework/provider.ts';
import { typeJson } from '../framework/type.ts';

type ShapeJson = string | Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export interface TypeRow {
  readonly shapes: Readonly<Record<string, ShapeJson>>;
  /** Names of arguments that the provider fills in, separated by spaces. */
  readonly filled: string;
  /** Names of attributes that are not arguments. */
  readonly computed: string;
}

export interface ArgumentTable {
  readonly resources: Readonly<Record<string, TypeRow>>;
  readonly dataSources: Readonly<Record<string, TypeRow>>;
}

export function argumentTable<C>(provider: AnyProvider<C>): ArgumentTable {
  const rows = (types: readonly { readonly typeName: string; readonly attributes: Attributes }[]) =>
    Object.fromEntries(types.map(({ typeName, attributes }) => [typeName, rowOf(attributes)]));
  return { resources: rows(provider.resources), dataSources: rows(provider.dataSources) };
}

const isWritten = (attribute: Attribute<unknown>): boolean => {
  const { required, optional } = presenceOf(attribute);
  return required || optional;
};

function rowOf(attributes: Attributes): TypeRow {
  const named = (fits: (attribute: Attribute<unknown>) => boolean): string =>
    Object.entries(attributes)
      .filter(([, attribute]) => fits(attribute))
      .map(([name]) => name)
      .toSorted()
      .join(' ');
  return {
    shapes: membersOf(attributes, false),
    filled: named((each) => presenceOf(each).optional && presenceOf(each).computed),
    computed: named((each) => !isWritten(each)),
  };
}

const membersOf = (attributes: Attributes, isNested: boolean): Readonly<Record<string, ShapeJson>> =>
  Object.fromEntries(
    Object.entries(attributes)
      .filter(([, attribute]) => isNested || isWritten(attribute))
      .map(([name, attribute]) => [name, isWritten(attribute) ? shapeOf(attribute) : 'computed'] as const),
  );

const plain: Readonly<Record<string, string>> = {
  '"string"': 'text',
  '"number"': 'number',
  '"bool"': 'bool',
  '["list","string"]': 'texts',
  '["map","string"]': 'map',
  '["map",["map","string"]]': 'maps',
};
const nestings = { single: 'object', list: 'list', map: 'each' } as const;

const shapeOf = ({ type, nested }: Attribute<unknown>): ShapeJson =>
  nested === undefined
    ? (plain[JSON.stringify(typeJson(type))] ?? 'computed')
    : { [nestings[nested.nesting]]: membersOf(nested.attributes, true) };
