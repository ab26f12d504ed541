// Converts texts to numbers where the schema asks for numbers: the manifest reader returns numbers as text. Pure.

interface Keywords {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Keywords[];
  readonly properties?: Readonly<Record<string, Keywords>>;
  readonly items?: Keywords;
}

export function withNumbers(schema: Keywords | undefined, value: unknown): unknown {
  if (schema === undefined) return value;
  if (typeof value === 'string')
    return takes(schema, ['integer', 'number']) && isNumeral(schema, value) ? Number(value) : value;
  if (Array.isArray(value)) {
    const list = [schema, ...(schema.anyOf ?? [])].find(({ items }) => items !== undefined);
    return value.map((item) => withNumbers(list?.items, item));
  }
  if (typeof value !== 'object' || value === null) return value;
  const { properties = {} } = schema;
  const entries = Object.entries(value).map(([key, item]) => [key, withNumbers(properties[key], item)] as const);
  return Object.fromEntries(entries);
}

/** Allows a fraction unless the schema asks for an integer. */
const isNumeral = (schema: Keywords, text: string): boolean =>
  /^-?\d{1,15}$/.test(text) || (takes(schema, ['number']) && /^-?\d{1,15}\.\d{1,15}$/.test(text));

const takes = ({ type = '', anyOf = [] }: Keywords, types: readonly string[]): boolean =>
  types.includes(type) || anyOf.some((one) => takes(one, types));
