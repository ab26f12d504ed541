// Loads the Terraform JSON among manifests: finds it among the texts, reads the values of its variables, and gives its documents and
// problems their places in the files. terraform-json/ evaluates the configuration.
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import type { RawDocument } from '../text/parse-yaml.ts';
import type { TerraformDocument } from '../terraform-json/make-documents.ts';
import type { Problem } from '../terraform-json/problem.ts';
import { rows } from '../terraform-json/unsupported.ts';
import { isTerraform } from './is-terraform.ts';
import { readModuleFiles, type Part } from './module-files.ts';
import { loadWithData } from './load-with-data.ts';
import { declaredIn, givenValues } from './variable-values.ts';
import { type TerraformInput } from './terraform-input.ts';
export { type TerraformInput } from './terraform-input.ts';

export interface TerraformParts {
  /** The texts that are not Terraform JSON. */
  readonly others: readonly Part[];
  readonly parts: readonly Part[];
  readonly diagnostics: readonly Diagnostic[];
  /** Files that were read in addition to the given texts: modules, values of variables. */
  readonly files: readonly string[];
}

/** The files of one directory are one configuration. */
export async function readTerraformParts(
  all: readonly Part[],
  input: TerraformInput,
  signal?: AbortSignal,
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
  const files: string[] = [];
  for (const [folder, members] of folders) {
    const configuration = await readFolder(folder, members, { ...input, hasOthers: others.length > 0 }, signal);
    parts.push(...configuration.parts);
    diagnostics.push(...configuration.diagnostics);
    files.push(...configuration.files);
  }
  return { others, parts, diagnostics, files };
}

async function readFolder(
  folder: string,
  members: readonly Part[],
  input: TerraformInput & { readonly hasOthers: boolean },
  signal: AbortSignal | undefined,
): Promise<Omit<TerraformParts, 'others'>> {
  const diagnostics: Diagnostic[] = [];
  const parts: Part[] = [];
  const files = members.map(({ source, raw }) => ({ file: source.file, folder, value: raw.value }));
  const found = await readModuleFiles(files, folder, signal);
  diagnostics.push(...found.diagnostics);
  const declared = new Set(members.flatMap(({ raw }) => declaredIn(raw.value)));
  const values = await givenValues(folder, declared, input, diagnostics);
  const configuration = { files, given: values.given, modules: found.modules };
  const { loaded, unread } = await loadWithData(configuration, input, signal);
  const byFile = new Map([...members, ...found.parts].map((part) => [part.source.file, part]));
  for (const problem of loaded.problems) diagnostics.push(diagnosticOf(problem, byFile.get(problem.file)));
  for (const notice of [...values.notices, ...unread, ...loaded.notices])
    diagnostics.push(noticeOf(notice, members[0]));
  for (const document of loaded.documents) {
    const part = byFile.get(document.file);
    if (part !== undefined) parts.push({ source: part.source, raw: rawOf(document, part.raw) });
  }
  return { parts, diagnostics, files: [...found.parts.map(({ source }) => source.file), ...values.files] };
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
    remedy: rows[code][1],
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

/** Every value below these paths, since the sensitive part of an expression is unknown. */
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

/** Renames by the longest matching path. */
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
    ...(document.isImported ? { isImported: true } : {}),
    placeOf: (path, part) => {
      const elsewhere = renamed(path, writtenBy);
      if (elsewhere !== undefined) return raw.placeOf(elsewhere, part);
      return raw.placeOf([own, renamed(path, writtenAs) ?? path].filter((step) => step !== '').join('.'), part);
    },
  };
}
