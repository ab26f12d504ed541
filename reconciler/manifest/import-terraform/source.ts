// One file of a configuration during its conversion: renders expressions with the new names, and collects notes.
import { childrenOf } from '../terraform-json/expression/children.ts';
import type { Expression, Span } from '../terraform-json/expression/syntax.ts';
import { edited, lineAt, type Edit } from './edits.ts';
import type { Argument, Block } from './read-body.ts';

/** The new name of a converted resource. */
export interface Renamed {
  readonly target: string;
  /** New names of its attributes. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Attributes without a counterpart, with a remedy. */
  readonly gone: Readonly<Record<string, string>>;
}

export interface Note {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Replaces references by their dotted names: `device.value` by `device_value`. */
export type Scope = Readonly<Record<string, string>>;

/** Facts that the files of one folder share. */
export interface Folder {
  /** Converted resources and data sources: `lxd_instance.web`, `data.lxd_network.lan`. */
  readonly renamed: ReadonlyMap<string, Renamed>;
  readonly blocks: ReadonlyMap<string, Block>;
  /** Values of locals and defaults of variables, `var.image`. */
  readonly values: ReadonlyMap<string, Expression>;
  /** Servers of images, by the names of the remotes in provider blocks. */
  readonly remotes: ReadonlyMap<string, ImageServer>;
}

export interface ImageServer {
  readonly server: string;
  readonly protocol: string;
}

/** The whole resource stays with its provider. */
export class UnconvertibleError extends Error {
  override readonly name = 'UnconvertibleError';
  readonly at: number;
  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

export class Source {
  readonly file: string;
  readonly text: string;
  readonly folder: Folder;
  readonly notes: Note[] = [];
  /** Maps offsets to lines of the original file if the text was generated from it. */
  readonly lineOf: (offset: number) => number;

  constructor(file: string, text: string, folder: Folder, lineOf = (offset: number): number => lineAt(text, offset)) {
    this.file = file;
    this.text = text;
    this.folder = folder;
    this.lineOf = lineOf;
  }

  note(at: number, text: string): void {
    const note = { file: this.file, line: this.lineOf(at), text };
    if (!this.notes.some((other) => other.line === note.line && other.text === text)) this.notes.push(note);
  }

  /** The text of an expression with the new names. */
  render(expression: Expression, scope: Scope = {}): string {
    return this.renderSpan(expression, expression, scope);
  }

  renderSpan(span: Span, expression: Expression, scope: Scope = {}): string {
    return edited(this.text, span, this.editsOf(expression, scope));
  }

  editsOf(expression: Expression, scope: Scope = {}): readonly Edit[] {
    const own = this.#ownEdits(expression, scope);
    const inner = childrenOf(expression).flatMap((child) => this.editsOf(child, scope));
    return [...own, ...inner];
  }

  #ownEdits(expression: Expression, scope: Scope): readonly Edit[] {
    if (expression.type === 'splat') return this.#splatEdits(expression);
    if (expression.type !== 'attribute') return [];
    const path = dotted(expression);
    const replaced = path === undefined ? undefined : scope[path];
    if (replaced !== undefined) return [{ start: expression.start, end: expression.end, text: replaced }];
    const type = this.#typeEdit(expression);
    if (type !== undefined) return [type];
    return this.#attributeEdits(expression, referred(expression.object));
  }

  /** The type in `lxd_instance.web`. */
  #typeEdit(expression: Expression & { readonly type: 'attribute' }): Edit | undefined {
    const path = dotted(expression);
    const renamed = path === undefined ? undefined : this.folder.renamed.get(path);
    if (renamed === undefined || path === undefined) return undefined;
    const [type = ''] = path.replace(/^data\./, '').split('.');
    const start = this.text.indexOf(type, expression.start);
    return { start, end: start + type.length, text: renamed.target };
  }

  #attributeEdits({ name, end }: { readonly name: string; readonly end: number }, path: string | undefined) {
    const renamed = path === undefined ? undefined : this.folder.renamed.get(path);
    const start = this.text.lastIndexOf(name, end - 1);
    const gone = renamed?.gone[name];
    if (gone !== undefined) this.note(start, `${path}.${name} has no counterpart: ${gone}`);
    const text = renamed?.attributes[name];
    return text === undefined ? [] : [{ start, end: start + name.length, text }];
  }

  /** `lxd_instance.web[*].name`: the names after the star belong to the resource. */
  #splatEdits({ object, each }: Expression & { readonly type: 'splat' }): readonly Edit[] {
    let at = each;
    while ((at.type === 'attribute' || at.type === 'index') && at.object.type !== 'element') at = at.object;
    return at.type === 'attribute' ? this.#attributeEdits(at, referred(object)) : [];
  }
}

/** `lxd_instance.web` or `data.lxd_network.lan` as a text. */
export function dotted(expression: Expression): string | undefined {
  if (expression.type === 'name') return expression.name;
  if (expression.type !== 'attribute') return undefined;
  const object = dotted(expression.object);
  return object === undefined ? undefined : `${object}.${expression.name}`;
}

/** The resource that an expression names, directly or as an instance. */
export const referred = (expression: Expression): string | undefined =>
  dotted(expression.type === 'index' ? expression.object : expression);

export const argumentOf = (block: Block, name: string): Argument | undefined =>
  block.items.find((item): item is Argument => item.type === 'argument' && item.name === name);

export const literalOf = (expression: Expression | undefined): string | number | boolean | null | undefined =>
  expression?.type === 'literal' ? expression.value : undefined;

/** The constant text of an expression: a literal, a local, a variable's default, an argument of a resource. */
export function literalText(expression: Expression, folder: Folder, depth = 0): string | undefined {
  if (expression.type === 'literal') return typeof expression.value === 'string' ? expression.value : undefined;
  const path = dotted(expression);
  if (path === undefined || depth > 5) return undefined;
  const parts = path.split('.');
  const block = folder.blocks.get(parts.slice(0, -1).join('.'));
  const isOne = block !== undefined && !['count', 'for_each'].some((each) => argumentOf(block, each) !== undefined);
  const next = folder.values.get(path) ?? (isOne ? argumentOf(block, parts.at(-1) ?? '')?.value : undefined);
  return next === undefined ? undefined : literalText(next, folder, depth + 1);
}
