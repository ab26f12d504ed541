// Converts a compose file into documents for system containers; lists parts that cannot be converted, with their lines. Pure.
import { isMap as isYamlMap, LineCounter, parseDocument, visit, type Document as YamlDocument } from 'yaml';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { isMap, mapOf } from '../../core/documents/json-values.ts';
import { withExtended } from './extends.ts';
import { ComposeFile, type ImportNote, type ServerParts } from './file.ts';
import { volumeDocuments } from './mounts.ts';
import { networkDocuments } from './networks.ts';
import { resolvedFile } from './remedies.ts';
import { containerOf } from './service.ts';
import { interpolate, type Interpolated } from './variables.ts';

export interface Imported {
  readonly documents: readonly JsonObject[];
  /** Parts that were not converted, each with a remedy. */
  readonly notes: readonly ImportNote[];
  /** Problems that prevent the conversion. */
  readonly errors: readonly ImportNote[];
}

/** `folder`: where the file is; relative paths in it begin there. */
export function importCompose(text: string, folder: string, parts: ServerParts = {}): Imported {
  const lines = new LineCounter();
  const yaml = parseDocument(text, { lineCounter: lines, merge: true });
  const failed = (errors: readonly ImportNote[]): Imported => ({ documents: [], notes: [], errors });
  const broken = yaml.errors.map(({ pos: [at], message }) => ({
    line: lines.linePos(at).line,
    text: message.split(' at line ')[0] ?? message,
  }));
  if (broken.length > 0) return failed(broken);
  const found = interpolate(mapOf(yaml.toJS({ maxAliasCount: 100 }) as Json));
  const lineAt = (path: readonly string[]): number => lineOf(yaml, lines, path);
  const file = new ComposeFile(found.root, folder, lineAt, parts);
  const services = file.section('services');
  if (Object.keys(services).length === 0)
    return failed([{ line: 1, text: 'has no services: a compose file lists them under services' }]);
  const bad = Object.entries(services).filter(([, service]) => !isMap(service));
  if (bad.length > 0)
    return failed(bad.map(([name]) => ({ line: lineAt(['services', name]), text: `services.${name} must be a map` })));
  noteVariables(file, found);
  noteTags(file, yaml, lines);
  const containers = Object.keys(services).map((name) =>
    containerOf(file, name, withExtended(services, name) ?? mapOf(services[name])),
  );
  const networks = networkDocuments(file);
  const volumes = volumeDocuments(file);
  for (const key of ['secrets', 'configs'])
    if (file.root[key] !== undefined)
      file.note([key], `${key} do not move: write them as files of the containers (files:)`);
  if (file.root['include'] !== undefined) file.lost(['include'], resolvedFile);
  const values = { ...found.defaults, ...Object.fromEntries(found.undefaulted.map((name) => [name, null])) };
  const vars = Object.keys(values).length === 0 ? [] : [{ kind: 'vars', vars: values }];
  return {
    documents: [...vars, ...networks, ...volumes, ...containers],
    notes: file.notes.toSorted((a, b) => a.line - b.line),
    errors: [],
  };
}

function noteVariables(file: ComposeFile, { defaults, undefaulted, replaced, emptied }: Interpolated): void {
  const say = (name: string, text: string): void => file.note([], `${name} is a variable of the shell: ${text}`);
  for (const name of Object.keys(defaults)) say(name, 'it is one of the manifest, with its default (kind: vars)');
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
