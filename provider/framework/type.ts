// The types of values, as Terraform knows them; how they are written down is the wire's business.

export type Type =
  | 'string'
  | 'number'
  | 'bool'
  | { readonly kind: 'list'; readonly item: Type }
  | { readonly kind: 'map'; readonly item: Type }
  | { readonly kind: 'object'; readonly members: Readonly<Record<string, Type>> }
  /**
   * Of this type always, but declared as of any type: each value says its type beside it. For shapes that Terraform has and generators
   * of bindings do not, such as maps of maps that are computed.
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
