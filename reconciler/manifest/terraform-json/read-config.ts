// Takes the blocks of Terraform JSON files apart into variables, locals, resources and outputs of one configuration; evaluates nothing.
import { hint } from '../../../server/api/nearest.ts';
import type { Json, JsonObject } from '../../core/document.ts';
import { isMap } from '../../core/kinds/values.ts';
import type { Problem, Report } from './problem.ts';
import { settingsOfNoConsequence, type Code } from './unsupported.ts';

export interface ConfigFile {
  readonly file: string;
  readonly folder: string;
  readonly value: Json;
}

/** A piece of the files, with the way to it. */
export interface Piece {
  readonly file: string;
  readonly folder: string;
  readonly steps: readonly string[];
  readonly body: JsonObject;
  /** Of the construct that made it. */
  readonly construct?: string;
}

export interface Resource extends Piece {
  readonly type: string;
  readonly name: string;
  /** `gantry_network.web`. */
  readonly address: string;
}

export interface Local {
  readonly file: string;
  readonly steps: readonly string[];
  readonly value: Json;
}

export interface Config {
  readonly variables: ReadonlyMap<string, Piece>;
  readonly locals: ReadonlyMap<string, Local>;
  readonly resources: ReadonlyMap<string, Resource>;
  readonly outputs: ReadonlyMap<string, Piece>;
  readonly imports: readonly Piece[];
  /** `gantry`, or `gantry.alias`. */
  readonly providers: ReadonlyMap<string, Piece>;
  readonly folder: string;
  /** What was left out on purpose, for a notice. */
  readonly ignored: readonly string[];
}

const refusedBlocks: Readonly<Record<string, Code>> = {
  data: 'E_DATA',
  module: 'E_MODULE',
  ephemeral: 'E_EPHEMERAL',
  check: 'E_CHECK',
  removed: 'E_REMOVED',
};
const blocks = ['//', 'terraform', 'provider', 'variable', 'locals', 'resource', 'output', 'moved', 'import'];

export function readConfig(files: readonly ConfigFile[], report: Report): Config {
  const reader = new Reader(report);
  for (const file of files) reader.add(file);
  return reader.config(files[0]?.folder ?? '.');
}

class Reader {
  readonly #report: Report;
  readonly #variables = new Map<string, Piece>();
  readonly #locals = new Map<string, Local>();
  readonly #resources = new Map<string, Resource>();
  readonly #outputs = new Map<string, Piece>();
  readonly #imports: Piece[] = [];
  readonly #providers = new Map<string, Piece>();
  readonly #ignored = new Set<string>();

  constructor(report: Report) {
    this.#report = report;
  }

  config(folder: string): Config {
    return {
      variables: this.#variables,
      locals: this.#locals,
      resources: this.#resources,
      outputs: this.#outputs,
      imports: this.#imports,
      providers: this.#providers,
      folder,
      ignored: [...this.#ignored],
    };
  }

  add({ file, folder, value }: ConfigFile): void {
    if (!isMap(value)) {
      this.#report({ code: 'E_SHAPE', message: 'the file must hold an object', file, steps: [] });
      return;
    }
    for (const [key, content] of Object.entries(value)) {
      const place = { file, folder, steps: [key] };
      if (Object.hasOwn(refusedBlocks, key)) this.#refuse(key, content, place);
      else if (!blocks.includes(key)) {
        const message = `there is no block ${key}${hint(key, [...blocks, ...Object.keys(refusedBlocks)])}`;
        this.#report({ code: 'E_BLOCK', message, file, steps: [key] });
      } else this.#block(key, content, place);
    }
  }

  #block(key: string, content: Json, place: Omit<Piece, 'body'>): void {
    if (key === '//') return;
    if (key === 'moved') this.#ignored.add('moved: objects are known by their names, not by addresses');
    if (key === 'moved') return;
    for (const piece of this.#pieces(content, place)) {
      if (key === 'terraform') this.#terraform(piece);
      else if (key === 'locals') this.#addLocals(piece);
      else if (key === 'import') this.#imports.push(piece);
      else if (key === 'resource') this.#addResources(piece);
      else if (key === 'provider') this.#addProviders(piece);
      else this.#addNamed(key === 'variable' ? this.#variables : this.#outputs, key, piece);
    }
  }

  /** An object, or a list of objects, as Terraform takes both wherever a block stands. */
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

  #addNamed(table: Map<string, Piece>, label: string, piece: Piece): void {
    for (const [name, child] of this.#children(piece)) this.#put(table, name, child, `${label} ${name}`);
  }

  #addResources(piece: Piece): void {
    for (const [type, types] of this.#children(piece)) {
      for (const [name, child] of this.#children(types)) {
        const address = `${type}.${name}`;
        this.#put(this.#resources, address, { ...child, type, name, address }, address);
      }
    }
  }

  #addProviders(piece: Piece): void {
    for (const [name, child] of this.#children(piece)) {
      const alias = child.body['alias'];
      const key = typeof alias === 'string' ? `${name}.${alias}` : name;
      this.#put(this.#providers, key, child, `provider ${key}`);
    }
  }

  #addLocals(piece: Piece): void {
    for (const [name, value] of Object.entries(piece.body)) {
      const steps = [...piece.steps, name];
      if (name !== '//') this.#put(this.#locals, name, { file: piece.file, steps, value }, `local.${name}`);
    }
  }

  #put<T extends Pick<Piece, 'file' | 'steps'>>(table: Map<string, T>, key: string, entry: T, label: string): void {
    if (table.has(key)) {
      this.#report({
        code: 'E_DUPLICATE',
        message: `${label} is declared twice`,
        file: entry.file,
        steps: entry.steps,
      });
    } else table.set(key, entry);
  }

  #terraform(piece: Piece): void {
    for (const key of Object.keys(piece.body)) {
      const steps = [...piece.steps, key];
      if (key === '//') continue;
      if (key === 'backend' || key === 'cloud') {
        const kinds = isMap(piece.body[key]) ? Object.keys(piece.body[key]) : [];
        // What synthesizers write when nobody chose one.
        if (key === 'backend' && kinds.every((kind) => kind === 'local')) continue;
        const message = `the ${key === 'cloud' ? 'cloud' : `backend ${kinds.join(', ')}`} is not used`;
        this.#report({ code: 'E_BACKEND', message, file: piece.file, steps });
      } else if (!settingsOfNoConsequence.has(key))
        this.#report({ code: 'E_BLOCK', message: `terraform has no setting ${key}`, file: piece.file, steps });
    }
  }

  #refuse(key: string, content: Json, place: Omit<Piece, 'body'>): void {
    const code = refusedBlocks[key] ?? 'E_BLOCK';
    const told = (piece: Piece, what: string, of: Code = code): void => {
      const { file, steps, construct } = piece;
      const problem: Problem = { code: of, message: `${what} is not evaluated`, file, steps };
      this.#report(construct === undefined ? problem : { ...problem, construct });
    };
    for (const piece of this.#pieces(content, place)) {
      if (key === 'removed') told(piece, 'the removed block');
      else {
        for (const [name, child] of this.#children(piece)) {
          if (key === 'module' || key === 'check') told(child, `${key}.${name}`);
          else {
            for (const [label, inner] of this.#children(child)) {
              const isRemote = name === 'terraform_remote_state';
              told(inner, `${key}.${name}.${label}`, isRemote ? 'E_REMOTE_STATE' : code);
            }
          }
        }
      }
    }
  }
}

/** CDK writes where each block comes from: `"//": {"metadata": {"path": "stack/web"}}`. */
function constructOf(body: JsonObject): { readonly construct?: string } {
  const comment = body['//'];
  const metadata = isMap(comment) ? comment['metadata'] : undefined;
  const path = isMap(metadata) ? metadata['path'] : undefined;
  return typeof path === 'string' ? { construct: path } : {};
}
