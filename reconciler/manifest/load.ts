// Loads a set of manifests: reads, parses, replaces variables, checks every document, and reports all problems at once.
import { resolve } from 'node:path';
import type { Diagnostic } from '../core/documents/diagnostic.ts';
import type { Address, Document, ImageFiles, Json, JsonObject } from '../core/documents/document.ts';
import type { WrittenDocument } from '../core/history/revisions.ts';
import { intoProject } from './documents/into-project.ts';
import { duplicate } from '../core/graph/normalize.ts';
import { compareText } from '../core/text/listing-order.ts';
import type { Finding } from './text/finding.ts';
import { isHostsFile, partsForHost } from './documents/for-host.ts';
import { readImageFiles } from './documents/image-files.ts';
import { locateDocument, PlacedText, placedDiagnostic } from './text/locate-diagnostics.ts';
import { applyOverlays, writerOf, type Part } from './documents/overlays.ts';
import { parseText } from './text/parse-json.ts';
import { parseYaml } from './text/parse-yaml.ts';
import { undeclaredVariables } from './variables/undeclared-variables.ts';
import { isPreseed, readPreseed } from './text/preseed-parts.ts';
import { flatForm, readDocument } from './documents/read-document.ts';
import { readInside } from './documents/read-inside.ts';
import { vaultOfEnvironment } from './secrets/vault-environment.ts';
import { resolveSecrets } from './variables/secret-references.ts';
import { readSources } from './text/sources.ts';
import { exactYaml } from './text/yaml-text.ts';
import type { Loaded, LoadInput } from './load-contract.ts';
import { isTerraform } from './terraform/is-terraform.ts';
import { expandVariables, type Variables } from './variables/variables.ts';
import type { TerraformParts } from './terraform/terraform-parts.ts';
import { readVarFile } from './variables/read-var-file.ts';
import { readVariables } from './variables/read-variables.ts';
import { withoutUndefined } from '../../server/lib/shared/without-undefined.ts';

const noVariables: Variables = new Map();

/** Reports problems of manifests without throwing; only `signal` makes it reject. */
export async function loadManifests(input: LoadInput, signal?: AbortSignal): Promise<Loaded> {
  const { texts, diagnostics: unreadable } = await readSources(input, signal);
  const diagnostics: Diagnostic[] = [...unreadable];
  const parts: Part[] = [];
  for (const text of texts) {
    const source = new PlacedText(text);
    const parsed = parseText(text);
    diagnostics.push(...parsed.problems.map((problem) => source.diagnosticOf(problem)));
    for (const raw of parsed.documents) {
      if (isPreseed(raw.value)) {
        const preseed = readPreseed(raw.value, raw);
        diagnostics.push(...preseed.findings.map((finding) => placedDiagnostic(finding, source, raw)));
        parts.push(...preseed.parts.map((part) => ({ source, raw: part })));
      } else if (!isHostsFile(raw.value)) parts.push({ source, raw });
    }
  }
  const offered = await readOffered(input, diagnostics, signal);
  const terraform = await terraformParts(parts, input, offered, signal);
  diagnostics.push(...terraform.diagnostics);
  const meant = partsForHost(terraform.others, input.host);
  diagnostics.push(...meant.diagnostics);
  const variables = readVariables(meant.parts, { ...offered, ...input.vars }, diagnostics, input.host?.names);
  const overlaid = applyOverlays(
    meant.parts.filter((part) => !isVariables(part.raw.value)),
    meant.others,
  );
  for (const { part, finding } of overlaid.problems) diagnostics.push(placedDiagnostic(finding, part.source, part.raw));
  const written = overlaid.parts.map((part) => ({ part, variables }));
  // Terraform's rules have already replaced variables in its texts.
  const evaluated = terraform.parts.map((part) => ({ part, variables: noVariables }));
  const files = [...texts.map((text) => text.file), ...terraform.files];
  return loadParts([...written, ...evaluated], { ...input, diagnostics, broken: [] }, files, signal);
}

/** Documents of a revision as they were written; `known`: the facts of images whose files may no longer exist. */
export function loadWritten(
  revision: number,
  documents: readonly WrittenDocument[],
  input: Omit<LoadInput, 'paths'>,
  known: ReadonlyMap<Address, ImageFacts>,
  signal?: AbortSignal,
): Promise<Loaded> {
  const parts = documents.flatMap(({ address, folder, value, secrets }) => {
    const text = exactYaml(value, { lineWidth: 0, aliasDuplicateObjects: false });
    const source = new PlacedText({ file: `revision ${revision} ${address}`, folder, text });
    const [raw] = parseYaml(text).documents;
    if (raw === undefined) return [];
    const part: Part = { source, raw: secrets === undefined ? raw : { ...raw, secrets } };
    return [{ part, variables: noVariables }];
  });
  return loadParts(parts, { ...input, paths: [], diagnostics: [], broken: [], known }, [], signal);
}

type ImageFacts = Pick<ImageFiles, 'fingerprint' | 'sizeBytes'>;

interface Loading extends LoadInput {
  readonly diagnostics: Diagnostic[];
  readonly broken: Address[];
  readonly known?: ReadonlyMap<Address, ImageFacts>;
}

async function loadParts(
  parts: readonly { readonly part: Part; readonly variables: Variables }[],
  load: Loading,
  files: readonly string[],
  signal?: AbortSignal,
): Promise<Loaded> {
  const { diagnostics, broken } = load;
  const placed: PlacedDocument[] = [];
  const vault = vaultOfEnvironment(load.env ?? {});
  const own = { ...load, decrypted: load.decrypted ?? new Map(), vault: load.vault ?? vault.read };
  for (const { part, variables } of parts) {
    const found = await loadDocument(part, variables, own, signal);
    if (found !== undefined) placed.push({ ...found, source: part.source, offset: part.raw.offset });
  }
  await vault.close();
  const documents = withoutDuplicates(placed, diagnostics);
  const byAddress = new Map(placed.map((entry) => [entry.document.address, entry]));
  const kept = new Set(documents);
  return {
    documents,
    written: placed.filter(({ document }) => kept.has(document)).map(writtenOf),
    broken,
    diagnostics: diagnostics.sort(comparePlaces),
    files,
    locate: (diagnostic) => locateDocument(diagnostic, byAddress.get(diagnostic.address ?? 'profile/')),
    locationOf: (address, path) => {
      const entry = byAddress.get(address);
      return entry?.source.locationOf(entry.offset, path);
    },
  };
}

/** Loads the code for Terraform JSON only when there is some. */
async function terraformParts(
  parts: readonly Part[],
  { vars = {}, env = {}, variables = [], live, evaluate }: LoadInput,
  offered: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<TerraformParts> {
  if (!parts.some(isTerraform)) return { others: parts, parts: [], diagnostics: [], files: [] };
  const { readTerraformParts } = await import('./terraform/terraform-parts.ts');
  const valueFiles = variables.flatMap((source) => ('file' in source && isTfvars(source.file) ? [source.file] : []));
  const how = { ...withoutUndefined({ live, evaluate }) };
  return readTerraformParts(parts, { vars, env, offered, valueFiles, ...how }, signal);
}

/** Values for Terraform JSON, in its own notation. */
const isTfvars = (file: string): boolean => /\.tfvars(?:\.json)?$/.test(file);

/** Variables of files and hosts, which the command line overrides. */
async function readOffered(
  input: LoadInput,
  diagnostics: Diagnostic[],
  signal: AbortSignal | undefined,
): Promise<Readonly<Record<string, string>>> {
  const offered: Record<string, string> = {};
  for (const source of input.variables ?? []) {
    if ('file' in source && isTfvars(source.file)) continue;
    const read = 'vars' in source ? { vars: source.vars, diagnostics: [] } : await readVarFile(source.file, signal);
    diagnostics.push(...read.diagnostics);
    Object.assign(offered, read.vars);
  }
  return offered;
}

export interface PlacedDocument {
  readonly document: Document;
  /** As written, with variables replaced. */
  readonly value: Json;
  /** Paths that are secret because of their source, before references are resolved. */
  readonly tainted: readonly string[];
  readonly source: PlacedText;
  readonly offset: number;
}

export const isVariables = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && (value as JsonObject)['kind'] === 'vars';

async function loadDocument(
  part: Part,
  variables: Variables,
  load: Loading,
  signal?: AbortSignal,
): Promise<Omit<PlacedDocument, 'source' | 'offset'> | undefined> {
  const { source, raw } = part;
  const report = (finding: Finding): void => {
    const writer = writerOf(part, finding.path);
    load.diagnostics.push(placedDiagnostic(finding, writer.source, writer.raw));
  };
  const { value: own, empty } = expandVariables(raw.value, variables);
  const expanded = { value: load.into === undefined ? own : intoProject(own, load.into), empty };
  if (variables !== noVariables) undeclaredVariables(raw.value, variables).forEach(report);
  for (const { path, name } of expanded.empty) {
    const message = `the variable ${name} has no value`;
    const remedy = `give it one in its kind: vars document, with --var ${name}=..., or as \${${name}:-default}`;
    report({ severity: 'error', code: 'empty-variable', path, message, remedy });
  }
  const { sopsKeys, vault, decrypted, env = {} } = load;
  const keys = {
    ...withoutUndefined({ sopsKeys, vault, decrypted }),
  };
  const setting = { folder: source.folder, env, ...keys };
  const resolved = await resolveSecrets(expanded.value, setting, load.readSecrets !== false, signal);
  resolved.findings.forEach(report);
  const { document: plain, address, findings } = readDocument(resolved.value, load.nowMs, load.project);
  findings.forEach(report);
  const secrets = [...(raw.secrets ?? []), ...resolved.secrets];
  const document =
    plain === undefined || (secrets.length === 0 && raw.isImported !== true)
      ? plain
      : {
          ...plain,
          ...(secrets.length === 0 ? {} : { secrets }),
          ...(raw.isImported === true ? { isImported: true } : {}),
        };
  if (document === undefined || expanded.empty.length > 0 || resolved.findings.length > 0) {
    if (address !== undefined) load.broken.push(address);
    return undefined;
  }
  const location = source.locationAt(raw.offset);
  const written = { value: expanded.value, tainted: raw.secrets ?? [] };
  const known = load.known?.get(document.address);
  if (document.kind === 'container' || document.kind === 'storage_volume') {
    const setting = { folder: source.folder, read: load.readImages !== false };
    const inside = await readInside(document, setting, signal);
    inside.findings.forEach(report);
    if (inside.findings.every(({ severity }) => severity !== 'error'))
      return { document: { ...inside.document, location }, ...written };
    load.broken.push(document.address);
    return undefined;
  }
  if (document.files === undefined) return { document: { ...document, location }, ...written };
  if (known !== undefined)
    return { document: { ...document, location, files: { ...document.files, ...known } }, ...written };
  const read = await readImageFiles(
    document.files,
    source.folder,
    load.readImages !== false,
    signal,
    load.host?.images,
  );
  read.findings.forEach(report);
  if (read.findings.length === 0) return { document: { ...document, location, files: read.files }, ...written };
  load.broken.push(document.address);
  return undefined;
}

const writtenOf = ({ document, value, tainted, source }: PlacedDocument): WrittenDocument => ({
  address: document.address,
  folder: resolve(source.folder),
  value: flatForm(value),
  ...(tainted.length === 0 ? {} : { secrets: tainted }),
  ...(document.files?.fingerprint === undefined ? {} : { fingerprint: document.files.fingerprint }),
});

function withoutDuplicates(placed: readonly PlacedDocument[], diagnostics: Diagnostic[]): readonly Document[] {
  const first = new Map<string, Document>();
  for (const { document, source, offset } of placed) {
    const other = first.get(document.address);
    if (other === undefined) first.set(document.address, document);
    else diagnostics.push({ ...duplicate(other, document), ...source.excerptAt(offset) });
  }
  return [...first.values()];
}

const comparePlaces = (a: Diagnostic, b: Diagnostic): number =>
  compareText(a.file ?? '', b.file ?? '') ||
  (a.line ?? 0) - (b.line ?? 0) ||
  (a.column ?? 0) - (b.column ?? 0) ||
  compareText(a.path, b.path) ||
  compareText(a.message, b.message);
