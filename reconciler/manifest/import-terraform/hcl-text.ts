// Builds HCL text: objects, map keys, entries of repeated blocks. Pure.
import type { Expression } from '../terraform-json/expression/syntax.ts';
import type { Block, Item } from './read-body.ts';
import { argumentOf, UnconvertibleError, type Scope, type Source } from './source.ts';

export type Entry = readonly [name: string, text: string];

/** `indent`: the indentation of the line where the object begins. */
export function objectText(entries: readonly Entry[], indent: number, isBlock = false): string {
  const pad = ' '.repeat(indent + 2);
  const width = Math.max(0, ...entries.map(([name, text]) => (text.includes('\n') ? 0 : name.length)));
  const lines = entries.map(([name, text]) => `${pad}${text.includes('\n') ? name : name.padEnd(width)} = ${text}\n`);
  if (entries.length === 0) return '{}';
  const inline = `{ ${entries.map(([name, text]) => `${name} = ${text}`).join(', ')} }`;
  if (!isBlock && indent + inline.length <= 100 && !inline.includes('\n')) return inline;
  return `{\n${lines.join('')}${' '.repeat(indent)}}`;
}

/** Quoted text; escapes `${`. */
export const quoted = (text: string): string => JSON.stringify(text).replaceAll('${', '$${').replaceAll('%{', '%%{');

/** A rendered expression as the key of an object. */
export function keyText(text: string): string {
  const [, name] = /^"([A-Za-z_][A-Za-z0-9_-]*)"$/.exec(text) ?? [];
  return name ?? (text.startsWith('"') ? text : `(${text})`);
}

/** The form inside a longer text: the content of a quoted text, or an interpolation of the expression. */
export const insideText = (text: string): string => {
  const [, plain] = /^"([^"\\]*)"$/.exec(text) ?? [];
  return plain ?? `\${${text}}`;
};

/** A repeated block, an element of a list of objects, or the content of a `dynamic` block. */
export interface BlockForm {
  readonly at: number;
  readonly values: ReadonlyMap<string, Expression>;
  readonly scope: Scope;
  /** `for k, v in list` of a dynamic block. */
  readonly loop?: string;
}

/** All blocks of a name, in any notation. */
export function blocksNamed(items: readonly Item[], source: Source): readonly BlockForm[] {
  return items.flatMap((item): readonly BlockForm[] => {
    if (item.type === 'argument') return listOf(item.value).map((value) => ({ ...fromObject(value), scope: {} }));
    if (item.name !== 'dynamic') return [{ at: item.start, values: valuesOf(item), scope: {} }];
    return [fromDynamic(item, source)];
  });
}

const listOf = (value: Expression): readonly Expression[] => (value.type === 'list' ? value.items : [value]);

export function fromObject(value: Expression): {
  readonly at: number;
  readonly values: ReadonlyMap<string, Expression>;
} {
  if (value.type !== 'object') throw new UnconvertibleError(value.start, 'it is computed; write it as a block');
  const values = value.items.map(({ key, value: one }): [string, Expression] => {
    if (key.type !== 'literal')
      throw new UnconvertibleError(key.start, 'a name in it is computed; write it as a block');
    return [String(key.value), one];
  });
  return { at: value.start, values: new Map(values) };
}

export function valuesOf(block: Block): ReadonlyMap<string, Expression> {
  return new Map(
    block.items.map((item) => {
      if (item.type === 'block')
        throw new UnconvertibleError(item.start, `the block ${item.name} in ${block.name} is not known`);
      return [item.name, item.value];
    }),
  );
}

function fromDynamic(block: Block, source: Source): BlockForm {
  const name = block.labels[0]?.text ?? '';
  const each = argumentOf(block, 'for_each')?.value;
  const content = block.items.find((item): item is Block => item.type === 'block' && item.name === 'content');
  if (each === undefined || content === undefined)
    throw new UnconvertibleError(block.start, `dynamic ${name} needs for_each and content`);
  const iterator = argumentOf(block, 'iterator')?.value;
  const variable = iterator?.type === 'name' ? iterator.name : name;
  return {
    at: block.start,
    values: valuesOf(content),
    scope: { [`${variable}.key`]: `${variable}_key`, [`${variable}.value`]: `${variable}_value` },
    loop: `for ${variable}_key, ${variable}_value in ${source.render(each)}`,
  };
}

/** A map of these blocks: an object, and a comprehension for each dynamic block. */
export function mapText(given: readonly BlockForm[], entry: (given: BlockForm) => Entry): string {
  const plain = given
    .filter(({ loop }) => loop === undefined)
    .map((each): Entry => {
      const [name, text] = entry(each);
      return [keyText(name), text];
    });
  const loops = given.flatMap((each) => {
    if (each.loop === undefined) return [];
    const [name, text] = entry(each);
    return [`{ ${each.loop} : ${name} => ${text} }`];
  });
  const own = objectText(plain, 2, true);
  if (loops.length === 0) return own;
  return plain.length === 0 && loops.length === 1
    ? (loops[0] ?? '')
    : `merge(${[...(plain.length === 0 ? [] : [own]), ...loops].join(', ')})`;
}
