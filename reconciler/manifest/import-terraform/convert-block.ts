// Converts one resource or data block of the LXD and Incus providers into one of ours, as text edits. Pure.
import type { Expression } from '../terraform-json/expression/syntax.ts';
import { removal, type Edit } from './edits.ts';
import type { Block, Item } from './read-body.ts';
import { metaArguments, type Group, type TypeRow } from './rows.ts';
import { argumentOf, UnconvertibleError, literalOf, type Source } from './source.ts';

/** Throws UnconvertibleError if a part of the block cannot be converted. */
export function convertBlock(block: Block, row: TypeRow, source: Source): readonly Edit[] {
  const [label] = block.labels;
  const own: Edit[] = label === undefined ? [] : [{ start: label.start, end: label.end, text: `"${row.target}"` }];
  const done = new Set<Group>();
  for (const item of block.items) {
    const name = item.type === 'block' && item.name === 'dynamic' ? (item.labels[0]?.text ?? '') : item.name;
    const group = row.groups?.find(({ takes }) => takes.includes(name));
    if (metaArguments.includes(name)) own.push(...metaEdits(item, row, source));
    else if (group !== undefined) {
      if (!done.has(group)) own.push(...groupEdits(block, group, source));
      done.add(group);
    } else own.push(...argumentEdits(item, name, row, source));
  }
  return [...own, ...added(block, row), ...more(block, row, source)];
}

function groupEdits(block: Block, group: Group, source: Source): readonly Edit[] {
  const items = block.items.filter((item) =>
    group.takes.includes(item.type === 'block' && item.name === 'dynamic' ? (item.labels[0]?.text ?? '') : item.name),
  );
  const text = group.make(items, source, block);
  const [first, ...others] = items;
  if (text === undefined || first === undefined) return [];
  const rest = others.map((item) => removal(source.text, item));
  return [text === '' ? removal(source.text, first) : { start: first.start, end: first.end, text }, ...rest];
}

function argumentEdits(item: Item, name: string, row: TypeRow, source: Source): readonly Edit[] {
  if (item.type === 'block') throw new UnconvertibleError(item.start, `the block ${name} has no counterpart`);
  if (row.same.includes(name)) return [];
  const renamed = row.renames?.[name];
  if (renamed !== undefined) return [{ start: item.start, end: item.start + name.length, text: renamed }];
  const only = row.only?.[name];
  if (only !== undefined) {
    const value = literalOf(item.value);
    if (value !== only && value !== null)
      throw new UnconvertibleError(
        item.start,
        `${name} = ${source.text.slice(item.value.start, item.value.end)}: gantry has only ${String(only)}`,
      );
    return [removal(source.text, item)];
  }
  const remark = row.drops?.[name];
  if (remark === undefined) throw new UnconvertibleError(item.start, `the argument ${name} has no counterpart`);
  if (remark !== '') source.note(item.start, `${name} is left out: ${remark}`);
  return [removal(source.text, item)];
}

function added(block: Block, row: TypeRow): readonly Edit[] {
  return Object.entries(row.adds ?? {}).flatMap(([name, text]) =>
    argumentOf(block, name) === undefined
      ? [{ start: block.open, end: block.open, text: `\n  ${name} = ${text}` }]
      : [],
  );
}

const more = (block: Block, row: TypeRow, source: Source): readonly Edit[] => {
  const text = row.more?.(block, source) ?? '';
  return text === '' ? [] : [{ start: block.end, end: block.end, text }];
};

/** `provider = lxd.west`, and names of arguments in `ignore_changes`. */
function metaEdits(item: Item, row: TypeRow, source: Source): readonly Edit[] {
  if (item.type === 'argument' && item.name === 'provider') return [providerEdit(item.value)];
  if (item.type !== 'block' || item.name !== 'lifecycle') return [];
  const ignored = argumentOf(item, 'ignore_changes')?.value;
  return ignored?.type === 'list' ? ignored.items.flatMap((each) => ignoredEdit(each, row, source)) : [];
}

/** Renames the provider in `lxd` and `lxd.west`. */
export function providerEdit({ start, ...value }: Expression): Edit {
  let at: Omit<Expression, 'start'> = value;
  while (at.type === 'attribute' && 'object' in at) at = at.object as Expression;
  const name = at.type === 'name' && 'name' in at ? String(at.name) : 'lxd';
  return { start, end: start + name.length, text: 'gantry' };
}

function ignoredEdit(expression: Expression, row: TypeRow, source: Source): readonly Edit[] {
  let at = expression;
  while (at.type === 'index' || at.type === 'attribute') at = at.object;
  if (at.type !== 'name') return [];
  const { name, start } = at;
  const text = groupNames[name] ?? row.renames?.[name];
  if (text === undefined || text === name) return [];
  if (name === 'limits' && expression.type === 'index' && typeof literalOf(expression.key) === 'string')
    return [{ start, end: expression.end, text: `config["limits.${String(literalOf(expression.key))}"]` }];
  if (at !== expression) source.note(start, `ignore_changes: ${name} is ${text} here; check what stands behind it`);
  return [{ start, end: start + name.length, text }];
}

/** Arguments that groups produce. */
const groupNames: Readonly<Record<string, string>> = {
  image: 'source',
  source_instance: 'source',
  source_file: 'source',
  source_image: 'source',
  limits: 'config',
  device: 'devices',
  file: 'files',
  execs: 'exec',
  wait_for_network: 'wait_for',
};
