// Rewrites all folders of a configuration from the LXD and Incus providers to ours, with a note for each part that is not converted. Pure.
import { basename, dirname, join } from 'node:path/posix';
import { ExpressionError } from '../terraform-json/expression/syntax.ts';
import { lineAt } from './edits.ts';
import { decideFolder, writeFolder, type ParsedFile } from './folder.ts';
import { jsonAsHcl } from './json-to-hcl.ts';
import { labelProblems } from './labels.ts';
import { imageServers } from './provider-blocks.ts';
import { readBody } from './read-body.ts';
import type { Note } from './source.ts';
import type { States } from './state-blocks.ts';

export interface TerraformFile {
  /** Relative to the root module. */
  readonly path: string;
  readonly text: string;
}

export interface ImportedTerraform {
  readonly files: readonly TerraformFile[];
  /** Files that others replace: `main.tf.json` becomes `main.tf`. */
  readonly replaced: readonly string[];
  /** Parts that were not converted, each with a remedy. */
  readonly notes: readonly Note[];
  /** Problems that prevent the conversion. */
  readonly errors: readonly Note[];
  readonly converted: number;
}

export function importTerraform(given: readonly TerraformFile[], states: States): ImportedTerraform {
  const errors: Note[] = [];
  const names = new Set(given.map(({ path }) => path));
  const parsed = given.map((file) => parse(file, names, errors));
  const none = { files: [], replaced: [], notes: [], converted: 0 };
  if (errors.length > 0) return { ...none, errors };
  const remotes = imageServers(parsed.flatMap(({ items }) => items));
  const folders = [...new Set(parsed.map(({ path }) => dirname(path)))];
  const decided = folders.map((folder) => ({
    folder,
    decided: decideFolder(
      parsed.filter(({ path }) => dirname(path) === folder),
      remotes,
    ),
  }));
  const converted = decided.reduce((sum, each) => sum + each.decided.converted.size, 0);
  const keepsProvider = decided.some((each) => each.decided.stays.length > 0);
  if (converted === 0 && !keepsProvider)
    return {
      ...none,
      errors: [
        { file: given[0]?.path ?? '.', line: 1, text: 'there is no resource or data source of lxd_* or incus_*' },
      ],
    };
  const written = decided.map((each) => ({
    folder: each.folder,
    ...writeFolder(each.decided, { states, isRoot: each.folder === '.', keepsProvider }),
  }));
  const files = written.flatMap(({ folder, texts, added, required }) => [
    ...[...texts].map(([path, text]) => ({ path, text })),
    ...(added === '' ? [] : [{ path: join(folder, freeName(folder, states, names)), text: added }]),
    ...(required === '' ? [] : [{ path: join(folder, freeName(folder, 'provider', names)), text: required }]),
  ]);
  const replaced = given.map(({ path }) => path).filter((path) => path.endsWith('.tf.json'));
  const notes = written
    .flatMap((each) => each.notes)
    .toSorted((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
  return { files, replaced, notes, errors, converted };
}

const freeName = (folder: string, word: string, names: ReadonlySet<string>): string =>
  [`gantry-${word}.tf`, `gantry-${word}-2.tf`].find((name) => !names.has(join(folder, name))) ?? `gantry-${word}-3.tf`;

function parse({ path, text: written }: TerraformFile, names: ReadonlySet<string>, errors: Note[]): ParsedFile {
  const json = path.endsWith('.tf.json');
  try {
    const made = json ? jsonAsHcl(written) : undefined;
    for (const { line, text } of made?.problems ?? []) errors.push({ file: path, line, text });
    const text = made?.text ?? written.replace(/^\uFEFF/, '');
    const lineOf = made === undefined ? {} : { lineOf: made.lineOf };
    const items = readBody(text);
    for (const { at, text: what } of labelProblems(items))
      errors.push({ file: path, line: made?.lineOf(at) ?? lineAt(text, at), text: what });
    return { path: json ? hclName(path, names) : path, from: path, text, items, ...lineOf };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    errors.push({ file: path, line: json ? 1 : lineAt(written, error.span.start), text: error.message });
    return { path, from: path, text: '', items: [] };
  }
}

/** `main.tf.json` becomes `main.tf`, or `main-json.tf` beside a `main.tf`. */
function hclName(path: string, names: ReadonlySet<string>): string {
  const plain = path.replace(/\.json$/, '');
  return names.has(plain) ? join(dirname(plain), `${basename(plain, '.tf')}-json.tf`) : plain;
}
