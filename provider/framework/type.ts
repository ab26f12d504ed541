// The types of values, as Terraform knows them; wire/ encodes them.

export type Type =
  | 'string'
  | 'number'
  | 'bool'
  | { readonly kind: 'list'; readonly item: Type }
  | { readonly kind: 'map'; readonly item: Type }
  | { readonly kind: 'object'; readonly members: Readonly<Record<string, Type>> }
  /**
   * Values always have this type, but the schema declares any type and each value carries its type. For shapes that Terraform supports
   * and generators of bindings do not, such as computed maps of maps.
   */
  | { readonly kind: 'dynamic'; readonly item: Type };

/** `"string"`, `["map","string"]`, `["object",{...}]`. */
export type TypeJson =
  | string
  | readonly ['list' | 'map', TypeJson]
  | readonly ['object', Readonly<Record<string, TypeJson>>];

export function typeJson(type: Type): TypeJson {
  if (typeof type === 'string') return type;
  if (type.kind === 'dynamic') return 'dynamic';
  if (type.kind !== 'object') return [type.kind, typeJson(type.item)];
  const members = Object.entries(type.members).map(([name, member]) => [name, typeJson(member)] as const);
  return ['object', Object.fromEntries(members)];
}
