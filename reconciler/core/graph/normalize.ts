// Brings documents into the form that diff and graph read: sorted, texts for scalars, references to images resolved,
// the aliases of an image as separate objects. The manifest room parses text.
import type { Diagnostic } from '../documents/diagnostic.ts';
import { addressOf, defaultManage, type Document, type Json, type JsonObject } from '../documents/document.ts';
import { coreKind } from '../kinds/index.ts';
import { isMap, textOf } from '../documents/json-values.ts';
import { compareObjects, compareText } from '../text/listing-order.ts';
import { plainName, scopedName } from '../text/scoped-name.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface NormalizeResult {
  /** Sorted by kind and name; one per address. */
  readonly objects: readonly Document[];
  readonly diagnostics: readonly Diagnostic[];
}

/** A cache for the check of a set and its plan; documents never change. */
const known = new WeakMap<readonly Document[], NormalizeResult>();

export function normalizeDocuments(documents: readonly Document[]): NormalizeResult {
  const found = known.get(documents) ?? normalized(documents);
  known.set(documents, found);
  return found;
}

function normalized(documents: readonly Document[]): NormalizeResult {
  const diagnostics: Diagnostic[] = [];
  const fingerprints = imageFingerprints(documents, diagnostics);
  const objects = documents
    .flatMap((document) => [normalizeDocument(document, fingerprints), ...aliasesOf(document)])
    .sort((a, b) => compareObjects(a, b) || compareLocations(a, b));
  return { objects: withoutDuplicates(objects, diagnostics), diagnostics };
}

function normalizeDocument(document: Document, fingerprints: ReadonlyMap<string, string>): Document {
  if (document.kind === 'image_alias') {
    const target = textOf(document.values['target']) ?? '';
    const fingerprint = fingerprints.get(scopedName(target, document.project)) ?? fingerprints.get(target);
    return fingerprint === undefined ? document : { ...document, values: { ...document.values, target: fingerprint } };
  }
  const values = withImageOfName(normalizeValues(document), document, fingerprints);
  return values === document.values ? document : { ...document, values };
}

/** A container may name its image by the name of the image's document, which only manifests know. */
function withImageOfName(
  values: JsonObject,
  { kind, project }: Document,
  fingerprints: ReadonlyMap<string, string>,
): JsonObject {
  const source = kind === 'container' ? values['source'] : undefined;
  const written = isMap(source) ? (textOf(source['fingerprint']) ?? '') : '';
  const named = fingerprints.get(scopedName(written, project)) ?? fingerprints.get(written);
  return !isMap(source) || named === undefined ? values : { ...values, source: { ...source, fingerprint: named } };
}

function normalizeValues(document: Document): JsonObject {
  const { fields, chosen = [] } = coreKind(document.kind);
  let values: Record<string, Json> | undefined;
  for (const field of chosen) {
    const value = document.values[field];
    if (value === '' || value === null) delete (values ??= { ...document.values })[field];
  }
  for (const [field, shape] of Object.entries(fields)) {
    const value = document.values[field];
    const next =
      shape === 'map' ? mapTexts(value) : shape === 'devices' || shape === 'members' ? mapDevices(value) : value;
    if (next !== value && next !== undefined) (values ??= { ...document.values })[field] = next;
  }
  return withProtection(document, values ?? document.values);
}

/** The container itself stores the protection too, so that it remains when the document is removed. */
function withProtection(document: Document, values: JsonObject): JsonObject {
  if (document.kind !== 'container' || !document.manage.protect) return values;
  const config = isMap(values['config']) ? values['config'] : {};
  return 'security.protection.delete' in config
    ? values
    : { ...values, config: { ...config, 'security.protection.delete': 'true' } };
}

/** Numbers and booleans as texts. Empty text and null both mean that the key must be absent. */
const textForm = (value: Json): Json =>
  value === '' ? null : typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;

function mapEntries(value: Json | undefined, form: (item: Json) => Json): Json | undefined {
  if (!isMap(value)) return value;
  let out: Record<string, Json> | undefined;
  for (const key of Object.keys(value)) {
    const before = value[key] ?? null;
    const after = form(before);
    if (after !== before) (out ??= { ...value })[key] = after;
  }
  return out ?? value;
}

const mapTexts = (value: Json | undefined): Json | undefined => mapEntries(value, textForm);
const mapDevices = (value: Json | undefined): Json | undefined =>
  mapEntries(value, (device) => mapEntries(device, textForm) ?? null);

function imageFingerprints(documents: readonly Document[], diagnostics: Diagnostic[]): ReadonlyMap<string, string> {
  const byName = new Map<string, string>();
  const byFingerprint = new Map<string, Document>();
  for (const document of documents) {
    const fingerprint = document.files?.fingerprint ?? document.fingerprint;
    if (document.kind !== 'image' || fingerprint === undefined) continue;
    byName.set(document.name, fingerprint);
    const key = scopedName(fingerprint, document.project);
    const other = byFingerprint.get(key);
    if (other === undefined) byFingerprint.set(key, document);
    else if (other.address !== document.address) {
      const [first, second] = [other, document].sort((a, b) => compareText(a.name, b.name)) as [Document, Document];
      diagnostics.push(sameFiles(first, second));
    }
  }
  return byName;
}

const sameFiles = (first: Document, second: Document): Diagnostic => ({
  severity: 'error',
  code: 'same-image',
  address: second.address,
  path: '',
  message: `${second.address} has the same ${second.files === undefined ? 'source' : 'files'} as ${first.address}: on the server they are one image`,
  remedy: `keep one document and list all names under its aliases`,
  ...second.location,
  related: [{ message: `${first.address} is here`, ...first.location }],
});

/** `aliases: [debian/12, {name: x, description: y}]` of an image. */
function aliasesOf(document: Document): readonly Document[] {
  const aliases = document.values['aliases'];
  if (document.kind !== 'image' || !Array.isArray(aliases)) return [];
  return (aliases as readonly Json[]).flatMap((alias): Document[] => {
    const written = textOf(isMap(alias) ? alias['name'] : alias);
    if (written === undefined) return [];
    const name = scopedName(written, document.project);
    const description = isMap(alias) ? textOf(alias['description']) : undefined;
    return [
      {
        kind: 'image_alias',
        name,
        address: addressOf('image_alias', name),
        ...withoutUndefined({ project: document.project }),
        location: document.location,
        values: {
          target: document.files?.fingerprint ?? document.fingerprint ?? plainName(document.name, document.project),
          ...withoutUndefined({ description }),
        },
        manage: { ...defaultManage, protect: document.manage.protect, timeoutMs: document.manage.timeoutMs },
      },
    ];
  });
}

const compareLocations = (a: Document, b: Document): number =>
  compareText(a.location.file, b.location.file) ||
  a.location.line - b.location.line ||
  a.location.column - b.location.column;

function withoutDuplicates(sorted: readonly Document[], diagnostics: Diagnostic[]): readonly Document[] {
  return sorted.filter((document, index) => {
    const first = sorted[index - 1];
    if (first === undefined || first.address !== document.address) return true;
    diagnostics.push(duplicate(first, document));
    return false;
  });
}

export const duplicate = (first: Document, second: Document): Diagnostic => ({
  severity: 'error',
  code: 'duplicate',
  address: second.address,
  path: '',
  message: `${second.address} is declared twice`,
  remedy: 'keep one of the two',
  ...second.location,
  related: [{ message: 'the first is here', ...first.location }],
});
