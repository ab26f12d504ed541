// Import ids: `[project/]name`, `[project/]pool/name`, with options after commas. Pure.
import { DiagnosticError, failure } from '../../framework/diagnostic.ts';

export interface ImportId {
  readonly parts: readonly string[];
  /** The project, when the id names one. */
  readonly scope: { readonly project?: string };
  /** The options after commas: `web,image=alpine`. */
  readonly options: Readonly<Record<string, string>>;
}

/** Throws DiagnosticError unless the id has `count` parts. */
export function parseImportId(id: string, count: number, shape: string, allowed: readonly string[] = []): ImportId {
  // Names may have commas where the id takes no options.
  const [path = '', ...rest] = allowed.length === 0 ? [id] : id.split(',');
  const options = Object.fromEntries(rest.map((option) => splitOption(option, id, shape, allowed)));
  const parts = path.split('/');
  const project = parts.length === count + 1 ? parts.shift() : undefined;
  if (parts.length !== count || project === '' || parts.some((part) => part === '')) throw badId(id, shape);
  return { parts, options, scope: project === undefined ? {} : { project } };
}

type Values<Name extends string> = Readonly<Record<Name, string>>;

/** Ids of the values of these attributes, joined by slashes, with an optional project before them. */
export const importByParts = <const Names extends readonly string[]>(names: Names, example: string) => {
  const shape = `[project/]${names.join('/')}`;
  return {
    doc: `\`${shape}\``,
    example,
    parse(id: string): Values<Names[number]> & { readonly project?: string } {
      const { parts, scope } = parseImportId(id, names.length, shape);
      const values = names.map((name, index) => [name, parts[index] ?? ''] as const);
      return { ...(Object.fromEntries(values) as Values<Names[number]>), ...scope };
    },
  };
};

/** Ids of one attribute, slashes included, for objects outside projects. */
export const importByWhole = <Name extends string>(name: Name, example: string) => ({
  doc: `\`${name}\``,
  example,
  parse(id: string): Values<Name> {
    if (id === '') throw badId(id, name);
    return { [name]: id } as Values<Name>;
  },
});

function splitOption(option: string, id: string, shape: string, allowed: readonly string[]): [string, string] {
  const at = option.indexOf('=');
  const name = option.slice(0, at);
  if (at < 1 || !allowed.includes(name)) throw badId(id, shape);
  return [name, option.slice(at + 1)];
}

export const badId = (id: string, shape: string): DiagnosticError =>
  new DiagnosticError([
    failure(`The import id ${JSON.stringify(id)} is not understood`, `It must be ${shape}; parts in [] are optional.`),
  ]);
