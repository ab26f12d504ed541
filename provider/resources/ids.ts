// Import ids: `[project/]name`, `[project/]pool/name`, with options after commas. Pure.
import type { Link } from '../connection/link.ts';
import { DiagnosticError, failure } from '../framework/diagnostic.ts';

export interface ImportId {
  readonly parts: readonly string[];
  /** `web,image=alpine`: what stands after commas. */
  readonly options: Readonly<Record<string, string>>;
}

/** Throws DiagnosticError when there are not `count` parts, or the project is another than the provider's. */
export function parseImportId(
  id: string,
  count: number,
  shape: string,
  link: Link,
  allowed: readonly string[] = [],
): ImportId {
  const [path = '', ...rest] = id.split(',');
  const options = Object.fromEntries(rest.map((option) => splitOption(option, id, shape, allowed)));
  const parts = path.split('/');
  const project = parts.length === count + 1 ? parts.shift() : undefined;
  if (parts.length !== count || parts.some((part) => part === '')) throw badId(id, shape);
  const own = link.project ?? 'default';
  if (project !== undefined && project !== own) {
    const detail = `The id names project ${JSON.stringify(project)}, this provider works in ${JSON.stringify(own)}. Import it through a provider with that project.`;
    throw new DiagnosticError([failure(`The import id ${JSON.stringify(id)} belongs to another project`, detail)]);
  }
  return { parts, options };
}

function splitOption(option: string, id: string, shape: string, allowed: readonly string[]): [string, string] {
  const at = option.indexOf('=');
  const name = option.slice(0, at);
  if (at < 1 || !allowed.includes(name)) throw badId(id, shape);
  return [name, option.slice(at + 1)];
}

export const badId = (id: string, shape: string): DiagnosticError =>
  new DiagnosticError([
    failure(
      `The import id ${JSON.stringify(id)} is not understood`,
      `It has to be ${shape}, with [] around what may be left out.`,
    ),
  ]);
