// The attributes of schemas: one constructor for each type, which carries the TypeScript type of its values.
import type { Path } from './path.ts';
import type { Type } from './type.ts';
import type { Unknown, Value, ValueMap } from './value.ts';
import { withoutUndefined } from '../../server/lib/shared/without-undefined.ts';

export interface AttributeFacts {
  readonly doc: string;
  /** None of required, computed: optional, null when left out. Both optional and computed: the provider fills it in when it is left out. */
  readonly required?: true;
  readonly optional?: true;
  readonly computed?: true;
  readonly sensitive?: true;
  /** Passed from the configuration to create and update only, never stored. */
  readonly writeOnly?: true;
  /** A computed value that an update does not change. */
  readonly keep?: true;
}

/** The server chooses a value when it is left out, and keeps it. */
export const serverDefault = { optional: true, computed: true, keep: true } as const;

/** Problems of a known value; paths are relative to it. */
export type Check<T> = (value: T) => string | readonly { readonly path: Path; readonly message: string }[] | undefined;

export interface AttributeOptions<T> extends AttributeFacts {
  /** The value when the configuration leaves it out. */
  readonly default?: T;
  /** Whether a change of the value replaces the object, also to one that is known only after apply; true: every change does. */
  readonly replace?: true | ((before: T | null, after: T | null | Unknown) => boolean);
  /** Whether two wholly known values mean the same: then the stored spelling stays and there is no difference. */
  readonly same?: (before: T, after: T) => boolean;
  /** Whether the object already has the configured value, although this attribute does not show it. */
  readonly fulfilled?: (after: T, prior: ValueMap, isImported: boolean) => boolean;
  readonly check?: Check<T>;
}

export type Attributes = Readonly<Record<string, Attribute<unknown>>>;

export interface Nested {
  readonly nesting: 'single' | 'list' | 'map';
  readonly attributes: Attributes;
}

/** An attribute whose values have type `T` in the state. */
export interface Attribute<out T> extends AttributeFacts {
  readonly type: Type;
  readonly nested?: Nested;
  readonly default?: Value;
  readonly replace?: true | ((before: Value, after: Value) => boolean);
  readonly same?: (before: Value, after: Value) => boolean;
  readonly fulfilled?: (after: Value, prior: ValueMap, isImported: boolean) => boolean;
  readonly check?: Check<Value>;
  /** Only for the compiler. */
  readonly value?: T;
}

/** The type of an object with these attributes, as the state holds it. */
export type StateOf<A extends Attributes> = {
  readonly [Name in keyof A]: A[Name] extends Attribute<infer T> ? T : never;
};

type ReadAs<T, O> = O extends { readonly required: true } ? T : T | null;

function make<T, const O extends AttributeOptions<T>>(
  type: Type,
  options: O,
  nested?: Nested,
): Attribute<ReadAs<T, O>> {
  // The framework calls the functions only with values of this type.
  const facts = options as unknown as Omit<Attribute<ReadAs<T, O>>, 'type'>;
  return { ...facts, type, ...withoutUndefined({ nested }) };
}

export const text = <const O extends AttributeOptions<string>>(options: O): Attribute<ReadAs<string, O>> =>
  make<string, O>('string', options);

export const flag = <const O extends AttributeOptions<boolean>>(options: O): Attribute<ReadAs<boolean, O>> =>
  make<boolean, O>('bool', options);

/** Whole numbers only: fractions do not survive JSON and back unchanged. */
export const integer = <const O extends AttributeOptions<number>>(options: O): Attribute<ReadAs<number, O>> =>
  make<number, O>('number', options);

export type Texts = readonly string[];
export const texts = <const O extends AttributeOptions<Texts>>(options: O): Attribute<ReadAs<Texts, O>> =>
  make<Texts, O>({ kind: 'list', item: 'string' }, options);

export type TextMap = Readonly<Record<string, string>>;
export const textMap = <const O extends AttributeOptions<TextMap>>(options: O): Attribute<ReadAs<TextMap, O>> =>
  make<TextMap, O>({ kind: 'map', item: 'string' }, options);

export type TextMaps = Readonly<Record<string, TextMap>>;
const textMapsType: Type = { kind: 'map', item: { kind: 'map', item: 'string' } };
export const textMaps = <const O extends AttributeOptions<TextMaps>>(options: O): Attribute<ReadAs<TextMaps, O>> =>
  make<TextMaps, O>(textMapsType, options);

/** Maps by name that only the provider fills in. Terraform sees them like `textMaps`; generators of bindings see any type. */
export const shownTextMaps = <const O extends AttributeOptions<TextMaps> & { readonly computed: true }>(
  options: O,
): Attribute<ReadAs<TextMaps, O>> => make<TextMaps, O>({ kind: 'dynamic', item: textMapsType }, options);

/** One object with its own attributes. */
export const object = <A extends Attributes, const O extends AttributeOptions<StateOf<A>>>(
  attributes: A,
  options: O,
): Attribute<ReadAs<StateOf<A>, O>> =>
  make<StateOf<A>, O>(objectType(attributes), options, { nesting: 'single', attributes });

export const objects = <A extends Attributes, const O extends AttributeOptions<readonly StateOf<A>[]>>(
  attributes: A,
  options: O,
): Attribute<ReadAs<readonly StateOf<A>[], O>> =>
  make<readonly StateOf<A>[], O>({ kind: 'list', item: objectType(attributes) }, options, {
    nesting: 'list',
    attributes,
  });

export const objectMap = <A extends Attributes, const O extends AttributeOptions<Readonly<Record<string, StateOf<A>>>>>(
  attributes: A,
  options: O,
): Attribute<ReadAs<Readonly<Record<string, StateOf<A>>>, O>> =>
  make<Readonly<Record<string, StateOf<A>>>, O>({ kind: 'map', item: objectType(attributes) }, options, {
    nesting: 'map',
    attributes,
  });

export function objectType(attributes: Attributes): Type {
  const members = Object.entries(attributes).map(([name, attribute]) => [name, attribute.type] as const);
  return { kind: 'object', members: Object.fromEntries(members) };
}

/** The presence as the protocol names it. An attribute with a default is optional and computed. */
export function presenceOf(attribute: AttributeFacts & { readonly default?: unknown }): {
  readonly required: boolean;
  readonly optional: boolean;
  readonly computed: boolean;
} {
  if (attribute.required === true) return { required: true, optional: false, computed: false };
  const computed = attribute.computed === true || attribute.default !== undefined;
  return {
    required: false,
    optional: !computed || attribute.optional === true || attribute.default !== undefined,
    computed,
  };
}
