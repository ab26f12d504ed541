// Makes a document of the value of one YAML document, or says everything that is wrong with it.
import { X509Certificate } from 'node:crypto';
import { hint } from '../../../server/api/text/nearest-word.ts';
import { isInProject, kinds, type KindName } from '../../../server/api/kinds.ts';
import { lxdPropertyNames } from '../../../server/api/server/lxd-keys.ts';
import { documentSchema } from '../../../server/api/schema/document-schema.ts';
import type { JsonSchema } from '../../../server/api/schema/json-schema.ts';
import { validateBody } from '../../../server/api/schema/validate-json.ts';
import {
  addressOf,
  type Address,
  type Document,
  type ImageFiles,
  type Json,
  type JsonObject,
  type PowerState,
} from '../../core/documents/document.ts';
import { foreignNames } from '../../core/settings/lxd-settings.ts';
import { coreKind } from '../../core/kinds/index.ts';
import { asText, isMap, mapOf } from '../../core/documents/json-values.ts';
import { labelConfig, labelProblems, presentLabels } from '../../core/documents/labels.ts';
import { hasConfig, isNote } from '../../core/ownership/owner-records.ts';
import { scopedName } from '../../core/text/scoped-name.ts';
import { hidden, isSecret } from '../../core/documents/secret.ts';
import { wrong, type Finding } from '../text/finding.ts';
import { withSeedTexts } from './cloud-config.ts';
import { withoutComputed } from '../messages/computed-members.ts';
import { kindProblem, machineProblem } from '../messages/kind-problems.ts';
import { schemaFinding } from '../messages/wrong-type.ts';
import { ignoreFindings } from './read-ignore.ts';
import { dependsOnFindings, readManage } from './read-manage.ts';

/** All but the place, which the loader knows. */
export type LooseDocument = Omit<Document, 'location'>;

export interface ReadResult {
  /** Absent when something is wrong. */
  readonly document?: LooseDocument;
  /** Known even when the document is wrong. */
  readonly address?: Address;
  readonly findings: readonly Finding[];
}

const reserved = new Set([
  'kind',
  'name',
  'patch',
  'labels',
  'state',
  'manage',
  'file',
  'metadata',
  'rootfs',
  'project',
]);
const schemas = new Map<KindName, JsonSchema>();

/** `nowMs`: what rules with an end are judged by. */
export function readDocument(value: Json, nowMs = Date.now(), base = 'default'): ReadResult {
  if (!isMap(value)) {
    return only(wrong('not-a-document', '', 'a document must be a map that begins with `kind:`'));
  }
  const flat = flatForm(value);
  const problem = kindProblem(flat);
  if (problem !== undefined) return only(problem);
  const kind = flat['kind'] as KindName;
  return readKind(kind, flat, nowMs, base);
}

const only = (finding: Finding): ReadResult => ({ findings: [finding] });

/** The shape of Kubernetes tools, so that their overlays work: metadata.name, metadata.labels, spec. */
const isEnvelope = (value: JsonObject): boolean => 'apiVersion' in value && 'kind' in value;

/** A document without the envelope. */
export const flatForm = (value: Json): JsonObject =>
  !isMap(value) ? {} : isEnvelope(value) ? openEnvelope(value) : value;

function openEnvelope(value: JsonObject): JsonObject {
  const { apiVersion: _apiVersion, metadata, spec, ...rest } = value;
  const { name, labels, ...others } = isMap(metadata) ? metadata : {};
  return {
    ...rest,
    // Annotations and the like are for other tools; our own words may stand under metadata or spec.
    ...('manage' in others ? { manage: others['manage'] ?? null } : {}),
    ...(name === undefined ? {} : { name }),
    ...(labels === undefined ? {} : { labels }),
    ...(isMap(spec) ? spec : {}),
  };
}

function readKind(kind: KindName, flat: JsonObject, nowMs: number, base: string): ReadResult {
  const machine = machineProblem(kind, flat);
  if (machine !== undefined) return only(machine);
  const written = withoutComputed(kind, flat);
  const { value, findings } = withoutForeignWaits(withSeedTexts(written.value));
  findings.push(...written.findings);
  let schema = schemas.get(kind);
  if (schema === undefined) schemas.set(kind, (schema = documentSchema(kind)));
  const coerced = coerce(value, schema);
  findings.push(...schemaFindings(coerced, schema));
  const plain = nameOf(kind, coerced);
  const broken = plain === undefined ? undefined : kinds[kind].nameRule(plain);
  if (broken !== undefined) findings.push(wrong('bad-name', 'name', `the name ${JSON.stringify(plain)} ${broken}`));
  const project = readProject(kind, coerced['project'], base, findings);
  const name = plain === undefined ? undefined : scopedName(plain, project);
  const address = name === undefined ? {} : { address: addressOf(kind, name) };
  if (hasError(findings)) {
    findings.push(...dependsOnFindings(coerced['manage']));
    return { ...address, findings: [...findings, ...ruleFindings(kind, coerced, findings)] };
  }
  const manage = readManage(coerced['manage'], findings, nowMs);
  findings.push(...ignoreFindings(kind, manage.ignore));
  const certificate = kind === 'certificate' ? readCertificate(coerced['certificate'], findings) : undefined;
  const values = { ...valuesOf(kind, coerced), ...(certificate === undefined ? {} : { certificate: certificate.der }) };
  findings.push(...ruleFindings(kind, coerced, findings));
  const labels = mapOf(coerced['labels']);
  findings.push(...labelProblems(labels).map(({ key, message }) => wrong('bad-label', `labels.${key}`, message)));
  if (hasError(findings) || name === undefined) return { ...address, findings };
  const files = kind === 'image' && coerced['source'] === undefined ? readFiles(coerced) : undefined;
  const state = coerced['state'] as PowerState | undefined;
  return {
    document: {
      kind,
      name,
      address: addressOf(kind, name),
      ...(project === undefined ? {} : { project }),
      values: withLabels(kind, values, labels),
      manage,
      ...(Object.keys(labels).length === 0 ? {} : { labels: presentLabels(labels) }),
      ...(state === undefined ? {} : { state }),
      ...(files === undefined ? {} : { files }),
      ...(certificate === undefined ? {} : { fingerprint: certificate.fingerprint }),
    },
    findings,
  };
}

/** undefined: that of the connection. */
function readProject(kind: KindName, value: Json | undefined, base: string, findings: Finding[]): string | undefined {
  if (!isInProject(kind) || typeof value !== 'string' || value === base) return undefined;
  const broken = kinds.project.nameRule(value);
  if (broken !== undefined)
    findings.push(wrong('bad-name', 'project', `the project ${JSON.stringify(value)} ${broken}`));
  return value;
}

/** A volume is named with its pool, which its document may tell apart. */
function nameOf(kind: KindName, value: JsonObject): string | undefined {
  const { name, pool } = value;
  if (kind === 'server_config' && name === undefined) return 'server';
  if (typeof name !== 'string') return undefined;
  return kind === 'storage_volume' && typeof pool === 'string' ? `${pool}/${name}` : name;
}

function valuesOf(kind: KindName, value: JsonObject): JsonObject {
  const values: Record<string, Json> = {};
  for (const key of Object.keys(value)) if (!reserved.has(key)) values[key] = value[key] ?? null;
  // The name of a certificate is one of its fields, since the server knows it by another.
  const name = kind === 'certificate' ? { name: value['name'] ?? '', type: value['type'] ?? 'client' } : {};
  const { member_overrides: written } = value;
  const overrides = isMap(written) ? { member_overrides: configsOf(written) } : {};
  return Object.assign(values, overrides, name);
}

/** `{node2: {config: {...}}}` without the word that is always there. */
const configsOf = (overrides: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(overrides).map(([member, part]) => [member, mapOf(mapOf(part)['config'])]));

/** Kinds without config have their labels in the document only. */
const withLabels = (kind: KindName, values: JsonObject, labels: JsonObject): JsonObject =>
  Object.keys(labels).length === 0 || !hasConfig(kind)
    ? values
    : { ...values, config: { ...mapOf(values['config']), ...labelConfig(labels) } };

/** PEM or base64, in the one form that all servers take, with the name they give it. */
function readCertificate(
  value: Json | undefined,
  findings: Finding[],
): { readonly der: string; readonly fingerprint: string } | undefined {
  try {
    const text = typeof value === 'string' ? value : '';
    const isPem = text.includes('-----BEGIN CERTIFICATE-----');
    const parsed = new X509Certificate(isPem ? text : Buffer.from(text, 'base64'));
    const fingerprint = parsed.fingerprint256.replaceAll(':', '').toLowerCase();
    return { der: parsed.raw.toString('base64'), fingerprint };
  } catch {
    findings.push(
      wrong('bad-certificate', 'certificate', 'must be an X.509 certificate in PEM form, or base64 of DER'),
    );
    return undefined;
  }
}

const hasError = (findings: readonly Finding[]): boolean => findings.some((finding) => finding.severity === 'error');

/** Waits that other tools have are refused by name. */
function withoutForeignWaits(flat: JsonObject): { readonly value: JsonObject; readonly findings: Finding[] } {
  const manage = flat['manage'];
  const waits = isMap(manage) ? manage['wait'] : undefined;
  if (!isMap(manage) || !Array.isArray(waits)) return { value: flat, findings: [] };
  const findings: Finding[] = [];
  const wait = (waits as readonly Json[]).map((item, index) => {
    const words = typeof item === 'string' ? [item] : isMap(item) ? Object.keys(item) : [];
    const foreign = words.find((word) => foreignWaits.includes(word));
    if (foreign === undefined) return item;
    const path = `manage.wait.${index}.${foreign}`;
    const remedy = 'wait for running, ipv4, ipv6, exec, tcp, file or cloud_init';
    findings.push(wrong('not-available', path, `${path} is not available in this version`, remedy));
    // Any valid wait keeps the places of the others: the document is refused anyway.
    return 'running';
  });
  return { value: { ...flat, manage: { ...manage, wait } }, findings };
}

const foreignWaits = ['ready', 'delay', 'agent'];

const booleanWords: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  false: false,
  no: false,
  off: false,
};

/** Texts for booleans and booleans for texts, where the schema leaves no doubt. */
function coerce(value: JsonObject, schema: JsonSchema): JsonObject {
  const properties = schema['properties'] as Readonly<Record<string, JsonSchema>>;
  const out: Record<string, Json> = {};
  for (const [key, item] of Object.entries(value)) {
    const type = Object.hasOwn(properties, key) ? properties[key]?.['type'] : undefined;
    if (type === 'boolean' && typeof item === 'string') out[key] = booleanWords[item.toLowerCase()] ?? item;
    else if (typeof item === 'boolean' && (type === 'string' || takesText(properties[key]))) out[key] = String(item);
    // `profiles: null` is the API's other way to leave them out, and `config:` with all entries commented out is null as well.
    else if (!(item === null && isOptionalGroup(key, type, schema))) out[key] = item;
  }
  return out;
}

/** `description: true`: any scalar may be written where the API has a text. */
const takesText = (schema: JsonSchema | undefined): boolean =>
  ((schema?.['anyOf'] ?? []) as readonly JsonSchema[]).some(({ type }) => type === 'string');

/** A map or list that need not be there. */
const isOptionalGroup = (key: string, type: unknown, schema: JsonSchema): boolean =>
  (type === 'object' || type === 'array' || key === 'profiles' || key === 'snapshots') &&
  !(schema['required'] as readonly string[]).includes(key);

const schemaFindings = (value: JsonObject, schema: JsonSchema): readonly Finding[] =>
  validateBody(schema as Parameters<typeof validateBody>[0], value, { unknownKeys: 'report' }).map((problem) =>
    schemaFinding(problem, value),
  );

/** Config, device and file rules; places that are wrong already are not judged twice. */
function ruleFindings(kind: KindName, value: JsonObject, known: readonly Finding[]): readonly Finding[] {
  const seen = known.map((finding) => finding.path);
  const isKnown = (path: string): boolean =>
    seen.some((one) => one === path || path.startsWith(`${one}.`) || one.startsWith(`${path}.`));
  const findings = coreKind(kind)
    .validate(textual(value), asText(value['name']))
    .map(({ path, message }) =>
      wrong(
        /(?:^|: )unknown key|^is not a property of/.test(message) ? 'unknown-key' : 'bad-value',
        path,
        withoutSecret(path, withSubject(path, withForeignHint(kind, path, message))),
      ),
    );
  if (kind === 'image') findings.push(...fileFindings(value));
  findings.push(...noteFindings(mapOf(value['config'])));
  return findings.filter((finding) => !isKnown(finding.path));
}

/** The contract's own tables know no keys of LXD. */
function withForeignHint(kind: KindName, path: string, message: string): string {
  if (message.includes('did you mean')) return message;
  const type = /^is not a property of (\S+) devices$/.exec(message)?.[1];
  if (type !== undefined) return `${message}${hint(path.split('.').slice(2).join('.'), lxdPropertyNames(type))}`;
  const isKey = /(?:^|: )unknown key/.test(message);
  return isKey ? `${message}${hint(path.slice(path.indexOf('.') + 1), foreignNames(kind))}` : message;
}

/** Rules begin with a verb ("must be ..."), some name their key already. */
const withSubject = (path: string, message: string): string =>
  /^(must|is|has|sets|cannot) /.test(message) ? `${path} ${message}` : message;

/** Rules quote the value they refuse; names are no secrets. */
const withoutSecret = (path: string, message: string): string =>
  isSecret(path.split('.', 1), undefined) || isSecret(['config', path.slice(path.indexOf('.') + 1)], undefined)
    ? message.replaceAll(/"(?:[^"\\]|\\.)*"/g, (quoted) => (path.endsWith(quoted.slice(1, -1)) ? quoted : hidden))
    : message;

/** Booleans of maps as the texts they will be. */
function textual(value: JsonObject): JsonObject {
  let out: Record<string, Json> | undefined;
  for (const key of Object.keys(value)) {
    const item = value[key] ?? null;
    const text = typeof item === 'boolean' ? String(item) : isMap(item) ? textual(item) : item;
    if (text !== item) (out ??= { ...value })[key] = text;
  }
  return out ?? value;
}

/** What gantry itself notes on a server: who owns what, locks, history. Said by a document it would be another's. */
const noteFindings = (config: JsonObject): readonly Finding[] =>
  Object.keys(config)
    .filter(isNote)
    .map((key) =>
      wrong(
        'reserved-key',
        `config.${key}`,
        `config.${key} is a note that gantry keeps on the server itself: no document may say it`,
        'take it out; on another server it would claim what is not there',
      ),
    );

function fileFindings(value: JsonObject): Finding[] {
  const has = (key: string): boolean => typeof value[key] === 'string';
  const split = has('metadata') && has('rootfs');
  if (value['source'] !== undefined) {
    const other = ['file', 'metadata', 'rootfs'].find(has);
    return other === undefined
      ? []
      : [wrong('image-files', other, `${other} cannot stand beside source: the image is one or the other`)];
  }
  if (has('file') !== split && !(has('file') && (has('metadata') || has('rootfs')))) return [];
  const message = 'an image needs either `file:`, or `metadata:` and `rootfs:`, or `source:`';
  return [wrong('image-files', has('file') ? 'file' : '', message)];
}

function readFiles(value: JsonObject): ImageFiles {
  const text = (key: string): string => asText(value[key]);
  const isUnified = typeof value['file'] === 'string';
  return { parts: isUnified ? { file: text('file') } : { metadata: text('metadata'), rootfs: text('rootfs') } };
}
