// The blocks that move state to the new resources: `moved` for state of the other provider, `import` for objects without state. Pure.
import { insideText, quoted } from './hcl-text.ts';
import { aliasesOf } from './image-source.ts';
import type { Block } from './read-body.ts';
import type { TypeRow } from './rows.ts';
import { argumentOf, literalText, type Scope, type Source } from './source.ts';
import { movesNoState } from './types.ts';

export interface Converted {
  readonly block: Block;
  readonly row: TypeRow;
  readonly source: Source;
}

export type States = 'moved' | 'import';

/** `isRoot`: Terraform reads `import` blocks in the root module only. */
export function stateBlocks({ block, row, source }: Converted, states: States, isRoot: boolean): readonly string[] {
  const [type = '', name = ''] = block.labels.map(({ text }) => text);
  const hasState = !movesNoState.has(type.replace(/^(?:lxd|incus)_/, ''));
  const texts: string[] = [];
  if (states === 'moved' && hasState)
    texts.push(`moved {\n  from = ${type}.${name}\n  to   = ${row.target}.${name}\n}\n`);
  if (states === 'moved' && !hasState)
    texts.push(`removed {\n  from = ${type}.${name}\n\n  lifecycle {\n    destroy = false\n  }\n}\n`);
  if (states === 'import' || !hasState) texts.push(...importText({ block, row, source }, name, isRoot));
  return [...texts, ...aliasImport(block, source, name, isRoot)];
}

function importText({ block, row, source }: Converted, name: string, isRoot: boolean): readonly string[] {
  const scope: Scope = { 'count.index': 'each.value' };
  const id = row.target === 'gantry_server_config' ? serverId(block) : idOf({ block, row, source }, scope);
  const address = `${row.target}.${name}`;
  if (id === undefined || !isRoot) {
    const why = isRoot ? 'only the server knows its id' : 'a module has no import blocks';
    source.note(
      block.start,
      `${address}: ${why}: write an import block for it in the root module, or run terraform import`,
    );
    return [];
  }
  const [each, count] = ['for_each', 'count'].map((word) => argumentOf(block, word)?.value);
  const loop =
    each !== undefined
      ? `  for_each = ${source.render(each)}\n`
      : count !== undefined
        ? `  for_each = { for index in range(${source.render(count)}) : index => index }\n`
        : '';
  const key = each !== undefined ? '[each.key]' : count !== undefined ? '[each.value]' : '';
  return [`import {\n${loop}  to = ${address}${key}\n  id = ${id}\n}\n`];
}

/** `"pool/name,image=...,project=team"`. */
function idOf({ block, row, source }: Converted, scope: Scope): string | undefined {
  if (row.id === undefined) return undefined;
  const textOf = (names: readonly string[]): string | undefined => {
    const value = names.map((name) => argumentOf(block, name)?.value).find((found) => found !== undefined);
    if (value === undefined) return undefined;
    const known = literalText(value, source.folder);
    return insideText(known === undefined ? source.render(value, scope) : quoted(known));
  };
  const parts = row.id.map((part) => (typeof part === 'string' ? part : textOf(part)));
  if (parts.includes(undefined)) return undefined;
  const place = ['project', 'remote'].map((name) => {
    const text = name === 'project' && row.hasNoProject === true ? undefined : textOf([name]);
    return text === undefined || text === 'default' ? '' : `,${name}=${text}`;
  });
  return `"${parts.join('')}${row.idMore?.(block, source) ?? ''}${place.join('')}"`;
}

function serverId(block: Block): string | undefined {
  const config = argumentOf(block, 'config')?.value;
  if (config?.type !== 'object') return undefined;
  const keys = config.items.map(({ key }) => (key.type === 'literal' ? String(key.value) : undefined));
  return keys.includes(undefined) ? undefined : quoted(keys.join(','));
}

/** Imports aliases, which were part of their image and are separate resources here. */
function aliasImport(block: Block, source: Source, name: string, isRoot: boolean): readonly string[] {
  const aliases = aliasesOf(block, source);
  if (aliases === undefined) return [];
  if (isRoot)
    return [
      `import {\n  for_each = ${aliases.forEach}\n  to       = gantry_image_alias.${name}[each.key]\n  id       = each.key\n}\n`,
    ];
  source.note(
    aliases.start,
    `gantry_image_alias.${name}: a module has no import blocks: write them in the root module`,
  );
  return [];
}
