// Puts Terraform JSON among the manifests: finds it among the texts, takes the values of its variables, and gives its documents and
// problems their places in the files. What the configuration means is terraform-json's work.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Diagnostic } from '../core/diagnostic.ts';
import type { Json, JsonObject } from '../core/document.ts';
import { isMap } from '../core/kinds/values.ts';
import type { PlacedText } from './located.ts';
import type { RawDocument } from './parse-yaml.ts';
import { loadTerraform } from './terraform-json/load-terraform.ts';
import type { TerraformDocument } from './terraform-json/make-documents.ts';
import type { Problem } from './terraform-json/problem.ts';
import { rows } from './terraform-json/unsupported.ts';

interface Part {
  readonly source: PlacedText;
  readonly raw: RawDocument;
}

export interface TerraformParts {
  /** What is not Terraform JSON. */
  readonly others: readonly Part[];
  readonly parts: readonly Part[];
  readonly diagnostics: readonly Diagnostic[];
}

/** By its name, or by blocks that no manifest has. */
const isTerraform = ({ source, raw }: Part): boolean =>
  source.file.endsWith('.tf.json') ||
  (isMap(raw.value) && !('kind' in raw.value) && ('resource' in raw.value || 'terraform' in raw.value));

/** The files of one directory are one configuration. `vars` and `env` as given to the load; `offered` are for whoever declares them. */
export async function readTerraformParts(
  all: readonly Part[],
  vars: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string | undefined>>,
  offered: Readonly<Record<string, string>> = {},
): Promise<TerraformParts> {
  const folders = new Map<string, Part[]>();
  for (const part of all.filter(isTerraform)) {
    const members = folders.get(part.source.folder);
    if (members === undefined) folders.set(part.source.folder, [part]);
    else members.push(part);
  }
  const others = all.filter((part) => !isTerraform(part));
  const parts: Part[] = [];
  const diagnostics: Diagnostic[] = [];
  for (const [folder, members] of folders) {
    const byFile = new Map(members.map((part) => [part.source.file, part]));
    const declared = new Set(members.flatMap(({ raw }) => declaredIn(raw.value)));
    const files = members.map(({ source, raw }) => ({ file: source.file, folder, value: raw.value }));
    // Names on the command line may be meant for manifests beside it.
    const given = Object.entries(vars).filter(([name]) => others.length === 0 || declared.has(name));
    const weaker = Object.entries(offered).filter(([name]) => declared.has(name));
    const values = new Map([...(await valuesOf(folder, declared, env, diagnostics)), ...weaker, ...given]);
    const loaded = loadTerraform(files, values);
    for (const problem of loaded.problems) diagnostics.push(diagnosticOf(problem, byFile.get(problem.file)));
    for (const notice of loaded.notices) diagnostics.push(noticeOf(notice, members[0]));
    for (const document of loaded.documents) {
      const part = byFile.get(document.file);
      if (part !== undefined) parts.push({ source: part.source, raw: rawOf(document, part.raw) });
    }
  }
  return { others, parts, diagnostics };
}

const declaredIn = (value: Json): readonly string[] => {
  const variables = isMap(value) ? value['variable'] : undefined;
  const blocks = Array.isArray(variables) ? (variables as readonly Json[]) : [variables ?? null];
  return blocks.flatMap((block) => (isMap(block) ? Object.keys(block) : []));
};

/** As Terraform looks for them, weakest first: TF_VAR_NAME, terraform.tfvars.json, *.auto.tfvars.json in order. */
async function valuesOf(
  folder: string,
  declared: ReadonlySet<string>,
  env: Readonly<Record<string, string | undefined>>,
  diagnostics: Diagnostic[],
): Promise<readonly (readonly [string, Json])[]> {
  const values: (readonly [string, Json])[] = [...declared].flatMap((name) => {
    const value = env[`TF_VAR_${name}`];
    return value === undefined ? [] : [[name, value] as const];
  });
  const names = await readdir(folder).catch(() => []);
  const files = names.filter((name) => name === 'terraform.tfvars.json' || name.endsWith('.auto.tfvars.json')).sort();
  for (const name of files.sort(
    (a, b) => Number(b === 'terraform.tfvars.json') - Number(a === 'terraform.tfvars.json'),
  )) {
    const file = join(folder, name);
    try {
      const parsed = JSON.parse(await readFile(file, 'utf8')) as Json;
      if (!isMap(parsed)) throw new Error('it must hold an object');
      // As with Terraform, a file may hold values for other configurations too.
      values.push(...Object.entries(parsed).filter(([key]) => declared.has(key)));
    } catch (error) {
      const message = `${file} cannot be read: ${(error as Error).message}`;
      diagnostics.push({ severity: 'error', code: 'unreadable', path: '', message, file, line: 1, column: 1 });
    }
  }
  return values;
}

function diagnosticOf(problem: Problem, part: Part | undefined): Diagnostic {
  const { code, message, construct, expression, offset, steps } = problem;
  const from = construct === undefined ? '' : ` (made by ${construct})`;
  const inside =
    expression === undefined || offset === undefined ? '' : `, at ${offset + 1} in ${shortened(expression)}`;
  const path = steps.join('.');
  const diagnostic: Diagnostic = {
    severity: 'error',
    code,
    path,
    message: `${message}${inside}${from}`,
    remedy: rows[code].hint,
    file: problem.file,
  };
  if (part === undefined) return diagnostic;
  const place = part.raw.placeOf(path, 'key');
  return {
    ...diagnostic,
    ...part.source.locationAt(place.offset),
    ...part.source.excerptAt(place.offset, place.length),
  };
}

const shortened = (text: string): string => (text.length > 60 ? `${text.slice(0, 57)}...` : text);

const noticeOf = (notice: string, part: Part | undefined): Diagnostic => ({
  severity: 'warning',
  code: 'not-used',
  path: '',
  message: notice,
  ...(part === undefined ? {} : part.source.locationAt(part.raw.offset)),
});

/** Every value below these paths: which part of an expression was sensitive is not told apart. */
function pathsBelow(value: JsonObject, roots: readonly string[]): readonly string[] {
  const paths: string[] = [];
  const collect = (item: Json | undefined, path: string): void => {
    if (typeof item !== 'object' || item === null) paths.push(path);
    else for (const [key, inner] of Object.entries(item as JsonObject)) collect(inner, `${path}.${key}`);
  };
  for (const root of roots) {
    const [key = '', ...rest] = root.split('.');
    const first = value[key];
    const inner = typeof first === 'object' && first !== null ? (first as JsonObject)[rest.join('.')] : undefined;
    const item = rest.length === 0 ? first : inner;
    if (item !== undefined) collect(item, root);
  }
  return paths;
}

/** By the longest path that fits. */
function renamed(path: string, names: Readonly<Record<string, string>>): string | undefined {
  for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
    const name = path.slice(0, end);
    if (Object.hasOwn(names, name)) return `${names[name] ?? ''}${path.slice(end)}`;
  }
  return undefined;
}

function rawOf(document: TerraformDocument, raw: RawDocument): RawDocument {
  const { value, steps, writtenAs, writtenBy } = document;
  const own = steps.join('.');
  return {
    value,
    offset: raw.placeOf(own, 'key').offset,
    ...(document.sensitive.length === 0 ? {} : { secrets: [...new Set(pathsBelow(value, document.sensitive))] }),
    placeOf: (path, part) => {
      const elsewhere = renamed(path, writtenBy);
      if (elsewhere !== undefined) return raw.placeOf(elsewhere, part);
      return raw.placeOf([own, renamed(path, writtenAs) ?? path].filter((step) => step !== '').join('.'), part);
    },
  };
}
