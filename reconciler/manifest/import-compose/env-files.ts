// Variables of `.env`, and those of the env files of services as their environment. Pure but for the reader that it gets.
import { relative, resolve } from 'node:path/posix';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { asText, isMap, mapOf, valueOf as entryOf } from '../../core/documents/json-values.ts';
import { envLines, rawEnvLines, type EnvLines } from './env-lines.ts';
import { listOf, mapOfPairs } from './extends.ts';
import { substitute, valueOf } from './substitute.ts';

/** The text of a file, or why there is none. */
export type FileText = { readonly text: string } | { readonly why: string; readonly isMissing?: boolean };
export type ReadText = (path: string) => FileText;

/** Linux has no longer variables. */
const longest = 128 * 1024;
const longestText = 'has more than 128 KiB';

export interface DotEnv {
  readonly values: ReadonlyMap<string, string>;
  readonly problems: readonly string[];
}

/** Variables of the shell have no value here: their default is written, or nothing. */
export function dotEnv(folder: string, read: ReadText): DotEnv {
  const found = read(resolve(folder, '.env'));
  if ('why' in found) return { values: new Map(), problems: found.isMissing === true ? [] : [`.env ${found.why}`] };
  const { lines, problem } = envLines(found.text);
  const values = new Map<string, string>();
  const problems = new Set(problem === undefined ? [] : [`.env: ${problem}: it is read up to there`]);
  const resolved = (text: string): string =>
    substitute(text, longest, (variable) => {
      const value = values.get(variable.name);
      if (value !== undefined) return valueOf(variable, value, resolved);
      problems.add(`${variable.name} is a variable of the shell: its default, or nothing, is written in .env`);
      return variable.sign.endsWith('-') ? resolved(variable.word) : '';
    });
  for (const { name, value } of lines) {
    if (value === undefined) continue;
    const text = resolved(value);
    const why = refusal(text) ?? (/[\r\n]/.test(text) ? 'has several lines' : undefined);
    if (why === undefined) values.set(name, text);
    else problems.add(`${name} of .env ${why}: it is left out`);
  }
  const plain = [...values].map(([name, text]): [string, string] => [name, text.replaceAll('$$', () => '$')]);
  return { values: new Map(plain), problems: [...problems] };
}

interface Sources {
  readonly folder: string;
  readonly read: ReadText;
  readonly dotEnv: ReadonlyMap<string, string>;
  /** The name of a file, with its variables resolved. */
  readonly named: (text: string) => string;
  readonly note: (service: string, text: string) => void;
}

/** Services whose environment has what their env files say, in the language of the compose file. */
export const withEnvFiles = (services: JsonObject, sources: Sources): JsonObject =>
  Object.fromEntries(
    Object.entries(services).map(([name, service]): [string, Json] => [
      name,
      isMap(service) && service['env_file'] !== undefined ? withFilesOf(name, service, sources) : service,
    ]),
  );

function withFilesOf(service: string, values: JsonObject, sources: Sources): JsonObject {
  const { env_file: files, environment: given, ...rest } = values;
  const environment = Array.isArray(given) ? mapOfPairs(given as readonly Json[]) : mapOf(given);
  const found = new Map<string, string | null>();
  for (const file of listOf(files)) addFile(service, file, environment, found, sources);
  return { ...rest, environment: { ...Object.fromEntries(found), ...environment } };
}

function addFile(
  service: string,
  file: Json,
  environment: JsonObject,
  found: Map<string, string | null>,
  sources: Sources,
): void {
  const { lines, problem } = linesOf(service, file, sources);
  const name = isMap(file) ? asText(file['path']) : asText(file);
  const say = (text: string): void => sources.note(service, text);
  if (problem !== undefined) say(`services.${service}: ${name}: ${problem}: its lines from there on do not move`);
  const known = (variable: string): string | null | undefined => {
    if (sources.dotEnv.has(variable)) return undefined;
    const own = entryOf(environment, variable) ?? null;
    return own === null ? found.get(variable) : asText(own);
  };
  const resolved = (text: string): string =>
    substitute(text, longest, (variable) => {
      const value = known(variable.name) ?? undefined;
      if (value !== undefined) return valueOf(variable, value, resolved);
      return variable.sign === '' ? variable.whole : `\${${variable.name}${variable.sign}${resolved(variable.word)}}`;
    });
  for (const line of lines) {
    if (line.value === undefined) {
      if (sources.dotEnv.has(line.name) || !found.has(line.name)) found.set(line.name, null);
      continue;
    }
    const text = resolved(line.value);
    const why = refusal(text);
    if (why === undefined) found.set(line.name, text);
    else say(`services.${service}: ${line.name} of ${name} does not move: it ${why}`);
  }
}

const refusal = (text: string): string | undefined =>
  text.length > longest ? longestText : text.includes('\0') ? 'has a zero byte' : undefined;

function linesOf(service: string, file: Json, { folder, read, named, note }: Sources): EnvLines {
  const entry = isMap(file) ? file : { path: file };
  const path = named(asText(entry['path']));
  const lost = (why: string): EnvLines => {
    note(service, `services.${service}.env_file does not move: ${path} ${why}: write its variables under environment`);
    return { lines: [] };
  };
  if (path.includes('$')) return lost('has a variable without a default');
  const format = asText(entry['format']);
  if (format !== '' && format !== 'raw') return lost(`has the format ${format}, which is not known`);
  const found = read(resolve(folder, path));
  if ('why' in found) return found.isMissing === true && entry['required'] === false ? { lines: [] } : lost(found.why);
  if (relative(folder, resolve(folder, path)).startsWith('..'))
    note(
      service,
      `services.${service}: ${path} is outside the folder of the compose file; its variables stand in the manifest`,
    );
  return format === 'raw' ? rawEnvLines(found.text) : envLines(found.text);
}
