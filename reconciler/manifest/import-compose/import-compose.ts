// Converts a compose file into documents for system containers; lists parts that cannot be converted, with their lines. Pure but for
// the reader of its env files.
import {
  isMap as isYamlMap,
  LineCounter,
  parseDocument,
  visit,
  type Document as YamlDocument,
  type ScalarTag,
} from 'yaml';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { isMap, mapOf } from '../../core/documents/json-values.ts';
import { dotEnv, withEnvFiles, type ReadText } from './env-files.ts';
import { withExtended } from './extends.ts';
import { ComposeFile, type ImportNote, type ServerParts } from './file.ts';
import { volumeDocuments } from './mounts.ts';
import { networkDocuments } from './networks.ts';
import { carriedSections, resolvedFile, sectionRemedies } from './remedies.ts';
import { containerOf } from './service.ts';
import { Interpolation } from './variables.ts';

export interface Imported {
  readonly documents: readonly JsonObject[];
  /** Parts that were not converted, each with a remedy. */
  readonly notes: readonly ImportNote[];
  /** Problems that prevent the conversion. */
  readonly errors: readonly ImportNote[];
}

/** Compose takes a whole number that begins with 0 for an octal one. */
const octal: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  test: /^[-+]?0[0-7]+$/,
  resolve: (text) => Number.parseInt(text, 8),
};

/** A file of a hundred services may repeat an anchor in each. */
const mostAliases = 10_000;

const readNothing: ReadText = () => ({ why: 'is not there', isMissing: true });

/** `folder`: where the file is; relative paths in it begin there. `read`: for `.env` and env files. */
export function importCompose(
  text: string,
  folder: string,
  parts: ServerParts = {},
  read: ReadText = readNothing,
): Imported {
  const lines = new LineCounter();
  const yaml = parseDocument(text, { lineCounter: lines, merge: true, customTags: (tags) => [octal, ...tags] });
  const failed = (errors: readonly ImportNote[]): Imported => ({ documents: [], notes: [], errors });
  const broken = yaml.errors.map(({ pos: [at], message }) => ({
    line: lines.linePos(at).line,
    text: message.split(' at line ')[0] ?? message,
  }));
  if (broken.length > 0) return failed(broken);
  const lineAt = (path: readonly string[]): number => lineOf(yaml, lines, path);
  const root = valuesOf(yaml);
  if (root === undefined)
    return failed([{ line: 1, text: `has aliases that stand for more than ${mostAliases} values` }]);
  const services = mapOf(root['services']);
  if (Object.keys(services).length === 0)
    return failed([{ line: 1, text: 'has no services: a compose file lists them under services' }]);
  const bad = Object.entries(services).filter(([, service]) => !isMap(service));
  if (bad.length > 0)
    return failed(bad.map(([name]) => ({ line: lineAt(['services', name]), text: `services.${name} must be a map` })));
  const { resolved, variables, notes } = resolvedRoot(root, folder, read);
  const file = new ComposeFile(resolved, folder, lineAt, parts);
  for (const { path, text: what } of notes) file.note(path, what);
  noteVariables(file, variables);
  noteTags(file, yaml, lines);
  const containers = Object.entries(file.section('services')).map(([name, service]) =>
    containerOf(file, name, mapOf(service)),
  );
  const networks = networkDocuments(file);
  const volumes = volumeDocuments(file);
  for (const key of Object.keys(file.root)) if (!carriedSections.has(key)) file.lost([key], sectionRemedies[key]);
  const values = Object.fromEntries<Json>([
    ...variables.values,
    ...variables.undefaulted.map((name): [string, null] => [name, null]),
  ]);
  const vars = Object.keys(values).length === 0 ? [] : [{ kind: 'vars', vars: values }];
  return {
    documents: [...vars, ...networks, ...volumes, ...containers],
    notes: file.notes.toSorted((a, b) => a.line - b.line),
    errors: [],
  };
}

interface ResolvedRoot {
  readonly resolved: JsonObject;
  readonly variables: Interpolation;
  readonly notes: readonly { readonly path: readonly string[]; readonly text: string }[];
}

/** Services have what they extend and what their env files say; then variables get their values. */
function resolvedRoot(root: JsonObject, folder: string, read: ReadText): ResolvedRoot {
  const services = mapOf(root['services']);
  const own = dotEnv(folder, read);
  const variables = new Interpolation(own.values);
  const notes = own.problems.map((text) => ({ path: [] as readonly string[], text }));
  const extended = Object.keys(services).map((name): [string, Json] => [
    name,
    withExtended(services, name) ?? mapOf(services[name]),
  ]);
  const withFiles = withEnvFiles(Object.fromEntries(extended), {
    folder,
    read,
    dotEnv: own.values,
    named: (path) => variables.text(path),
    note: (service, text) => notes.push({ path: ['services', service, 'env_file'], text }),
  });
  const sections = Object.entries({ ...root, services: withFiles }).filter(([key]) => !key.startsWith('x-'));
  return { resolved: variables.root(Object.fromEntries(sections)), variables, notes };
}

/** undefined: its aliases stand for too many values. */
function valuesOf(yaml: YamlDocument): JsonObject | undefined {
  try {
    return mapOf(yaml.toJS({ maxAliasCount: mostAliases }) as Json);
  } catch (error) {
    if (error instanceof ReferenceError) return undefined;
    throw error;
  }
}

function noteVariables(
  file: ComposeFile,
  { values, undefaulted, replaced, emptied, kept, written }: Interpolation,
): void {
  const say = (name: string, text: string): void => file.note([], `${name} is a variable of the shell: ${text}`);
  const sayOfFile = (name: string, text: string): void => file.note([], `${name} is a variable of .env: ${text}`);
  for (const name of kept) sayOfFile(name, 'it is one of the manifest, with that value (kind: vars)');
  for (const name of written) sayOfFile(name, 'its value is written where it stands');
  for (const name of [...values.keys()].filter((each) => !kept.has(each)))
    say(name, 'it is one of the manifest, with its default (kind: vars)');
  for (const name of undefaulted)
    say(name, `it is one of the manifest without a value: give it with --var ${name}=VALUE, or under kind: vars`);
  for (const name of emptied)
    say(name, 'nothing is written where it stands in the default of another variable; compose would take its value');
  for (const name of replaced) say(name, 'its default is written where it stands; compose would take its value');
}

/** `!reset` and `!override` say how several files are joined. */
function noteTags(file: ComposeFile, yaml: YamlDocument, lines: LineCounter): void {
  visit(yaml, {
    Node: (_, { tag, range }) => {
      if (tag === '!reset' || tag === '!override')
        file.notes.push({ line: lines.linePos(range?.[0] ?? 0).line, text: `${tag} has no effect: ${resolvedFile}` });
    },
  });
}

/** The line of a key, or of the nearest one above it: parts of anchors have lines elsewhere. */
function lineOf(yaml: YamlDocument, lines: LineCounter, path: readonly string[]): number {
  for (let depth = path.length; depth > 0; depth--) {
    const above = depth === 1 ? yaml.contents : yaml.getIn(path.slice(0, depth - 1), true);
    const pair = isYamlMap(above) ? above.items.find(({ key }) => String(key) === path[depth - 1]) : undefined;
    const at = (pair?.key as { readonly range?: readonly number[] } | undefined)?.range?.[0];
    if (at !== undefined) return lines.linePos(at).line;
  }
  return 1;
}
