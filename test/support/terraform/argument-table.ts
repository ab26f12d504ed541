// The types of the provider for reading Terraform JSON: shapes of arguments, which of them have defaults, and attributes that are
// known after apply. A test writes the table into the reconciler, which never imports the provider. Pure.
import { presenceOf, type Attribute, type Attributes } from '../../../provider/framework/attribute.ts';
import type { AnyProvider } from '../../../provider/framework/provider.ts';
import { typeJson } from '../../../provider/framework/type.ts';

/** Names, separated by spaces, of the arguments of each shape; the members of nested ones. */
type NamesByShape = Record<string, string | Record<string, object>>;

export interface TypeRow {
  readonly arguments: NamesByShape;
  /** Arguments that the provider fills in. */
  readonly filled: string;
  /** Attributes that are not arguments. */
  readonly computed: string;
}

export interface ArgumentTable {
  /** The nested arguments that every resource has; its row leaves them out. */
  readonly common: Readonly<Record<string, object>>;
  readonly resources: Readonly<Record<string, TypeRow>>;
  readonly dataSources: Readonly<Record<string, TypeRow>>;
}

export function argumentTable<C>(provider: AnyProvider<C>): ArgumentTable {
  const rows = (types: readonly { readonly typeName: string; readonly attributes: Attributes }[]) =>
    Object.fromEntries(types.map(({ typeName, attributes }) => [typeName, rowOf(attributes)]));
  const resources = Object.entries(rows(provider.resources));
  const nested = resources.map(([, row]) => row.arguments['object'] as Readonly<Record<string, object>>);
  const [first = {}, ...others] = nested;
  const isCommon = (name: string): boolean =>
    others.every((each) => JSON.stringify(each[name]) === JSON.stringify(first[name]));
  const common = Object.fromEntries(Object.entries(first).filter(([name]) => isCommon(name)));
  const own = resources.map(([name, row]) => {
    const { object, ...others } = row.arguments;
    const kept = Object.fromEntries(Object.entries(object ?? {}).filter(([part]) => !(part in common)));
    return [name, { ...row, arguments: Object.keys(kept).length === 0 ? others : { ...others, object: kept } }];
  });
  return {
    common,
    resources: Object.fromEntries(own) as ArgumentTable['resources'],
    dataSources: rows(provider.dataSources),
  };
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
    arguments: namesByShape(attributes, false),
    // A plan knows that a project which is left out is null.
    filled: named((each) => each !== attributes['project'] && presenceOf(each).optional && presenceOf(each).computed),
    computed: named((each) => !isWritten(each)),
  };
}

function namesByShape(attributes: Attributes, isNested: boolean): NamesByShape {
  const found: NamesByShape = {};
  for (const [name, attribute] of Object.entries(attributes)) {
    if (!isNested && !isWritten(attribute)) continue;
    const { type, nested } = attribute;
    if (isWritten(attribute) && nested !== undefined) {
      const below = found[nestings[nested.nesting]];
      found[nestings[nested.nesting]] = {
        ...(typeof below === 'object' ? below : {}),
        [name]: namesByShape(nested.attributes, true),
      };
    } else {
      const shape = isWritten(attribute) ? (plain[JSON.stringify(typeJson(type))] ?? 'computed') : 'computed';
      const names = found[shape];
      found[shape] = typeof names === 'string' ? `${names} ${name}` : name;
    }
  }
  return found;
}

const plain: Readonly<Record<string, string>> = {
  '"string"': 'text',
  '"number"': 'number',
  '"bool"': 'bool',
  '["list","string"]': 'texts',
  '["map","string"]': 'map',
  '["map",["map","string"]]': 'maps',
};
const nestings = { single: 'object', list: 'list', map: 'each' } as const;
