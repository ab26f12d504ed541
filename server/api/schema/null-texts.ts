// Null as a value in a map of texts, such as a config: LXD takes it for the empty text, which unsets the key. Pure.

interface Keywords {
  readonly type?: string;
  readonly anyOf?: readonly Keywords[];
  readonly properties?: Readonly<Record<string, Keywords>>;
  readonly patternProperties?: Readonly<Record<string, Keywords>>;
}

/** The value with empty texts for nulls where the schema has a map of texts. */
export function withEmptyTexts(schema: Keywords, value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  const { properties = {}, patternProperties } = schema.anyOf?.find(({ type }) => type === 'object') ?? schema;
  const [ofEach] = Object.values(patternProperties ?? {});
  const members = Object.entries(value as Readonly<Record<string, unknown>>).map(([name, member]) => {
    if (member === null && ofEach?.type === 'string') return [name, ''] as const;
    const known = Object.hasOwn(properties, name) ? properties[name] : ofEach;
    return [name, known === undefined ? member : withEmptyTexts(known, member)] as const;
  });
  return Object.fromEntries(members);
}
