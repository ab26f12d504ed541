// The reference of gantry.yaml: every key with its type and meaning, from the schema that judges the file. Pure.
import { ControllerFile } from '../../reconciler/controller/config/schema.ts';
import { code, table } from './markdown.ts';

interface Keywords {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Keywords[];
  readonly properties?: Readonly<Record<string, Keywords>>;
  readonly required?: readonly string[] | undefined;
  readonly items?: Keywords;
  readonly description?: string;
}

export function controllerKeysBlock(): string {
  return table(['key', 'type', 'meaning'], controllerKeyRows());
}

/** Key, type and meaning, in Markdown. */
export const controllerKeyRows = (): readonly (readonly string[])[] => rowsOf(ControllerFile, '');

function rowsOf(schema: Keywords, path: string): readonly (readonly string[])[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const own = path === '' ? name : `${path}.${name}`;
    const isNeeded = schema.required?.includes(name) === true;
    const meaning = `${isNeeded ? 'Required. ' : ''}${member.description ?? elsewhere(own)}`;
    const list = member.items?.properties === undefined ? [] : rowsOf(member.items, `${own}[]`);
    return [[code(own), typeOf(member), meaning], ...rowsOf(member, own), ...list];
  });
}

const elsewhere = (path: string): string =>
  path.startsWith('tenants')
    ? 'See [tenants](tenants.md).'
    : path.startsWith('generators')
      ? 'See [generators](generators.md).'
      : /^(?:sources|notifications)/.test(path)
        ? 'See [sources](../sources.md).'
        : 'See [the controller](../controller.md).';

function typeOf({ type, const: value, enum: words, anyOf, items }: Keywords): string {
  if (words !== undefined) return words.map((word) => code(JSON.stringify(word))).join(' or ');
  if (value !== undefined) return code(JSON.stringify(value) ?? '');
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ');
  if (items !== undefined) return `list of ${typeOf(items)}`;
  if (type === 'object') return 'map';
  return type === 'string' ? 'text' : (type ?? 'any');
}
