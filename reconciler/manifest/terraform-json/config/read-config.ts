// Splits the blocks of Terraform JSON files into variables, locals, resources and outputs of one configuration; evaluates nothing.
import { hint } from '../../../../server/api/text/nearest-word.ts';
import type { Json, JsonObject } from '../../../core/documents/document.ts';
import { isMap } from '../../../core/documents/json-values.ts';
import type { Problem, Report } from '../problem.ts';
import type { Check, Config, ConfigFile, Local, ModuleCall, Piece, Resource } from './blocks.ts';
import { isOverride, overridden, refusedOverride } from './overrides.ts';
import { checkSettings } from './settings.ts';

const blocks = [
  '//',
  'terraform',
  'provider',
  'variable',
  'locals',
  'resource',
  'data',
  'module',
  'output',
  'check',
  'moved',
  'import',
  'removed',
  'ephemeral',
];

/** `prefix`: of addresses in a module, `module.net.`. Override files are merged over the others. */
export function readConfig(files: readonly ConfigFile[], report: Report, prefix = ''): Config {
  const reader = new Reader(report, prefix);
  for (const file of files.filter((each) => !isOverride(each))) reader.add(file);
  const over = files.filter(isOverride).toSorted((a, b) => (a.file < b.file ? -1 : 1));
  for (const file of over) reader.add(file, true);
  return reader.config(files[0]?.folder ?? '.');
}

class Reader {
  readonly #report: Report;
  readonly #prefix: string;
  readonly #variables = new Map<string, Piece>();
  readonly #locals = new Map<string, Local>();
  readonly #resources = new Map<string, Resource>();
  readonly #data = new Map<string, Resource>();
  readonly #modules = new Map<string, ModuleCall>();
  readonly #outputs = new Map<string, Piece>();
  readonly #checks = new Map<string, Check>();
  readonly #imports: Piece[] = [];
  readonly #removed: Piece[] = [];
  readonly #providers = new Map<string, Piece>();
  readonly #ignored = new Set<string>();
  /** True while an override file is read. */
  #isOver = false;

  constructor(report: Report, prefix: string) {
    this.#report = report;
    this.#prefix = prefix;
  }

  config(folder: string): Config {
    return {
      variables: this.#variables,
      locals: this.#locals,
      resources: this.#resources,
      data: this.#data,
      modules: this.#modules,
      outputs: this.#outputs,
      checks: [...this.#checks.values()],
      imports: this.#imports,
      removed: this.#removed,
      providers: this.#providers,
      folder,
      ignored: [...this.#ignored],
    };
  }

  add({ file, folder, value }: ConfigFile, isOver = false): void {
    this.#isOver = isOver;
    if (!isMap(value)) {
      this.#report({ code: 'E_SHAPE', message: 'the file must hold an object', file, steps: [] });
      return;
    }
    for (const [key, content] of Object.entries(value)) {
      if (blocks.includes(key)) this.#block(key, content, { file, folder, steps: [key] });
      else
        this.#report({ code: 'E_BLOCK', message: `there is no block ${key}${hint(key, blocks)}`, file, steps: [key] });
    }
  }

  #block(key: string, content: Json, place: Omit<Piece, 'body'>): void {
    if (key === '//') return;
    if (key === 'moved') this.#ignored.add('moved: objects are known by their names, not by addresses');
    if (key === 'moved') return;
    for (const piece of this.#pieces(content, place)) this.#piece(key, piece);
  }

  #piece(key: string, piece: Piece): void {
    switch (key) {
      case 'terraform':
        return checkSettings(piece, this.#prefix === '', this.#report);
      case 'locals':
        return this.#addLocals(piece);
      case 'import':
        return void this.#imports.push(piece);
      case 'removed':
        return void this.#removed.push(piece);
      case 'resource':
      case 'data':
        return this.#addResources(key, piece);
      case 'provider':
        return this.#addProviders(piece);
      case 'variable':
        return this.#addNamed(this.#variables, key, piece);
      case 'output':
        return this.#addNamed(this.#outputs, key, piece);
      case 'module':
        return this.#addNamed(this.#modules, key, piece);
      case 'check':
        return this.#addChecks(piece);
      default:
        return this.#refuseEphemeral(piece);
    }
  }

  /** An object, or a list of objects, since Terraform accepts both for a block. */
  #pieces(content: Json, place: Omit<Piece, 'body'>): readonly Piece[] {
    const items = Array.isArray(content) ? (content as readonly Json[]) : [content];
    return items.flatMap((body, index) => {
      const steps = Array.isArray(content) ? [...place.steps, String(index)] : place.steps;
      if (isMap(body)) return [{ ...place, steps, body, ...constructOf(body) }];
      this.#report({ code: 'E_SHAPE', message: `${place.steps.join('.')} must be an object`, file: place.file, steps });
      return [];
    });
  }

  #children(piece: Piece): readonly (readonly [string, Piece])[] {
    return Object.entries(piece.body)
      .filter(([name]) => name !== '//')
      .flatMap(([name, content]) => {
        const { construct: _construct, ...place } = piece;
        return this.#pieces(content, { ...place, steps: [...piece.steps, name] }).map(
          (child) => [name, child] as const,
        );
      });
  }

  #addNamed<T extends Piece>(table: Map<string, T>, label: string, piece: Piece): void {
    for (const [name, child] of this.#children(piece)) {
      this.#put(table, name, { ...child, name } as unknown as T, label, `${label} ${name}`);
    }
  }

  #addResources(key: 'resource' | 'data', piece: Piece, check?: string): void {
    const [table, mode, label] =
      key === 'data' ? ([this.#data, 'data', 'data.'] as const) : ([this.#resources, 'managed', ''] as const);
    for (const [type, types] of this.#children(piece)) {
      for (const [name, child] of this.#children(types)) {
        const local = `${type}.${name}`;
        const address = `${this.#prefix}${label}${local}`;
        const inCheck = check === undefined ? {} : { check };
        this.#put(table, local, { ...child, mode, type, name, address, ...inCheck }, 'resource', `${label}${local}`);
      }
    }
  }

  /** A data source inside a check belongs to the module, and its failures are warnings. */
  #addChecks(piece: Piece): void {
    for (const [name, child] of this.#children(piece)) {
      this.#put(this.#checks, name, { ...child, name }, 'check', `check ${name}`);
      for (const data of this.#pieces(child.body['data'] ?? [], { ...child, steps: [...child.steps, 'data'] }))
        this.#addResources('data', data, name);
    }
  }

  #addProviders(piece: Piece): void {
    for (const [name, child] of this.#children(piece)) {
      const alias = child.body['alias'];
      const key = typeof alias === 'string' ? `${name}.${alias}` : name;
      this.#put(this.#providers, key, child, 'provider', `provider ${key}`);
    }
  }

  #addLocals(piece: Piece): void {
    for (const [name, value] of Object.entries(piece.body)) {
      const steps = [...piece.steps, name];
      if (name === '//') continue;
      if (this.#isOver && this.#locals.has(name)) this.#locals.delete(name);
      else if (this.#isOver) this.#noBase(piece.file, steps, `local.${name}`);
      if (this.#locals.has(name)) this.#twice({ file: piece.file, steps }, `local.${name}`);
      else this.#locals.set(name, { file: piece.file, steps, value });
    }
  }

  #put<T extends Piece>(table: Map<string, T>, key: string, entry: T, kind: string, label: string): void {
    const base = table.get(key);
    if (!this.#isOver) {
      if (base === undefined) table.set(key, entry);
      else this.#twice(entry, label);
      return;
    }
    const reason = refusedOverride(kind, entry.body);
    if (reason !== undefined)
      this.#report({ code: 'E_OVERRIDE', message: `${label}: ${reason}`, file: entry.file, steps: entry.steps });
    else if (base !== undefined) table.set(key, { ...base, body: overridden(base.body, entry.body) });
    else if (kind === 'provider') table.set(key, entry);
    else this.#noBase(entry.file, entry.steps, label);
  }

  #twice({ file, steps }: Pick<Piece, 'file' | 'steps'>, label: string): void {
    this.#report({ code: 'E_DUPLICATE', message: `${label} is declared twice`, file, steps });
  }

  #noBase(file: string, steps: readonly string[], label: string): void {
    const message = `there is no ${label} in the other files that could be overridden`;
    this.#report({ code: 'E_OVERRIDE', message, file, steps });
  }

  #refuseEphemeral(piece: Piece): void {
    for (const [type, types] of this.#children(piece)) {
      for (const [name, { file, steps, construct }] of this.#children(types)) {
        const message = `ephemeral.${type}.${name} is not evaluated`;
        const problem: Problem = { code: 'E_EPHEMERAL', message, file, steps };
        this.#report(construct === undefined ? problem : { ...problem, construct });
      }
    }
  }
}

/** CDK writes the origin of each block: `"//": {"metadata": {"path": "stack/web"}}`. */
function constructOf(body: JsonObject): { readonly construct?: string } {
  const comment = body['//'];
  const metadata = isMap(comment) ? comment['metadata'] : undefined;
  const path = isMap(metadata) ? metadata['path'] : undefined;
  return typeof path === 'string' ? { construct: path } : {};
}
