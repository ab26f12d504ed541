// Converts one folder of a configuration: decides which resources are converted, and makes the new texts of all files. Pure.
import { dirname, join } from 'node:path/posix';
import type { Expression } from '../terraform-json/expression/syntax.ts';
import { convertBlock, providerEdit } from './convert-block.ts';
import { edited, removal, type Edit } from './edits.ts';
import { isPeerProvider, providerText } from './provider-blocks.ts';
import type { Block, Item } from './read-body.ts';
import type { TypeRow } from './rows.ts';
import {
  argumentOf,
  UnconvertibleError,
  literalOf,
  Source,
  type Folder,
  type ImageServer,
  type Note,
  type Renamed,
} from './source.ts';
import { stateBlocks, type States } from './state-blocks.ts';
import { dataRows, resourceRows } from './types.ts';

export interface ParsedFile {
  readonly path: string;
  /** The name of the original file. */
  readonly from: string;
  readonly text: string;
  readonly items: readonly Item[];
  readonly lineOf?: (offset: number) => number;
}

interface Candidate {
  readonly block: Block;
  readonly file: ParsedFile;
  readonly address: string;
  readonly row: TypeRow;
}

export interface StayingResource {
  readonly address: string;
  readonly note: Note;
}

/** The decision about a folder, before any text is made: a resource that stays in one folder keeps its provider in all. */
export interface Decided {
  readonly files: readonly ParsedFile[];
  readonly folder: Folder;
  readonly converted: ReadonlyMap<Block, TypeRow>;
  readonly stays: readonly StayingResource[];
}

const isPeerType = (block: Block): boolean =>
  (block.name === 'resource' || block.name === 'data') && /^(lxd|incus)_/.test(block.labels[0]?.text ?? '');

const blocksOf = ({ items }: ParsedFile): readonly Block[] => items.filter((item) => item.type === 'block');

const addressOf = ({ name, labels }: Block): string =>
  `${name === 'data' ? 'data.' : ''}${labels.map(({ text }) => text).join('.')}`;

export function decideFolder(files: readonly ParsedFile[], remotes: ReadonlyMap<string, ImageServer>): Decided {
  const candidates: Candidate[] = [];
  const stays: StayingResource[] = [];
  const blocks = new Map<string, Block>();
  for (const file of files)
    for (const block of blocksOf(file)) {
      if (block.name === 'resource' || block.name === 'data') blocks.set(addressOf(block), block);
      if (!isPeerType(block)) continue;
      const row = rowOf(block);
      const address = addressOf(block);
      if (row !== undefined) candidates.push({ block, file, address, row });
      else stays.push(staying(file, block.start, address, 'there is no such type here'));
    }
  const values = valuesIn(files);
  const all: Folder = { renamed: renamedOf(candidates), blocks, values, remotes };
  const good = candidates.filter(({ block, file, address, row }) => {
    try {
      const source = new Source(file.from, file.text, all, file.lineOf);
      convertBlock(block, row, source);
      return true;
    } catch (error) {
      if (!(error instanceof UnconvertibleError)) throw error;
      stays.push(staying(file, error.at, address, error.message));
      return false;
    }
  });
  const converted = new Map(good.map(({ block, row }) => [block, row] as const));
  return { files, folder: { ...all, renamed: renamedOf(good) }, converted, stays };
}

function rowOf({ name, labels }: Block): TypeRow | undefined {
  const short = (labels[0]?.text ?? '').replace(/^(lxd|incus)_/, '');
  const rows = name === 'data' ? dataRows : resourceRows;
  return Object.hasOwn(rows, short) ? rows[short] : undefined;
}

function staying(file: ParsedFile, at: number, address: string, why: string): StayingResource {
  const { lineOf } = new Source(file.from, file.text, noFolder, file.lineOf);
  return { address, note: { file: file.from, line: lineOf(at), text: `${address} stays with its provider: ${why}` } };
}
const noFolder: Folder = { renamed: new Map(), blocks: new Map(), values: new Map(), remotes: new Map() };

const renamedOf = (candidates: readonly Candidate[]): ReadonlyMap<string, Renamed> =>
  new Map(
    candidates.map(({ address, row: { target, renames = {}, gone = {} } }) => [
      address,
      { target, attributes: renames, gone },
    ]),
  );

/** `var.NAME` and `local.NAME`. */
function valuesIn(files: readonly ParsedFile[]): ReadonlyMap<string, Expression> {
  const found = new Map<string, Expression>();
  for (const block of files.flatMap(blocksOf)) {
    const standard = block.name === 'variable' ? argumentOf(block, 'default')?.value : undefined;
    if (standard !== undefined) found.set(`var.${block.labels[0]?.text ?? ''}`, standard);
    if (block.name !== 'locals') continue;
    for (const item of block.items) if (item.type === 'argument') found.set(`local.${item.name}`, item.value);
  }
  return found;
}

export interface Written {
  readonly texts: ReadonlyMap<string, string>;
  /** `moved`, `import` and `removed` blocks, which users may delete after their apply. */
  readonly added: string;
  /** The required_providers entry, if no file has a block for it. */
  readonly required: string;
  readonly notes: readonly Note[];
}

export interface ConversionPlace {
  readonly states: States;
  readonly isRoot: boolean;
  /** At least one resource of the configuration stays with its provider. */
  readonly keepsProvider: boolean;
}

export function writeFolder({ files, folder, converted, stays }: Decided, how: ConversionPlace): Written {
  const texts = new Map<string, string>();
  const states: string[] = [];
  const notes: Note[] = stays.map(({ note }) => note);
  const place = { isRequired: false };
  for (const file of files) {
    const source = new Source(file.from, file.text, folder, file.lineOf);
    const edits = file.items.flatMap((item) => itemEdits(item, source, converted, how, place));
    texts.set(file.path, edited(file.text, { start: 0, end: file.text.length }, edits));
    for (const block of blocksOf(file)) {
      const row = block.name === 'resource' ? converted.get(block) : undefined;
      if (row !== undefined) states.push(...stateBlocks({ block, row, source }, how.states, how.isRoot));
    }
    notes.push(...source.notes);
  }
  const isUsed = converted.size > 0 || files.some((file) => blocksOf(file).some(isPeerProvider));
  const required =
    isUsed && !place.isRequired
      ? 'terraform {\n  required_providers {\n    gantry = { source = "gantry/gantry" }\n  }\n}\n'
      : '';
  return { texts, added: states.join('\n'), required, notes };
}

function itemEdits(
  item: Item,
  source: Source,
  converted: Decided['converted'],
  how: ConversionPlace,
  place: { isRequired: boolean },
): readonly Edit[] {
  if (item.type === 'argument') return source.editsOf(item.value);
  // These blocks name addresses in the state, which keep their names.
  if (item.name === 'moved' || item.name === 'removed') return [];
  const inner = item.items.flatMap((each) => itemEdits(each, source, converted, how, place));
  const row = converted.get(item);
  if (row !== undefined) return [...convertBlock(item, row, source), ...inner];
  if (isPeerProvider(item)) {
    const text = providerText(item, source);
    return how.keepsProvider
      ? [{ start: item.start, end: item.start, text: `${text}\n\n` }, ...inner]
      : [{ start: item.start, end: item.end, text }];
  }
  if (item.name === 'required_providers') return [...inner, ...requiredEdits(item, source, how, place)];
  if (item.name === 'module') {
    noteOutside(item, source);
    return [...inner, ...passedEdits(item, source, how)];
  }
  if (item.name === 'import') return [...inner, ...importEdits(item, source)];
  return inner;
}

/** Adds our entry to required_providers; the old one stays while the state needs it. */
function requiredEdits(
  block: Block,
  source: Source,
  how: ConversionPlace,
  place: { isRequired: boolean },
): readonly Edit[] {
  place.isRequired = true;
  const olds = block.items.filter((item) => item.type === 'argument' && /^(lxd|incus)$/.test(item.name));
  const aliases = olds.flatMap((item) => (item.type === 'argument' ? aliasesOf(item.value, source) : []));
  const more = aliases.length === 0 ? '' : `, configuration_aliases = [${aliases.join(', ')}]`;
  const own = `\n    gantry = { source = "gantry/gantry"${more} }`;
  const staysThere = how.keepsProvider || how.states === 'moved';
  if (staysThere && olds[0] !== undefined && !how.keepsProvider)
    source.note(
      olds[0].start,
      `${olds[0].name} is needed until its states have moved; then remove it here, with the moved blocks`,
    );
  return [...firstLine(block, own, source.text), ...(staysThere ? [] : olds.map((item) => removal(source.text, item)))];
}

/** Adds a line to the begin of a block, whose braces may share lines with its items. */
function firstLine({ open, end, items }: Block, line: string, text: string): readonly Edit[] {
  const inner = { start: items[0]?.start ?? end, end: items.at(-1)?.end ?? open };
  const breaksAfter = (start: number, stop: number): boolean => text.slice(start, stop).includes('\n');
  return [
    { start: open, end: open, text: items.length === 0 || breaksAfter(open, inner.start) ? line : `${line}\n   ` },
    ...(breaksAfter(inner.end, end) ? [] : [{ start: end - 1, end: end - 1, text: '\n  ' }]),
  ];
}

function aliasesOf(value: Expression, source: Source): readonly string[] {
  const entry =
    value.type === 'object'
      ? value.items.find(({ key }) => key.type === 'literal' && key.value === 'configuration_aliases')
      : undefined;
  if (entry?.value.type !== 'list') return [];
  return entry.value.items.map((each) => edited(source.text, each, [providerEdit(each)]));
}

function noteOutside(block: Block, source: Source): void {
  const from = literalOf(argumentOf(block, 'source')?.value);
  if (typeof from !== 'string' || !/^\.\.?\//.test(from)) return;
  if (join(dirname(source.file), from).startsWith('..'))
    source.note(block.start, `the module ${from} lies outside of the folder: import a folder that has both`);
}

/** `providers = { lxd = lxd.west }` of a module. */
function passedEdits(block: Block, source: Source, how: ConversionPlace): readonly Edit[] {
  const passed = argumentOf(block, 'providers')?.value;
  if (passed?.type !== 'object') return [];
  return passed.items.flatMap(({ key, value }): readonly Edit[] => {
    const name = source.text.slice(key.start, key.end);
    if (!/^"?(lxd|incus)\b/.test(name)) return [];
    const text = `${name.replace(/lxd|incus/, 'gantry')} = ${edited(source.text, value, [providerEdit(value)])}`;
    return how.keepsProvider
      ? [{ start: key.start, end: key.start, text: `${text}\n    ` }]
      : [{ start: key.start, end: value.end, text }];
  });
}

function importEdits(block: Block, source: Source): readonly Edit[] {
  const to = argumentOf(block, 'to');
  const provider = argumentOf(block, 'provider');
  if (to === undefined || source.editsOf(to.value).length === 0) return [];
  source.note(
    block.start,
    'import: check the id: images are written as https://SERVER/ALIAS here, and pools have no project',
  );
  return provider === undefined ? [] : [providerEdit(provider.value)];
}
